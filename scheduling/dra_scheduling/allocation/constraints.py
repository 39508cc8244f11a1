"""Rules over several devices of a claim, as sets of devices that may still be taken."""

from collections.abc import Iterable
from typing import Protocol


class Constraint(Protocol):
    """A rule over the devices of some requests: taking one narrows what may follow, rewinding undoes the last one."""

    @property
    def allowed(self) -> int:
        """The devices that may be taken next without breaking the rule."""

    @property
    def distinctions(self) -> tuple[int, ...]:
        """Sets of devices; two that are in the same ones are alike to this rule."""

    def take(self, device: int) -> None:
        """Take an allowed device, given as a mask with one bit."""

    def rewind(self) -> None:
        """Undo the last `take`."""


class MatchAttribute:
    """All devices have the value of one group. Groups do not overlap; a device in no group is never allowed."""

    __slots__ = ("_history", "allowed", "distinctions")

    def __init__(self, groups: Iterable[int]) -> None:
        self.distinctions = tuple(groups)
        self.allowed = 0
        for group in self.distinctions:
            self.allowed |= group
        self._history: list[int] = []

    def take(self, device: int) -> None:
        """Take an allowed device: only its group stays allowed."""
        self._history.append(self.allowed)
        for group in self.distinctions:
            if group & device:
                self.allowed &= group
                return

    def rewind(self) -> None:
        """Undo the last `take`."""
        self.allowed = self._history.pop()


def alike(device: int, distinctions: Iterable[int], everything: int) -> int:
    """Return the devices of `everything` that no distinction tells from the given one, itself included."""
    same = everything
    for mask in distinctions:
        same &= mask if mask & device else ~mask
    return same
