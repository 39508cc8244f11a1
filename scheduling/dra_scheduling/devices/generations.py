"""The slices of one pool, by generation: whether they are all there and fit together, and what a node sees of them."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

from dra_scheduling.basics.features import COMPATIBILITY_GROUPS, PARTITIONABLE_DEVICES, Features
from dra_scheduling.devices.compatibility_groups import has_groups
from dra_scheduling.devices.indexed_slice import EVERY_NODE, IndexedSlice, NodePlace, Placements, Reach, reached_from
from dra_scheduling.devices.ledger import CounterKey, TakenDevices
from dra_scheduling.devices.node_view import PoolOnNode, PoolProblem, SliceOnNode
from dra_scheduling.devices.partitionable_devices import CounterBook, CounterState
from dra_scheduling.model.ids import PoolKey
from dra_scheduling.model.slices import Device

INCOMPLETE = "PoolIncomplete"
INVALID = "PoolInvalid"
SUPERSEDED = "PoolSuperseded"
K = TypeVar("K", bound=Hashable)


class Generation:
    """The slices of one pool that carry one generation number, with what tells whether they are all there."""

    __slots__ = (
        "_drawers",
        "_has_counters",
        "_has_groups",
        "anchored",
        "clashing",
        "counters",
        "counts",
        "homes",
        "misread",
        "number",
        "pieces",
        "version",
        "views",
        "wide",
    )

    def __init__(self, number: int, features: Features) -> None:
        self.number = number
        self._has_counters = features.has(PARTITIONABLE_DEVICES)
        self._has_groups = features.has(COMPATIBILITY_GROUPS)
        self.pieces: dict[str, IndexedSlice] = {}
        self.counts: dict[int, int] = {}
        self.homes: dict[str, tuple[IndexedSlice, ...]] = {}
        self.clashing: set[str] = set()
        self.misread: set[str] = set()
        """Slices with compatibility groups while that feature is off."""
        self.counters = CounterBook()
        self.version = object()
        self._drawers: dict[str, list[str]] | None = None
        self.anchored: dict[str, dict[str, IndexedSlice]] = {}
        self.wide: dict[Placements, dict[str, IndexedSlice]] = {}
        self.views: dict[tuple[tuple[str, int], ...], PoolOnNode] = {}

    def add(self, piece: IndexedSlice) -> None:
        """Take in a slice that is not there yet."""
        self.forget_views()
        self.pieces[piece.name] = piece
        if self._has_counters:
            self.counters.add(piece.content.spec.shared_counters, piece.devices)
        declared = piece.content.spec.pool.resource_slice_count
        self.counts[declared] = self.counts.get(declared, 0) + 1
        if not self._has_groups and any(map(has_groups, piece.devices)):
            self.misread.add(piece.name)
        alone = (piece,)
        for device in piece.devices:
            others = self.homes.get(device.name)
            if others:
                self.clashing.add(device.name)
            self.homes[device.name] = (*others, piece) if others else alone
        if piece.reach.is_everywhere:
            self.wide.setdefault(piece.placements, {})[piece.name] = piece
        for node in piece.reach.nodes:
            self.anchored.setdefault(node, {})[piece.name] = piece

    def remove(self, piece: IndexedSlice) -> None:
        """Let a slice go that is there."""
        self.forget_views()
        del self.pieces[piece.name]
        if self._has_counters:
            self.counters.remove(piece.content.spec.shared_counters, piece.devices)
        declared = piece.content.spec.pool.resource_slice_count
        self.counts[declared] -= 1
        if not self.counts[declared]:
            del self.counts[declared]
        self.misread.discard(piece.name)
        for name in {device.name for device in piece.devices}:
            self._leave_home(name, piece)
        if piece.reach.is_everywhere:
            _take_out(self.wide, piece.placements, piece)
        for node in piece.reach.nodes:
            _take_out(self.anchored, node, piece)

    def forget_views(self) -> None:
        """Drop what nodes see: the slices, or the taints on their devices, changed."""
        self.views.clear()
        self.version = object()
        self._drawers = None

    def problem(self) -> PoolProblem | None:
        """Return why the devices must not be handed out, or None."""
        if len(self.counts) > 1:
            counts = ", ".join(map(str, sorted(self.counts)))
            text = f"its slices disagree on resourceSliceCount ({counts})"
            return PoolProblem(INVALID, text, self._has_missing_slices)
        if self.clashing:
            return PoolProblem(INVALID, f"it has two devices called {min(self.clashing)}", self._has_missing_slices)
        expected = next(iter(self.counts))
        if len(self.pieces) != expected:
            seen = f"{len(self.pieces)} of {expected} slices of generation {self.number} seen"
            return PoolProblem(INCOMPLETE, f"it is being updated, {seen}", self._has_missing_slices)
        if self.misread:
            # Its other devices might draw from a counter set together with devices that do not go with them.
            return PoolProblem(INCOMPLETE, f"it has compatibility groups, and feature {COMPATIBILITY_GROUPS} is off")
        wrong = self.counters.problem()
        return PoolProblem(INVALID, wrong) if wrong else None

    @property
    def _has_missing_slices(self) -> bool:
        return len(self.pieces) < max(self.counts)

    def is_seen_from(self, place: NodePlace) -> bool:
        """Whether the node reaches any of the slices."""
        return place.name in self.anchored or any(reached_from(placements, place) for placements in self.wide)

    def device(self, name: str) -> Device | None:
        """Return the device of that name."""
        homes = self.homes.get(name)
        return None if not homes else homes[0].devices[number_of(homes[0], name)]

    def drawing_from(self, counter_set: str) -> Sequence[str]:
        """Return the names of the devices that draw from the counter set."""
        if self._drawers is None:
            self._drawers = {}
            for name, homes in self.homes.items():
                for consumption in homes[0].devices[number_of(homes[0], name)].consumes_counters:
                    self._drawers.setdefault(consumption.counter_set, []).append(name)
        return self._drawers.get(counter_set, ())

    def view(self, pool: "Pool", place: NodePlace) -> PoolOnNode:
        """Return the pool as the node sees it; nodes that reach the same devices get the same object."""
        seen = [(piece, piece.visible_on(place)) for piece in self.anchored.get(place.name, {}).values()]
        for placements, pieces in self.wide.items():
            reached = reached_from(placements, place)
            if reached:
                seen += [(piece, reached & piece.everything) for piece in pieces.values()]
        seen = sorted((pair for pair in seen if pair[1]), key=lambda pair: pair[0].name)
        content = tuple((piece.name, mask) for piece, mask in seen)
        found = self.views.get(content)
        if found is None:
            found = self.views[content] = PoolOnNode(pool.key, pool, _line_up(seen), pool.features)
        return found

    def _leave_home(self, name: str, piece: IndexedSlice) -> None:
        others = tuple(home for home in self.homes[name] if home is not piece)
        if others:
            self.homes[name] = others
        else:
            del self.homes[name]
        if len(others) <= 1:
            self.clashing.discard(name)


class Pool:
    """All slices of one driver's pool, obsolete ones included: a slice may be replaced before its successor is seen."""

    __slots__ = (
        "_counter_stamp",
        "_counter_state",
        "_generations",
        "current",
        "features",
        "key",
        "nodes",
        "problem",
        "wide",
    )

    def __init__(self, key: PoolKey, features: Features) -> None:
        self.key = key
        self.features = features
        self._counter_stamp: tuple[object, object] | None = None
        self._counter_state = CounterState({})
        self.current = Generation(-1, features)
        self.problem: PoolProblem | None = None
        self.nodes: dict[str, int] = {}
        self.wide = 0
        self._generations: dict[int, Generation] = {}

    @property
    def is_gone(self) -> bool:
        """Whether no slice is left."""
        return not self._generations

    @property
    def reach(self) -> Reach:
        """The nodes that any slice of the pool could be reached from."""
        return EVERY_NODE if self.wide else Reach(frozenset(self.nodes))

    @property
    def standing(self) -> tuple[int, str]:
        """What changes for every node of the pool at once: its generation, and whether it is complete and valid."""
        return self.current.number, self.problem.reason if self.problem is not None else ""

    @property
    def totals(self) -> Mapping[CounterKey, int]:
        """The shared counters."""
        return self.current.counters.totals

    @property
    def version(self) -> object:
        """Another object after every change of the present generation."""
        return self.current.version

    def counter_state(self, taken: TakenDevices) -> CounterState:
        """Return what has been drawn from the counters."""
        stamp = self._counter_stamp
        if stamp is None or stamp[0] is not taken.stamp or stamp[1] is not self.version:
            self._counter_state = CounterState.of(taken, self.current.counters, self.current.device)
            self._counter_stamp = (taken.stamp, self.version)
        return self._counter_state

    def pieces(self) -> Iterator[IndexedSlice]:
        """Yield all slices, obsolete ones too."""
        for generation in self._generations.values():
            yield from generation.pieces.values()

    def is_seen_from(self, place: NodePlace) -> bool:
        """Whether the node reaches any slice, an obsolete one too: then those that are not seen yet may be for it."""
        return any(generation.is_seen_from(place) for generation in self._generations.values())

    def superseded_on(self, place: NodePlace) -> PoolOnNode | None:
        """Return the pool as a node sees it whose slices are all of older generations, None for any other node."""
        older = [number for number, one in self._generations.items() if one.is_seen_from(place)]
        if not older or self.current.number in older:
            return None
        here, newest = max(older), self.current.number
        text = f"its slices for this node are of generation {here}, generation {newest} is published for other nodes"
        return PoolOnNode(self.key, SupersededPool(self, PoolProblem(SUPERSEDED, text)), (), self.features)

    def forget_views(self) -> None:
        """Drop what nodes see of any generation."""
        for generation in self._generations.values():
            generation.forget_views()

    def add(self, piece: IndexedSlice) -> None:
        """Take in a slice that is not there yet."""
        number = piece.content.spec.pool.generation
        self._generations.setdefault(number, Generation(number, self.features)).add(piece)
        self.wide += piece.reach.is_everywhere
        for node in piece.reach.nodes:
            self.nodes[node] = self.nodes.get(node, 0) + 1
        self._look_again()

    def remove(self, piece: IndexedSlice) -> None:
        """Let a slice go that is there."""
        number = piece.content.spec.pool.generation
        self._generations[number].remove(piece)
        if not self._generations[number].pieces:
            del self._generations[number]
        self.wide -= piece.reach.is_everywhere
        for node in piece.reach.nodes:
            self.nodes[node] -= 1
            if not self.nodes[node]:
                del self.nodes[node]
        self._look_again()

    def _look_again(self) -> None:
        if self._generations:
            self.current = self._generations[max(self._generations)]
            self.problem = self.current.problem()


class SupersededPool:
    """A pool of which a node reaches nothing but slices of older generations: it has no device for that node."""

    __slots__ = ("_pool", "problem")

    def __init__(self, pool: Pool, problem: PoolProblem) -> None:
        self._pool = pool
        self.problem: PoolProblem | None = problem

    @property
    def totals(self) -> Mapping[CounterKey, int]:
        """The shared counters."""
        return self._pool.totals

    @property
    def version(self) -> object:
        """Another object after every change of the present generation."""
        return self._pool.version

    def counter_state(self, taken: TakenDevices) -> CounterState:
        """Return what has been drawn from the counters."""
        return self._pool.counter_state(taken)


def _take_out(groups: dict[K, dict[str, IndexedSlice]], key: K, piece: IndexedSlice) -> None:
    """Remove a slice from its group, and the group with the last one."""
    del groups[key][piece.name]
    if not groups[key]:
        del groups[key]


def _line_up(seen: list[tuple[IndexedSlice, int]]) -> tuple[SliceOnNode, ...]:
    sights, offset = [], 0
    for piece, mask in seen:
        sights.append(SliceOnNode(piece=piece, visible=mask, offset=offset))
        offset += len(piece.devices)
    return tuple(sights)


def number_of(home: IndexedSlice, name: str) -> int:
    """Return the number of the device in its slice."""
    return next(number for number, device in enumerate(home.devices) if device.name == name)
