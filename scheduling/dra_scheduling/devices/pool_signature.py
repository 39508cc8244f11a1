"""What a search sees of a pool in reach of a node, as one object: pools that look the same can be decided once."""

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple, Protocol

from dra_scheduling.devices.attributes import AttributeKey, AttributeSource
from dra_scheduling.devices.bits import packed
from dra_scheduling.devices.consumable_capacity import Amounts
from dra_scheduling.devices.free_devices import NO_PROFILE, FreeDevices, StockSignature
from dra_scheduling.devices.selections import DeviceCriteria, SelectorMasks
from dra_scheduling.model.ids import PoolKey

LARGEST_TO_PACK = 64
"""Nodes seldom see the same of a larger pool, whatever is left out."""


class InterestedClaims(Protocol):
    """What a face is about: the wishes of a pod's claims, and the attributes that their constraints compare."""

    @property
    def wishes(self) -> Sequence[DeviceCriteria]:
        """All different wishes."""

    @property
    def attributes(self) -> Sequence[AttributeSource]:
        """All different attributes, published or derived."""

    @property
    def wants_taken(self) -> bool:
        """Whether devices count that somebody has."""


class SeenPool(Protocol):
    """A pool in reach of a node."""

    key: PoolKey
    width: int
    has_conditions: bool
    shareable: int
    profile: StockSignature

    def verdict(self, wish: DeviceCriteria) -> SelectorMasks:
        """Return what the wish means of the devices, whoever has them."""

    def available(self, wish: DeviceCriteria, stock: FreeDevices) -> int:
        """Return the devices that the wish could be given now."""

    def portions(self, wish: DeviceCriteria) -> Mapping[int, Amounts]:
        """Return what the wish takes of each matching shareable device, by bit number."""

    def groups(self, source: AttributeSource) -> Mapping[AttributeKey, int]:
        """Return the devices by their values of an attribute."""


class ClaimInterest:
    """Wishes and attributes. One object stands for one content, whichever claims they come from."""

    __slots__ = ("attributes", "wants_taken", "wishes")

    def __init__(
        self, wishes: tuple[DeviceCriteria, ...], attributes: tuple[AttributeSource, ...], *, wants_taken: bool
    ) -> None:
        self.wishes = wishes
        self.attributes = attributes
        self.wants_taken = wants_taken


class PoolContent:
    """Pools with one face give the same answers; faces are told apart by identity."""

    __slots__ = ()


class PoolSignature(NamedTuple):
    """A face of the devices that count (`kept`), numbered by their places among them, without the names of values.

    `values` are those names, attribute by attribute, in the order of the groups of devices in the face.
    """

    face: PoolContent
    kept: int
    values: tuple[tuple[AttributeKey, ...], ...]


@lru_cache(maxsize=4096)
def outlook(
    wishes: tuple[DeviceCriteria, ...], attributes: tuple[AttributeSource, ...], *, wants_taken: bool
) -> ClaimInterest:
    """Return the outlook of this content."""
    return ClaimInterest(wishes, attributes, wants_taken=wants_taken)


@lru_cache(maxsize=65_536)
def _face_of(content: Hashable) -> PoolContent:  # noqa: ARG001 - the cache keeps one face for each content
    return PoolContent()


def exact_face(pool: SeenPool, asking: InterestedClaims, stock: FreeDevices) -> PoolContent:
    """Return the face of the pool with every device at its place."""
    answers = tuple((pool.verdict(wish), pool.available(wish, stock)) for wish in asking.wishes)
    groups = tuple((source, tuple(pool.groups(source).items())) for source in asking.attributes)
    return _face_of((pool.key.driver, pool.width, pool.has_conditions, answers, groups, *_extras(pool, asking, stock)))


def likeness_of(pool: SeenPool, asking: InterestedClaims, stock: FreeDevices) -> PoolSignature:
    """Return what a search sees of the pool. Devices that none of the wishes can have only count by their number."""
    verdicts = [pool.verdict(wish) for wish in asking.wishes]
    available = [pool.available(wish, stock) for wish in asking.wishes]
    kept = _kept(pool, [verdict.usable for verdict in verdicts] if asking.wants_taken else available)
    answers = tuple(
        (packed(mask, kept), packed(verdict.usable, kept) if asking.wants_taken else 0, *verdict.numbers)
        for verdict, mask in zip(verdicts, available, strict=True)
    )
    groups, values = [], []
    for source in asking.attributes:
        found = [(packed(mask, kept), value) for value, mask in pool.groups(source).items() if mask & kept]
        found.sort(key=itemgetter(0))
        groups.append(tuple(mask for mask, _ in found))
        values.append(tuple(value for _, value in found))
    extras = _extras(pool, asking, stock)
    face = _face_of((pool.key.driver, kept.bit_count(), pool.has_conditions, answers, *groups, *extras))
    return PoolSignature(face, kept, tuple(values))


def _kept(pool: SeenPool, masks: Sequence[int]) -> int:
    if pool.shareable or pool.profile is not NO_PROFILE or pool.width > LARGEST_TO_PACK:
        return (1 << pool.width) - 1
    kept = 0
    for mask in masks:
        kept |= mask
    return kept


def _extras(pool: SeenPool, asking: InterestedClaims, stock: FreeDevices) -> tuple[Hashable, ...]:
    """Return what else there is to say where devices are shared or draw from counters."""
    if not pool.shareable and pool.profile is NO_PROFILE:
        return ()
    sharing: Hashable = ()
    if pool.shareable:
        sharing = (
            pool.shareable,
            stock.charged,
            tuple((number, tuple(left.items())) for number, left in stock.rooms.items()),
            tuple(tuple(pool.portions(wish).items()) for wish in asking.wishes),
        )
    return sharing, pool.profile, stock.left, stock.closed, stock.allies, stock.apart, stock.exhausted
