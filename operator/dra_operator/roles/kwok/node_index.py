"""What is where: the pods and the made-up slices of each node. Kept by events."""

from dra_operator.roles.kwok.objects import is_made_up
from dra_operator.roles.kwok.pools import is_made_up as is_published_here
from dra_operator.watch.cache import Cache
from dra_operator.watch.inverted_index import InvertedIndex
from dra_scheduling.inventory.reservations import InUse, machines_in_use
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.nodeclaims.lifecycle_steps import is_own


class NodeIndex:
    """Indexes over the cache."""

    __slots__ = ("_cache", "_pods", "_slices")

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._pods: InvertedIndex[str] = InvertedIndex()
        self._slices: InvertedIndex[str] = InvertedIndex()

    def apply(self, value: Pod | ResourceSlice) -> None:
        """Take note of where a pod or a slice is."""
        if isinstance(value, Pod):
            self._pods.set(value.key, (value.spec.node_name,) if value.spec.node_name else ())
        elif is_published_here(value):
            self._slices.set(ObjectKey("", value.metadata.name), (value.spec.node_name,))

    def remove(self, value: Pod | ResourceSlice) -> None:
        """Take note that it is gone."""
        index = self._pods if isinstance(value, Pod) else self._slices
        index.set(ObjectKey(value.metadata.namespace, value.metadata.name), ())

    def claim(self, name: str) -> NodeClaim | None:
        """Return the NodeClaim, if nodes for it are made up here."""
        found = self._cache.get(NodeClaim, ObjectKey("", name))
        return found if found is not None and is_own(found) else None

    def node(self, name: str) -> Node | None:
        """Return the node, if it is made up: its machine is that of a NodeClaim of its name."""
        found = self._cache.get(Node, ObjectKey("", name))
        return found if found is not None and is_made_up(found) and self.claim(name) is not None else None

    def has_node(self, name: str) -> bool:
        """Whether there is a node of that name, made up or not."""
        return self._cache.get(Node, ObjectKey("", name)) is not None

    def machines_in_use(self) -> InUse:
        """Return how many machines there are of each offering."""
        return machines_in_use(self._cache.of_kind(NodeClaim), self._cache.of_kind(Node))

    def pod(self, key: ObjectKey) -> Pod | None:
        """Return a pod."""
        return self._cache.get(Pod, key)

    def pods(self, node: str) -> tuple[Pod, ...]:
        """Return the pods that are bound to a node."""
        found = (self._cache.get(Pod, key) for key in self._pods.keys_with(node))
        return tuple(pod for pod in found if pod is not None)

    def slices(self, node: str, driver: str = "") -> tuple[ResourceSlice, ...]:
        """Return what a driver has published on a node, or (empty) every driver."""
        found = (self._cache.get(ResourceSlice, key) for key in self._slices.keys_with(node))
        return tuple(one for one in found if one is not None and driver in {"", one.spec.driver})
