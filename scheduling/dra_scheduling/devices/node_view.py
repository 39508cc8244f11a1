"""A pool as one node sees it: the devices within reach, as bits, with the answers that a search asks for again."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from operator import or_
from typing import Protocol, TypeVar

import msgspec

from dra_scheduling.basics.features import LIST_ATTRIBUTES, Features
from dra_scheduling.devices.attributes import AttributeKey, AttributeSource, derivation_error, values_of
from dra_scheduling.devices.bits import members
from dra_scheduling.devices.compatibility_groups import Company, Memberships, apart, companies_of
from dra_scheduling.devices.consumable_capacity import Amounts, portion, room, satisfies
from dra_scheduling.devices.free_devices import NO_PROFILE, FreeDevices, Spending, StockSignature
from dra_scheduling.devices.indexed_slice import MAX_KEPT_ANSWERS, DevicePlacement, IndexedSlice, SliceTaints
from dra_scheduling.devices.ledger import Charge, CounterKey, Ledger, TakenDevices
from dra_scheduling.devices.partitionable_devices import CounterState
from dra_scheduling.devices.pool_signature import InterestedClaims, PoolContent, PoolSignature, exact_face, likeness_of
from dra_scheduling.devices.selections import DeviceCriteria, Selection, SelectorMasks
from dra_scheduling.model.ids import PoolKey
from dra_scheduling.model.slices import Device

MAX_KEPT_FACES = 16
"""Every node keeps its faces, so that they are few; one is made anew in some microseconds."""
K = TypeVar("K")
V = TypeVar("V")


class PoolProblem(msgspec.Struct, frozen=True):
    """Why a pool's devices must not be handed out: `reason` is a word for programs, `text` says it to people.

    Where slices are missing, the pool may hold devices that nobody has seen.
    """

    reason: str
    text: str
    has_missing_slices: bool = False


class PoolState(Protocol):
    """What may change about a pool while a node's view of it stays as it is."""

    @property
    def problem(self) -> PoolProblem | None:
        """Why no device may be handed out, or None for a complete and valid pool."""

    @property
    def totals(self) -> Mapping[CounterKey, int]:
        """The shared counters of the pool."""

    @property
    def version(self) -> object:
        """Another object after every change of the pool's slices."""

    def counter_state(self, taken: TakenDevices) -> CounterState:
        """Return what has been drawn from the counters."""


@lru_cache(maxsize=4096)
def _profile(spendings: tuple[Spending, ...], companies: tuple[Company, ...]) -> StockSignature:
    return StockSignature(spendings, companies)


class SliceOnNode(msgspec.Struct, frozen=True, kw_only=True):
    """A slice of the pool of which the node reaches the devices in `visible`; its bits start at `offset`."""

    piece: IndexedSlice
    visible: int
    offset: int


class PoolOnNode:
    """The devices of one pool that a node reaches, in the order of slice names and then of the slices' own lists.

    Nodes that reach the same devices share one object. Bits of devices out of reach are never set in any answer.
    """

    __slots__ = (
        "_faces",
        "_features",
        "_groups",
        "_likenesses",
        "_offsets",
        "_portions",
        "_selected",
        "_stamp",
        "_stock",
        "_verdicts",
        "everything",
        "has_conditions",
        "key",
        "pinned",
        "pool",
        "profile",
        "shareable",
        "sights",
        "width",
    )

    def __init__(self, key: PoolKey, pool: PoolState, sights: tuple[SliceOnNode, ...], features: Features) -> None:
        self.key = key
        self.pool = pool
        self.sights = sights
        self.width = sights[-1].offset + len(sights[-1].piece.devices) if sights else 0
        self.everything = self.pinned = self.shareable = 0
        for sight in sights:
            self.everything |= sight.visible << sight.offset
            self.pinned |= (sight.visible & sight.piece.pinned) << sight.offset
            self.shareable |= (sight.visible & sight.piece.shareable) << sight.offset
        self.has_conditions = any(sight.piece.has_conditions for sight in sights)
        self.profile = NO_PROFILE
        if any(sight.piece.charges for sight in sights):
            self.profile = _profile(_spendings(sights), companies_of(_sharers(sights)))
        self._features = features
        self._verdicts: dict[DeviceCriteria, SelectorMasks] = {}
        self._selected: dict[Selection, tuple[int, int]] = {}
        self._portions: dict[DeviceCriteria, dict[int, Amounts]] = {}
        self._groups: dict[AttributeSource, dict[AttributeKey, int]] = {}
        self._faces: dict[InterestedClaims, tuple[FreeDevices, PoolContent]] = {}
        self._likenesses: dict[InterestedClaims, tuple[FreeDevices, PoolSignature]] = {}
        self._offsets = [sight.offset for sight in sights]
        self._stamp: tuple[object, object] | None = None
        self._stock = FreeDevices(free=0)

    def knows(self, wish: DeviceCriteria) -> bool:
        """Whether it is known what the wish means of the devices."""
        return wish in self._verdicts

    def verdict(self, wish: DeviceCriteria) -> SelectorMasks:
        """Return what the wish means of the devices, whoever has them."""
        found = self._verdicts.get(wish)
        if found is None:
            _bound(self._verdicts)
            found = self._verdicts[wish] = self._judge(wish)
        return found

    def stock(self, ledger: Ledger) -> FreeDevices:
        """Return what is to be had."""
        taken = ledger.taken(self.key)
        stamp = self._stamp
        now = None if taken is None else taken.stamp
        version = self.pool.version if self.profile is not NO_PROFILE else None
        if stamp is None or stamp[0] is not now or stamp[1] is not version:
            self._stock = self.stock_with(taken)
            self._stamp = (now, version)
        return self._stock

    def stock_with(self, taken: TakenDevices | None) -> FreeDevices:
        """Return what is to be had where this is taken; nothing is kept."""
        free, charged = self.everything, 0
        if taken is not None:
            dedicated, shared = self._held(taken)
            free &= ~dedicated & ~(shared & ~self.shareable)
            charged = shared & self.shareable
        rooms = {number: self._room(number, taken) for number in members(self.shareable)}
        profile = self.profile
        if not profile.consumers | profile.sharers:
            return FreeDevices(free=free, rooms=rooms, charged=charged)
        state = CounterState({}) if taken is None else self.pool.counter_state(taken)
        left = profile.left(self.pool.totals, state)
        affordable = 0 if state.closed else profile.affordable(left)
        exhausted = free & profile.consumers & ~affordable & ~charged
        free &= ~exhausted
        allies = tuple(company.left(state.common) for company in profile.companies)
        misfits = apart(profile.companies, allies) & ~charged
        return FreeDevices(
            free=free & ~misfits,
            rooms=rooms,
            charged=charged,
            left=left,
            closed=state.closed,
            allies=allies,
            apart=misfits,
            exhausted=exhausted,
        )

    def roomy(self, wish: DeviceCriteria, stock: FreeDevices) -> int:
        """Return the shareable devices that have room for what the wish takes of them."""
        if not self.shareable:
            return 0
        mask = 0
        for number, amounts in self.portions(wish).items():
            left = stock.rooms[number]
            if all(amount <= left[name] for name, amount in amounts):
                mask |= 1 << number
        return mask

    def available(self, wish: DeviceCriteria, stock: FreeDevices) -> int:
        """Return the devices that the wish could be given now."""
        usable = self.verdict(wish).usable & stock.free
        if self.shareable:
            usable &= ~self.shareable | self.roomy(wish, stock)
        return usable

    def portions(self, wish: DeviceCriteria) -> dict[int, Amounts]:
        """Return what the wish takes of each matching shareable device, by bit number."""
        found = self._portions.get(wish)
        if found is None:
            _bound(self._portions)
            found = self._portions[wish] = {}
            for number in members(self.verdict(wish).matching & self.shareable):
                amounts = portion(self.device(number), self.key.driver, wish.capacity)
                if amounts is not None:
                    found[number] = amounts
        return found

    def kept_likeness(self, asking: InterestedClaims, ledger: Ledger) -> PoolSignature | None:
        """Return the likeness if it was asked for before and nothing was taken or freed since."""
        known = self._likenesses.get(asking)
        return known[1] if known is not None and known[0] is self.stock(ledger) else None

    def likeness(self, asking: InterestedClaims, ledger: Ledger) -> PoolSignature:
        """Return what a search for this sees here, whatever the devices and their values are called."""
        stock = self.stock(ledger)
        known = self._likenesses.get(asking)
        if known is not None and known[0] is stock:
            return known[1]
        if len(self._likenesses) >= MAX_KEPT_FACES:
            self._likenesses.clear()
        found = likeness_of(self, asking, stock)
        self._likenesses[asking] = (stock, found)
        return found

    def face_with(self, asking: InterestedClaims, stock: FreeDevices) -> PoolContent:
        """Return what a search for this sees where that is to be had: pools with one face can be decided once."""
        known = self._faces.get(asking)
        if known is not None and known[0] is stock:
            return known[1]
        if len(self._faces) >= MAX_KEPT_FACES:
            self._faces.clear()
        face = exact_face(self, asking, stock)
        self._faces[asking] = (stock, face)
        return face

    def groups(self, source: AttributeSource) -> dict[AttributeKey, int]:
        """Return the devices by their values of an attribute; those without it are in no group.

        A device whose attribute is a list is in the groups of all its values.
        """
        found = self._groups.get(source)
        if found is None:
            _bound(self._groups)
            found = self._groups[source] = {}
            has_lists = self._features.has(LIST_ATTRIBUTES)
            for number in members(self.everything):
                values = values_of(self.device(number), self.key.driver, source)
                for value in values if has_lists or not values.is_list else ():
                    found[value] = found.get(value, 0) | 1 << number
        return found

    def needing(self, mask: int) -> dict[str, int]:
        """Return how many devices of the mask need each feature that is off."""
        counts: dict[str, int] = {}
        for sight in self.sights:
            for name, devices in sight.piece.needs.items():
                count = (mask & (devices << sight.offset)).bit_count()
                if count:
                    counts[name] = counts.get(name, 0) + count
        return counts

    def failures(self, selection: Selection, mask: int) -> Iterator[tuple[int, str]]:
        """Yield the failing program's index and its error for each device of the mask that the selection failed on."""
        for number in members(mask & self._select(selection)[1]):
            sight, inner = self._place(number)
            for index, program in enumerate(selection.programs):
                text = sight.piece.error_text(program, inner)
                if text:
                    yield index, text
                    break

    def derivation_errors(self, source: AttributeSource, mask: int) -> Iterator[str]:
        """Yield why an attribute cannot be derived, for each device of the mask where that is so."""
        for number in members(mask):
            text = derivation_error(self.device(number), self.key.driver, source)
            if text:
                yield text

    def device(self, number: int) -> Device:
        """Return the device behind a bit."""
        sight, inner = self._place(number)
        return sight.piece.devices[inner]

    def placement(self, number: int) -> DevicePlacement:
        """Return where the device behind a bit can be reached."""
        sight, inner = self._place(number)
        return sight.piece.placement(inner)

    def _place(self, number: int) -> tuple[SliceOnNode, int]:
        sight = self.sights[bisect_right(self._offsets, number) - 1]
        return sight, number - sight.offset

    def _select(self, selection: Selection) -> tuple[int, int]:
        found = self._selected.get(selection)
        if found is None:
            _bound(self._selected)
            selected = failed = 0
            for sight in self.sights:
                chosen, wrong = sight.visible, 0
                for program in selection.programs:
                    chosen, errors = sight.piece.judge(program, chosen)
                    wrong |= errors
                selected |= chosen << sight.offset
                failed |= wrong << sight.offset
            found = self._selected[selection] = (selected, failed)
        return found

    def _judge(self, wish: DeviceCriteria) -> SelectorMasks:
        selected, failed = self._select(wish.selection)
        closed = 0
        taints: dict[SliceTaints, int] = {}
        for sight in self.sights:
            closed |= sight.piece.unusable << sight.offset
            if sight.piece.taints:
                for taint, devices in sight.piece.closed_to(wish.tolerations).items():
                    taints[taint] = taints.get(taint, 0) | devices << sight.offset
        lacking = self._lacking(wish, selected)
        matching = selected & ~lacking
        tainted = reduce(or_, taints.values(), 0)
        return SelectorMasks(
            matching=matching,
            usable=matching & ~closed & ~tainted,
            failed=failed,
            lacking=lacking,
            tainted=matching & tainted & ~closed,
            taints=tuple(sorted({str(taint) for taint, devices in taints.items() if devices & matching & ~closed})),
        )

    def _lacking(self, wish: DeviceCriteria, selected: int) -> int:
        """Return the selected devices that can never give the capacity that is asked for."""
        mask, driver = 0, self.key.driver
        for number in members(selected if wish.capacity else selected & self.shareable):
            device = self.device(number)
            if device.allow_multiple_allocations:
                fits = portion(device, driver, wish.capacity) is not None
            else:
                fits = satisfies(device, driver, wish.capacity)
            if not fits:
                mask |= 1 << number
        return mask

    def _held(self, taken: TakenDevices) -> tuple[int, int]:
        """Return the devices that somebody has for himself, and those that are shared."""
        dedicated = shared = 0
        for sight in self.sights:
            bit = 1 << sight.offset
            for device in sight.piece.devices:
                if device.name in taken.dedicated:
                    dedicated |= bit
                if device.name in taken.shared:
                    shared |= bit
                bit <<= 1
        return dedicated, shared

    def _room(self, number: int, taken: TakenDevices | None) -> dict[str, int]:
        device = self.device(number)
        return room(device, self.key.driver, taken.consumed(device.name) if taken is not None else {})


def _spendings(sights: Sequence[SliceOnNode]) -> tuple[Spending, ...]:
    found: dict[Charge, int] = {}
    for sight in sights:
        for number, charge in enumerate(sight.piece.charges):
            if charge and sight.visible >> number & 1:
                found[charge] = found.get(charge, 0) | 1 << sight.offset + number
    return tuple(Spending(devices=mask, charge=charge) for charge, mask in sorted(found.items()))


def _sharers(sights: Sequence[SliceOnNode]) -> Iterator[tuple[int, Memberships]]:
    for sight in sights:
        for number, memberships in enumerate(sight.piece.memberships):
            if memberships and sight.visible >> number & 1:
                yield 1 << sight.offset + number, memberships


def _bound(kept: dict[K, V]) -> None:
    """Forget everything once too much is kept: users write selectors, so their number has no bound of its own."""
    if len(kept) >= MAX_KEPT_ANSWERS:
        kept.clear()
