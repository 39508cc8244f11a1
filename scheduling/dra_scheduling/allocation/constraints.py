"""Rules over several devices, as sets of devices that may still be taken."""

from collections.abc import Hashable, Iterable
from typing import Protocol


class Constraint(Protocol):
    """A rule over the devices of some requests: taking one narrows what may follow, rewinding undoes the last one."""

    @property
    def allowed(self) -> int:
        """The devices that may be taken next without breaking the rule."""

    @property
    def distinctions(self) -> tuple[int, ...]:
        """Sets of devices; two that are in the same ones are alike to this rule, unless one of them is `touched`."""

    @property
    def touched(self) -> int:
        """The devices that differ from those like them by what was taken so far."""

    @property
    def state(self) -> Hashable:
        """Equal states allow the same from here on."""

    def take(self, device: int) -> None:
        """Take an allowed device, given as a mask with one bit."""

    def rewind(self) -> None:
        """Undo the last `take`."""


class MatchAttribute:
    """All devices have one value in common: they are in one group. A device in no group is never allowed.

    Where attributes are lists a device is in several groups, and what all devices so far have in common remains.
    """

    __slots__ = ("_groups", "_history", "allowed", "distinctions")

    touched = 0

    def __init__(self, groups: Iterable[int]) -> None:
        self.distinctions = self._groups = tuple(groups)
        self.allowed = _union(self._groups)
        self._history: list[tuple[int, tuple[int, ...]]] = []

    @property
    def state(self) -> Hashable:
        """What remains in common."""
        return self._groups

    def take(self, device: int) -> None:
        """Take an allowed device: only its groups remain."""
        self._history.append((self.allowed, self._groups))
        self._groups = tuple([group for group in self._groups if group & device])
        self.allowed = _union(self._groups)

    def rewind(self) -> None:
        """Undo the last `take`."""
        self.allowed, self._groups = self._history.pop()


class DistinctAttribute:
    """No two devices have a value in common: no group gives more than one. A device in no group is never allowed."""

    __slots__ = ("_history", "allowed", "distinctions")

    touched = 0

    def __init__(self, groups: Iterable[int]) -> None:
        self.distinctions = tuple(groups)
        self.allowed = _union(self.distinctions)
        self._history: list[int] = []

    @property
    def state(self) -> Hashable:
        """What may still be taken."""
        return self.allowed

    def take(self, device: int) -> None:
        """Take an allowed device: nothing else of its groups is allowed."""
        self._history.append(self.allowed)
        for group in self.distinctions:
            if group & device:
                self.allowed &= ~group

    def rewind(self) -> None:
        """Undo the last `take`."""
        self.allowed = self._history.pop()


class GoTogether:
    """Devices that draw from one counter set are in one compatibility group; any other device may always be taken.

    A device that is in use already was counted when the groups were made: a further share of it changes nothing.
    """

    __slots__ = ("_groups", "_history", "_others", "allowed", "distinctions")

    touched = 0

    def __init__(self, groups: Iterable[int], in_use: int) -> None:
        self._groups = tuple(groups)
        self._others = ~_union(self._groups) | in_use
        self.distinctions = (*self._groups, in_use)
        self.allowed = -1
        self._history: list[tuple[int, tuple[int, ...]]] = []

    @property
    def state(self) -> Hashable:
        """The groups that remain."""
        return self._groups

    def take(self, device: int) -> None:
        """Take an allowed device: if it draws from the set, only its groups remain."""
        self._history.append((self.allowed, self._groups))
        if not device & self._others:
            self._groups = tuple([group for group in self._groups if group & device])
            self.allowed = _union(self._groups) | self._others

    def rewind(self) -> None:
        """Undo the last `take`."""
        self.allowed, self._groups = self._history.pop()


class AdminOrNormal:
    """No device that is taken on one side is allowed on the other: a claim never has a device twice.

    One side binds the requests of a claim for admin access, the other side its normal ones. Devices that are not
    `exclusive` can be on both, as in Kubernetes.
    """

    __slots__ = ("_exclusive", "_history", "opposite", "touched")

    distinctions = ()

    def __init__(self, exclusive: int) -> None:
        self.opposite = self
        self.touched = 0
        self._exclusive = exclusive
        self._history: list[int] = []

    @classmethod
    def sides(cls, exclusive: int) -> "tuple[AdminOrNormal, AdminOrNormal]":
        """Return the rule for requests for admin access, and the one for normal requests of the same claim."""
        admin, normal = cls(exclusive), cls(exclusive)
        admin.opposite, normal.opposite = normal, admin
        return admin, normal

    @property
    def allowed(self) -> int:
        """The devices that the other side has not taken."""
        return ~self.opposite.touched

    @property
    def state(self) -> Hashable:
        """What this side has taken."""
        return self.touched

    def take(self, device: int) -> None:
        """Take an allowed device."""
        self._history.append(self.touched)
        self.touched |= device & self._exclusive

    def rewind(self) -> None:
        """Undo the last `take`."""
        self.touched = self._history.pop()


class Agreement:
    """What devices that are looked up in several sources still have in common: each group has devices a source."""

    __slots__ = ("_history", "groups")

    def __init__(self, groups: Iterable[tuple[int, ...]]) -> None:
        self.groups = tuple(groups)
        self._history: list[tuple[tuple[int, ...], ...]] = []

    def allowed(self, source: int) -> int:
        """Return the devices that may be taken next."""
        return _union(group[source] for group in self.groups)

    def take(self, source: int, device: int) -> None:
        """Take an allowed device: only its groups remain."""
        self._history.append(self.groups)
        self.groups = tuple([group for group in self.groups if group[source] & device])

    def rewind(self) -> None:
        """Undo the last `take`."""
        self.groups = self._history.pop()


class Distinction:
    """The values that devices looked up in several sources have used up: no group gives more than one."""

    __slots__ = ("_all", "_history", "groups")

    def __init__(self, groups: Iterable[tuple[int, ...]]) -> None:
        self.groups = self._all = tuple(groups)
        self._history: list[tuple[tuple[int, ...], ...]] = []

    def allowed(self, source: int) -> int:
        """Return the devices that may be taken next."""
        left = set(self.groups)
        used = _union(group[source] for group in self._all if group not in left)
        return _union(group[source] for group in self.groups) & ~used

    def take(self, source: int, device: int) -> None:
        """Take an allowed device: its groups are used up."""
        self._history.append(self.groups)
        self.groups = tuple([group for group in self.groups if not group[source] & device])

    def rewind(self) -> None:
        """Undo the last `take`."""
        self.groups = self._history.pop()


class SeenThrough:
    """A rule over devices of several sources, as it binds those that are looked up in one of them."""

    __slots__ = ("_rule", "_source", "distinctions")

    touched = 0

    def __init__(self, rule: Agreement | Distinction, source: int) -> None:
        self._rule = rule
        self._source = source
        self.distinctions = tuple(group[source] for group in rule.groups)

    @property
    def allowed(self) -> int:
        """The devices that may be taken next."""
        return self._rule.allowed(self._source)

    @property
    def state(self) -> Hashable:
        """What is left of the groups."""
        return self._rule.groups

    def take(self, device: int) -> None:
        """Take an allowed device."""
        self._rule.take(self._source, device)

    def rewind(self) -> None:
        """Undo the last `take`."""
        self._rule.rewind()


def alike(device: int, distinctions: Iterable[int], everything: int) -> int:
    """Return the devices of `everything` that no distinction tells from the given one, itself included."""
    same = everything
    for mask in distinctions:
        same &= mask if mask & device else ~mask
    return same


def _union(groups: Iterable[int]) -> int:
    mask = 0
    for group in groups:
        mask |= group
    return mask
