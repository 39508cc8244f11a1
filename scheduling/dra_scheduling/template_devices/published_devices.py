"""Published devices as candidates reach them: nodes by name and labels, NodeClaims by what they require."""

from collections.abc import Iterable, Iterator

import msgspec

from dra_scheduling.basics.requirements import Requirement, Requirements, on_new_nodes
from dra_scheduling.devices import NodePlace, PoolIndex, PoolOnNode
from dra_scheduling.devices.generations import Pool
from dra_scheduling.devices.indexed_slice import DevicePlacement, IndexedSlice
from dra_scheduling.devices.node_view import SliceOnNode
from dra_scheduling.model.ids import DeviceID, PoolKey
from dra_scheduling.template_devices.seen_devices import SeenTemplatePool

Term = tuple[Requirement, ...]
"""What nodes must be like to reach a device; an empty one holds for all."""


class ReachableDevices(msgspec.Struct, frozen=True, kw_only=True):
    """Devices of one slice (as bits) that the same nodes reach; none of a slice that only tells what is wrong."""

    pool: Pool
    piece: IndexedSlice
    devices: int
    term: Term


class Published:
    """The slices that count for planning. The index must not change while this is in use.

    A slice that belongs to a node (its owner reference says so) counts only if the node is one of `initialized`; None
    stands for all nodes. What a slice says about its nodes tells who reaches it, not to whom it belongs; but where a
    driver left the owner out, the node's own slices do not count beside the templates that stand for them.
    """

    __slots__ = ("_index", "_initialized", "_on_node", "_pools")

    def __init__(self, index: PoolIndex, initialized: frozenset[str] | None = None) -> None:
        self._index = index
        self._initialized = initialized
        self._on_node: dict[tuple[PoolOnNode, str], PoolOnNode] = {}
        self._pools: dict[tuple[PoolKey, tuple[tuple[str, int], ...]], PoolOnNode] = {}

    def find(self, key: PoolKey) -> Pool | None:
        """Return a pool, whoever reaches it."""
        return self._index.find(key)

    def counts(self, piece: IndexedSlice) -> bool:
        """Whether the slice belongs to no node, or to one that is initialized."""
        if self._initialized is None:
            return True
        owners = [owner.name for owner in piece.content.metadata.owner_references if owner.kind == "Node"]
        return all(name in self._initialized for name in owners)

    def on_node(self, node: NodePlace, promised: frozenset[str] = frozenset()) -> tuple[PoolOnNode, ...]:
        """Return the pools that a node reaches, by driver and pool name; for drivers `promised` templates count."""
        found = []
        for view in self._index.on_node(node):
            stand_in = node.name if view.key.driver in promised else ""
            counting = self._counting(view, stand_in)
            if counting.everything or counting.pool.problem is not None:
                found.append(counting)
        return tuple(found)

    def own_of(self, node: NodePlace, promised: frozenset[str] = frozenset()) -> Iterator[tuple[Pool, IndexedSlice]]:
        """Yield the slices that belong to a node that is not initialized."""
        for view in self._index.on_node(node):
            pool = self._index.find(view.key)
            stand_in = node.name if view.key.driver in promised else ""
            for sight in view.sights:
                if pool is not None and not self._counts_beside(sight.piece, stand_in):
                    yield pool, sight.piece

    def spots(self, requirements: Requirements) -> tuple[ReachableDevices, ...]:
        """Return what nodes that do not exist yet could reach."""
        found = (spot for pool in self._index.wide() for spot in self._spots_of(pool))
        return narrowed(found, requirements)

    def is_near(self, device: DeviceID, requirements: Requirements) -> bool:
        """Whether a node that does not exist yet could reach the device under these requirements."""
        placement = self._index.placement(device)
        term = None if placement is None else _term_of(placement)
        return term is not None and requirements.conflict(term) is None

    def lay(self, spots: Iterable[ReachableDevices]) -> tuple[PoolOnNode, ...]:
        """Return the pools with the devices of these spots and no others, by driver and pool name."""
        by_pool: dict[PoolKey, tuple[Pool, dict[str, tuple[IndexedSlice, int]]]] = {}
        for spot in spots:
            _, pieces = by_pool.setdefault(spot.pool.key, (spot.pool, {}))
            _, mask = pieces.get(spot.piece.name, (spot.piece, 0))
            pieces[spot.piece.name] = (spot.piece, mask | spot.devices)
        return tuple(self._lay_pool(*by_pool[key]) for key in sorted(by_pool))

    def _lay_pool(self, pool: Pool, pieces: dict[str, tuple[IndexedSlice, int]]) -> PoolOnNode:
        visible = [pieces[name] for name in sorted(pieces) if pieces[name][1]]
        content = (pool.key, tuple((piece.name, mask) for piece, mask in visible))
        found = self._pools.get(content)
        if found is None:
            sights, offset = [], 0
            for piece, mask in visible:
                sights.append(SliceOnNode(piece=piece, visible=mask, offset=offset))
                offset += len(piece.devices)
            found = self._pools[content] = PoolOnNode(pool.key, SeenTemplatePool(pool), tuple(sights), pool.features)
        return found

    def _counts_beside(self, piece: IndexedSlice, stand_in: str) -> bool:
        """Whether the slice counts where templates stand for what a node of that name publishes."""
        return self.counts(piece) and not (stand_in and piece.content.spec.node_name == stand_in)

    def _counting(self, view: PoolOnNode, stand_in: str) -> PoolOnNode:
        found = self._on_node.get((view, stand_in))
        if found is None:
            pool = self._index.find(view.key)
            if pool is None:
                return view
            pieces = {
                sight.piece.name: (sight.piece, sight.visible)
                for sight in view.sights
                if self._counts_beside(sight.piece, stand_in)
            }
            found = self._on_node[view, stand_in] = self._lay_pool(pool, pieces)
        return found

    def _spots_of(self, pool: Pool) -> Iterator[ReachableDevices]:
        current = pool.current.pieces
        # A slice of an older generation shows where a pool is that is not usable yet.
        for piece in pool.pieces() if pool.problem is not None else current.values():
            if self.counts(piece):
                is_current = current.get(piece.name) is piece
                for placement, mask in _placed(piece).items():
                    term = _term_of(placement)
                    devices = mask if is_current else 0
                    if term is not None and (devices or pool.problem is not None):
                        yield ReachableDevices(pool=pool, piece=piece, devices=devices, term=term)


def narrowed(spots: Iterable[ReachableDevices], requirements: Requirements) -> tuple[ReachableDevices, ...]:
    """Return the spots that nodes with these requirements could reach."""
    verdicts: dict[Term, bool] = {}
    kept = []
    for spot in spots:
        is_near = verdicts.get(spot.term)
        if is_near is None:
            is_near = verdicts[spot.term] = requirements.conflict(spot.term) is None
        if is_near:
            kept.append(spot)
    return tuple(kept)


def _placed(piece: IndexedSlice) -> dict[DevicePlacement, int]:
    placements = piece.placements
    if isinstance(placements, DevicePlacement):
        return {placements: piece.everything}
    found: dict[DevicePlacement, int] = {}
    for number, placement in enumerate(placements):
        found[placement] = found.get(placement, 0) | 1 << number
    return found


def _term_of(placement: DevicePlacement) -> Term | None:
    """Return what new nodes must be like; None where no new node reaches the device."""
    if placement.is_closed or placement.node:
        return None
    return () if placement.term is None else on_new_nodes(placement.term)
