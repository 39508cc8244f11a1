"""A pool as one node sees it: the devices within reach, as bits, with the answers that a search asks for again."""

from bisect import bisect_right
from collections.abc import Hashable, Iterator
from typing import Protocol

import msgspec

from dra_scheduling.ledger import Ledger
from dra_scheduling.model.ids import PoolKey
from dra_scheduling.model.slices import Device, DeviceAttribute
from dra_scheduling.pools.bits import members
from dra_scheduling.pools.pieces import MAX_KEPT_ANSWERS, Piece, Placement
from dra_scheduling.pools.selections import Selection

AttributeKey = tuple[str, Hashable]
"""A value with its kind, because `1`, `true` and `"1"` are different values."""


class Problem(msgspec.Struct, frozen=True):
    """Why a pool's devices must not be handed out: `reason` is a word for programs, `text` says it to people."""

    reason: str
    text: str


class PoolState(Protocol):
    """What may change about a pool while a node's view of it stays as it is."""

    @property
    def problem(self) -> Problem | None:
        """Why no device may be handed out, or None for a complete and valid pool."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Which devices a selection takes (`matching`), which of those may be handed out (`usable`), where it failed."""

    matching: int
    usable: int
    failed: int


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """A slice of the pool of which the node reaches the devices in `visible`; its bits start at `offset`."""

    piece: Piece
    visible: int
    offset: int


class NodePool:
    """The devices of one pool that a node reaches, in the order of slice names and then of the slices' own lists.

    Nodes that reach the same devices share one object. Bits of devices out of reach are never set in any answer.
    """

    __slots__ = (
        "_free",
        "_groups",
        "_offsets",
        "_stamp",
        "_verdicts",
        "everything",
        "key",
        "pinned",
        "pool",
        "sights",
        "width",
    )

    def __init__(self, key: PoolKey, pool: PoolState, sights: tuple[Sight, ...]) -> None:
        self.key = key
        self.pool = pool
        self.sights = sights
        self.width = sights[-1].offset + len(sights[-1].piece.devices) if sights else 0
        self.everything = 0
        self.pinned = 0
        for sight in sights:
            self.everything |= sight.visible << sight.offset
            self.pinned |= (sight.visible & sight.piece.pinned) << sight.offset
        self._verdicts: dict[Selection, Verdict] = {}
        self._groups: dict[str, dict[AttributeKey, int]] = {}
        self._offsets = [sight.offset for sight in sights]
        self._stamp: object = None
        self._free = self.everything

    def verdict(self, selection: Selection) -> Verdict:
        """Return what the selection says about the devices."""
        found = self._verdicts.get(selection)
        if found is None:
            if len(self._verdicts) >= MAX_KEPT_ANSWERS:
                self._verdicts.clear()
            found = self._verdicts[selection] = self._judge(selection)
        return found

    def free(self, ledger: Ledger) -> int:
        """Return the devices that nobody has."""
        taken = ledger.taken(self.key)
        if taken is None:
            return self.everything
        if taken.stamp is not self._stamp:
            mask = 0
            names = taken.sources
            for sight in self.sights:
                bit = 1 << sight.offset
                for device in sight.piece.devices:
                    if device.name in names:
                        mask |= bit
                    bit <<= 1
            self._free = self.everything & ~mask
            self._stamp = taken.stamp
        return self._free

    def groups(self, attribute: str) -> dict[AttributeKey, int]:
        """Return the devices by their value of a fully qualified attribute; those without it are in no group."""
        found = self._groups.get(attribute)
        if found is None:
            if len(self._groups) >= MAX_KEPT_ANSWERS:
                self._groups.clear()
            found = self._groups[attribute] = {}
            for number in members(self.everything):
                value = attribute_of(self.device(number), self.key.driver, attribute)
                if value is not None:
                    found[value] = found.get(value, 0) | 1 << number
        return found

    def needing(self, mask: int) -> dict[str, int]:
        """Return how many devices of the mask need each feature that is not offered."""
        counts: dict[str, int] = {}
        for sight in self.sights:
            for name, devices in sight.piece.needs.items():
                count = (mask & (devices << sight.offset)).bit_count()
                if count:
                    counts[name] = counts.get(name, 0) + count
        return counts

    def failures(self, selection: Selection, mask: int) -> Iterator[tuple[int, str]]:
        """Yield the failing program's index and its error for each device of the mask that the selection failed on."""
        for number in members(mask & self.verdict(selection).failed):
            sight, inner = self._place(number)
            for index, program in enumerate(selection.programs):
                text = sight.piece.error_text(program, inner)
                if text:
                    yield index, text
                    break

    def device(self, number: int) -> Device:
        """Return the device behind a bit."""
        sight, inner = self._place(number)
        return sight.piece.devices[inner]

    def placement(self, number: int) -> Placement:
        """Return where the device behind a bit can be reached."""
        sight, inner = self._place(number)
        return sight.piece.placement(inner)

    def _place(self, number: int) -> tuple[Sight, int]:
        sight = self.sights[bisect_right(self._offsets, number) - 1]
        return sight, number - sight.offset

    def _judge(self, selection: Selection) -> Verdict:
        matching = usable = failed = 0
        for sight in self.sights:
            chosen, wrong = sight.visible, 0
            for program in selection.programs:
                selected, errors = sight.piece.judge(program, chosen)
                wrong |= errors
                chosen = selected
            matching |= chosen << sight.offset
            usable |= (chosen & ~sight.piece.unusable) << sight.offset
            failed |= wrong << sight.offset
        return Verdict(matching=matching, usable=usable, failed=failed)


def attribute_of(device: Device, driver: str, name: str) -> AttributeKey | None:
    """Return the device's value of a fully qualified attribute, or None where it has none that can be compared.

    An attribute without a domain belongs to the driver's domain. Lists cannot be compared.
    """
    found = device.attributes.get(name)
    if found is None:
        domain, _, short = name.rpartition("/")
        found = device.attributes.get(short) if domain == driver else None
    return None if found is None else _key(found)


def _key(value: DeviceAttribute) -> AttributeKey | None:
    scalars = (("int", value.int_), ("bool", value.bool_), ("string", value.string), ("version", value.version))
    return next(((kind, scalar) for kind, scalar in scalars if scalar is not None), None)
