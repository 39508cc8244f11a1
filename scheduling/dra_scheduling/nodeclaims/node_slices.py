"""The ResourceSlices that are local to a node, by node: kept by events, so that nobody ever lists them.

Local is what names the node in `spec.nodeName` or belongs to it by an owner reference of kind Node. A slice that other
nodes reach, too, says nothing about the node.
"""

from collections.abc import Iterable

from dra_scheduling.model.slices import ResourceSlice

NODE = "Node"


class NodeSlices:
    """Slices by node, driver, and pool. Every change costs the same whatever else there is."""

    __slots__ = ("_by_node", "_node_of")

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, dict[str, dict[str, ResourceSlice]]]] = {}
        self._node_of: dict[str, tuple[str, ResourceSlice]] = {}

    def apply(self, piece: ResourceSlice) -> frozenset[str]:
        """Add a slice or take over its new state; return the nodes whose slices changed."""
        left = self.remove(piece.metadata.name)
        node = node_of(piece)
        if not node:
            return left
        pools = self._by_node.setdefault(node, {}).setdefault(piece.spec.driver, {})
        pools.setdefault(piece.spec.pool.name, {})[piece.metadata.name] = piece
        self._node_of[piece.metadata.name] = (node, piece)
        return left | {node}

    def remove(self, name: str) -> frozenset[str]:
        """Forget a slice; return the nodes whose slices changed."""
        known = self._node_of.pop(name, None)
        if known is None:
            return frozenset()
        node, piece = known
        drivers = self._by_node[node]
        pools = drivers[piece.spec.driver]
        del pools[piece.spec.pool.name][name]
        if not pools[piece.spec.pool.name]:
            del pools[piece.spec.pool.name]
        if not pools:
            del drivers[piece.spec.driver]
        if not drivers:
            del self._by_node[node]
        return frozenset((node,))

    def pools(self, node: str, driver: str) -> Iterable[tuple[ResourceSlice, ...]]:
        """Return the pools of one driver on a node, each as the slices that are there, by pool name."""
        pools = self._by_node.get(node, {}).get(driver, {})
        return [tuple(pools[name][key] for key in sorted(pools[name])) for name in sorted(pools)]

    def drivers(self, node: str) -> tuple[str, ...]:
        """Return the drivers that publish anything local to the node."""
        return tuple(sorted(self._by_node.get(node, {})))


def node_of(piece: ResourceSlice) -> str:
    """Return the node that the slice is local to, empty if it is of none."""
    if piece.spec.node_name:
        return piece.spec.node_name
    return next((owner.name for owner in piece.metadata.owner_references if owner.kind == NODE), "")
