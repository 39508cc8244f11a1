"""Pools of devices from ResourceSlices, kept up to date slice by slice and found by node without walking all slices.

A pool is a driver and a name. Only slices of its highest generation in the whole cluster count, and whether they are
all there is judged for the whole cluster too, before anything is filtered by node.
"""

from collections.abc import Hashable
from typing import TypeVar

from dra_scheduling.model.ids import DeviceID, PoolKey
from dra_scheduling.model.slices import Device, ResourceSlice
from dra_scheduling.pools.nodepools import NodePool, Problem, Sight
from dra_scheduling.pools.pieces import EVERY_NODE, NO_NODE, NodePlace, Piece, Placements, Reach, reached_from

__all__ = ["EVERY_NODE", "NO_NODE", "NodePlace", "NodePool", "PoolIndex", "Problem", "Reach"]

INCOMPLETE = "PoolIncomplete"
INVALID = "PoolInvalid"
K = TypeVar("K", bound=Hashable)


class Generation:
    """The slices of one pool that carry one generation number, with what tells whether they are all there."""

    __slots__ = ("anchored", "clashing", "counts", "homes", "number", "pieces", "views", "wide")

    def __init__(self, number: int) -> None:
        self.number = number
        self.pieces: dict[str, Piece] = {}
        self.counts: dict[int, int] = {}
        self.homes: dict[str, tuple[Piece, ...]] = {}
        self.clashing: set[str] = set()
        self.anchored: dict[str, dict[str, Piece]] = {}
        self.wide: dict[Placements, dict[str, Piece]] = {}
        self.views: dict[tuple[tuple[str, int], ...], NodePool] = {}

    def add(self, piece: Piece) -> None:
        """Take in a slice that is not there yet."""
        self.views.clear()
        self.pieces[piece.name] = piece
        declared = piece.content.spec.pool.resource_slice_count
        self.counts[declared] = self.counts.get(declared, 0) + 1
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

    def remove(self, piece: Piece) -> None:
        """Let a slice go that is there."""
        self.views.clear()
        del self.pieces[piece.name]
        declared = piece.content.spec.pool.resource_slice_count
        self.counts[declared] -= 1
        if not self.counts[declared]:
            del self.counts[declared]
        for name in {device.name for device in piece.devices}:
            self._leave_home(name, piece)
        if piece.reach.is_everywhere:
            _take_out(self.wide, piece.placements, piece)
        for node in piece.reach.nodes:
            _take_out(self.anchored, node, piece)

    def problem(self) -> Problem | None:
        """Return why the devices must not be handed out, or None."""
        if len(self.counts) > 1:
            counts = ", ".join(map(str, sorted(self.counts)))
            return Problem(INVALID, f"its slices disagree on resourceSliceCount ({counts})")
        if self.clashing:
            return Problem(INVALID, f"it has two devices called {min(self.clashing)}")
        expected = next(iter(self.counts))
        if len(self.pieces) != expected:
            seen = f"{len(self.pieces)} of {expected} slices of generation {self.number} seen"
            return Problem(INCOMPLETE, f"it is being updated, {seen}")
        return None

    def view(self, pool: "Pool", place: NodePlace) -> NodePool:
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
            found = self.views[content] = NodePool(pool.key, pool, _line_up(seen))
        return found

    def _leave_home(self, name: str, piece: Piece) -> None:
        others = tuple(home for home in self.homes[name] if home is not piece)
        if others:
            self.homes[name] = others
        else:
            del self.homes[name]
        if len(others) <= 1:
            self.clashing.discard(name)


class Pool:
    """All slices of one driver's pool, obsolete ones included: a slice may be replaced before its successor is seen."""

    __slots__ = ("_generations", "current", "key", "nodes", "problem", "wide")

    def __init__(self, key: PoolKey) -> None:
        self.key = key
        self.current = Generation(-1)
        self.problem: Problem | None = None
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

    def add(self, piece: Piece) -> None:
        """Take in a slice that is not there yet."""
        number = piece.content.spec.pool.generation
        self._generations.setdefault(number, Generation(number)).add(piece)
        self.wide += piece.reach.is_everywhere
        for node in piece.reach.nodes:
            self.nodes[node] = self.nodes.get(node, 0) + 1
        self._look_again()

    def remove(self, piece: Piece) -> None:
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


class PoolIndex:
    """Every pool of the cluster. It changes only through `apply` and `remove`, one slice at a time."""

    def __init__(self) -> None:
        self._pieces: dict[str, Piece] = {}
        self._pools: dict[PoolKey, Pool] = {}
        self._anchored: dict[str, set[PoolKey]] = {}
        self._wide: set[PoolKey] = set()
        self._on_node: dict[str, tuple[NodePool, ...]] = {}

    def apply(self, piece: ResourceSlice) -> Reach:
        """Add a slice, or replace the one of its name; return the nodes that this may concern."""
        known = self._pieces.get(piece.metadata.name)
        if known is not None and known.content.spec == piece.spec:
            return NO_NODE
        return self._exchange(known, Piece(piece))

    def remove(self, slice_name: str) -> Reach:
        """Let a slice go; return the nodes that this may concern."""
        known = self._pieces.get(slice_name)
        return NO_NODE if known is None else self._exchange(known, None)

    def on_node(self, node: NodePlace) -> tuple[NodePool, ...]:
        """Return the pools that the node reaches, by driver and pool name.

        A pool that is not complete or not valid is there too, and says so, even if no slice of its present generation
        is within reach yet. The answer is kept under the node's name: `forget_node` when its labels change.
        """
        found = self._on_node.get(node.name)
        if found is None:
            keys = sorted(self._wide | self._anchored.get(node.name, set()))
            views = (pool.current.view(pool, node) for pool in (self._pools[key] for key in keys))
            found = tuple(view for view in views if view.everything or view.pool.problem is not None)
            self._on_node[node.name] = found
        return found

    def forget_node(self, name: str) -> None:
        """Drop what is kept for a node that went or whose labels changed."""
        self._on_node.pop(name, None)

    def reach_of(self, key: PoolKey) -> Reach:
        """Return the nodes that may reach devices of the pool."""
        pool = self._pools.get(key)
        return NO_NODE if pool is None else pool.reach

    def problem(self, key: PoolKey) -> Problem | None:
        """Return why a pool's devices must not be handed out, or None where they may or where there is no such pool."""
        pool = self._pools.get(key)
        return None if pool is None else pool.problem

    def problems(self) -> tuple[tuple[PoolKey, Problem], ...]:
        """Return the pools whose devices must not be handed out, in order, with the reasons."""
        return tuple((key, pool.problem) for key, pool in sorted(self._pools.items()) if pool.problem is not None)

    def device(self, device: DeviceID) -> Device | None:
        """Return the device as its pool's present generation publishes it, or None where it does not."""
        home = self._home(device)
        return None if home is None else home.devices[_number(home, device.device)]

    def is_reachable(self, device: DeviceID, node: NodePlace) -> bool:
        """Whether the device is published and the node reaches it."""
        home = self._home(device)
        return home is not None and bool(home.visible_on(node) >> _number(home, device.device) & 1)

    def _home(self, device: DeviceID) -> Piece | None:
        pool = self._pools.get(device.pool_key)
        homes = pool.current.homes.get(device.device) if pool is not None else None
        return homes[0] if homes else None

    def _exchange(self, old: Piece | None, new: Piece | None) -> Reach:
        exchanged = [piece for piece in (old, new) if piece is not None]
        keys = {piece.key for piece in exchanged}
        before = {key: self._pools[key].standing for key in keys if key in self._pools}
        touched = NO_NODE
        for piece in exchanged:
            touched |= piece.reach
        if old is not None:
            del self._pieces[old.name]
            self._pools[old.key].remove(old)
        if new is not None:
            self._pieces[new.name] = new
            self._pools.setdefault(new.key, Pool(new.key)).add(new)
        for key in keys:
            if self._pools[key].standing != before.get(key):
                touched |= self._pools[key].reach
        for piece in exchanged:
            self._register(piece)
        self._forget(touched)
        return touched

    def _register(self, piece: Piece) -> None:
        """Make the indexes by node say what is now true of the pool of a slice that came or went."""
        pool = self._pools.get(piece.key)
        if pool is None:
            return
        for node in piece.reach.nodes:
            if node in pool.nodes:
                self._anchored.setdefault(node, set()).add(pool.key)
            elif node in self._anchored:
                self._anchored[node].discard(pool.key)
                if not self._anchored[node]:
                    del self._anchored[node]
        if pool.wide:
            self._wide.add(pool.key)
        else:
            self._wide.discard(pool.key)
        if pool.is_gone:
            del self._pools[pool.key]

    def _forget(self, touched: Reach) -> None:
        if touched.is_everywhere:
            self._on_node.clear()
        for node in touched.nodes:
            self._on_node.pop(node, None)


def _take_out(groups: dict[K, dict[str, Piece]], key: K, piece: Piece) -> None:
    """Remove a slice from its group, and the group with the last one."""
    del groups[key][piece.name]
    if not groups[key]:
        del groups[key]


def _line_up(seen: list[tuple[Piece, int]]) -> tuple[Sight, ...]:
    sights, offset = [], 0
    for piece, mask in seen:
        sights.append(Sight(piece=piece, visible=mask, offset=offset))
        offset += len(piece.devices)
    return tuple(sights)


def _number(home: Piece, name: str) -> int:
    return next(number for number, device in enumerate(home.devices) if device.name == name)
