"""Where things are: which nodes a NodeClaim has, which pods are on them, and what concerns whom. Kept by events."""

from collections.abc import Iterable

from dra_operator.watch.cache import Cache
from dra_operator.watch.inverted_index import InvertedIndex
from dra_scheduling.basics.features import Features
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL, Expanded, expand
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import NODE_POOL_LABEL, Node, Pod
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.nodeclaims import NodeSlices
from dra_scheduling.wire import KubernetesObject


class ClaimIndex:
    """Indexes over the cache. What `changed` and `removed` return are the NodeClaims that the event concerns."""

    __slots__ = ("_cache", "_claims_by_pool", "_claims_by_provider", "_claims_by_type", "_features", "_nodes",
                 "_pods", "_pools", "_types", "slices")  # fmt: skip

    def __init__(self, cache: Cache, features: Features) -> None:
        self._cache = cache
        self._features = features
        self._nodes: InvertedIndex[str] = InvertedIndex()
        self._pods: InvertedIndex[str] = InvertedIndex()
        self._pools: dict[str, NodePool] = {}
        self._claims_by_provider: InvertedIndex[str] = InvertedIndex()
        self._claims_by_type: InvertedIndex[str] = InvertedIndex()
        self._claims_by_pool: InvertedIndex[str] = InvertedIndex()
        self._types: InvertedIndex[str] = InvertedIndex()
        self.slices = NodeSlices()

    def changed(self, value: KubernetesObject) -> Iterable[str]:
        """Take note of an object that is in the cache."""
        match value:
            case NodeClaim():
                return self._claim_changed(value)
            case Node():
                return self._node_changed(value.name, value.spec.provider_id)
            case ResourceSlice():
                return self._on_nodes(self.slices.apply(value))
            case Pod():
                return self._pod_changed(value.key, value.spec.node_name)
            case InstanceType() | NodePool():
                return self._supply_changed(value)
            case _:
                return ()

    def removed(self, value: KubernetesObject) -> Iterable[str]:
        """Take note of an object that has left the cache."""
        match value:
            case NodeClaim():
                for index in (self._claims_by_provider, self._claims_by_type, self._claims_by_pool):
                    index.set(_key(value.name), ())
                return ()
            case Node():
                return self._node_changed(value.name, "")
            case ResourceSlice():
                return self._on_nodes(self.slices.remove(value.metadata.name))
            case Pod():
                return self._pod_changed(value.key, "")
            case InstanceType() | NodePool():
                return self._supply_removed(value)
            case _:
                return ()

    def nodes_of(self, claim: NodeClaim) -> tuple[Node, ...]:
        """Return the nodes with the NodeClaim's provider id.

        Of several NodeClaims with that id a node belongs to the one that registered it first: each of two would undo
        what the other one does to it, and the end of either would be that of its pods.
        """
        if not claim.status.provider_id:
            return ()
        found = (self._cache.get(Node, key) for key in self._nodes.keys_with(claim.status.provider_id))
        return tuple(node for node in found if node is not None and self._owner_of(node) in {"", claim.metadata.uid})

    def pods_on(self, nodes: Iterable[Node]) -> tuple[Pod, ...]:
        """Return the pods that are bound to the nodes."""
        found = (self._cache.get(Pod, key) for node in nodes for key in self._pods.keys_with(node.name))
        return tuple(pod for pod in found if pod is not None)

    def type_of(self, claim: NodeClaim) -> tuple[InstanceType | None, Expanded | None]:
        """Return the type that was launched, as it is written and as it is understood; None for what is not known."""
        name = claim.metadata.labels.get(INSTANCE_TYPE_LABEL, "")
        found = (self._cache.get(InstanceType, key) for key in self._types.keys_with(name))
        node_class = claim.spec.node_class_ref.name
        chosen = next((one for one in found if one is not None and one.belongs_to(node_class)), None)
        if chosen is None:
            return None, None
        result = expand(chosen, self._features)
        return chosen, result if isinstance(result, Expanded) else None

    def pool_of(self, claim: NodeClaim) -> NodePool | None:
        """Return the pool of a NodeClaim, None where there is none."""
        return self._pools.get(claim.metadata.labels.get(NODE_POOL_LABEL, ""))

    def is_type(self, name: str) -> bool:
        """Whether the nodes of any type are called so."""
        return self._types.has(name)

    def claims_on(self, node: str) -> tuple[NodeClaim, ...]:
        """Return the NodeClaims of a node."""
        found = (self._cache.get(NodeClaim, _key(name)) for name in self._on_nodes((node,)))
        return tuple(claim for claim in found if claim is not None)

    def namesakes(self, value: InstanceType) -> tuple[InstanceType, ...]:
        """Return the other types whose nodes have the same label."""
        found = (self._cache.get(InstanceType, key) for key in self._types.keys_with(value.instance_type))
        return tuple(one for one in found if one is not None and one.name != value.name)

    def claims_of(self, pool: NodePool) -> tuple[NodeClaim, ...]:
        """Return the NodeClaims of a pool."""
        found = (self._cache.get(NodeClaim, key) for key in self._claims_by_pool.keys_with(pool.name))
        return tuple(claim for claim in found if claim is not None)

    def _claim_changed(self, claim: NodeClaim) -> tuple[str, ...]:
        key, labels, provider = _key(claim.name), claim.metadata.labels, claim.status.provider_id
        self._claims_by_provider.set(key, (provider,) if provider else ())
        self._claims_by_type.set(key, (labels[INSTANCE_TYPE_LABEL],) if INSTANCE_TYPE_LABEL in labels else ())
        self._claims_by_pool.set(key, (labels[NODE_POOL_LABEL],) if NODE_POOL_LABEL in labels else ())
        return (claim.name,)

    def _supply_changed(self, value: InstanceType | NodePool) -> list[str]:
        if isinstance(value, InstanceType):
            self._types.set(_key(value.name), (value.instance_type,))
            return _names(self._claims_by_type.keys_with(value.instance_type))
        before = self._pools.get(value.name)
        self._pools[value.name] = value
        # Its status follows from its NodeClaims, and changes with each of them.
        if before is not None and _demands(before) == _demands(value):
            return []
        return _names(self._claims_by_pool.keys_with(value.name))

    def _supply_removed(self, value: InstanceType | NodePool) -> list[str]:
        if isinstance(value, InstanceType):
            self._types.set(_key(value.name), ())
            return _names(self._claims_by_type.keys_with(value.instance_type))
        self._pools.pop(value.name, None)
        return []

    def _node_changed(self, name: str, provider: str) -> list[str]:
        before = self._nodes.terms(_key(name))
        self._nodes.set(_key(name), (provider,) if provider else ())
        return [claim for one in before | self._nodes.terms(_key(name)) for claim in self._of_provider(one)]

    def _pod_changed(self, key: ObjectKey, node: str) -> list[str]:
        before = self._pods.terms(key)
        self._pods.set(key, (node,) if node else ())
        return self._on_nodes(before | self._pods.terms(key), deleting_only=True)

    def _on_nodes(self, nodes: Iterable[str], *, deleting_only: bool = False) -> list[str]:
        found = [name for node in nodes for one in self._nodes.terms(_key(node)) for name in self._of_provider(one)]
        if not deleting_only:
            return found
        claims = [(name, self._cache.get(NodeClaim, _key(name))) for name in found]
        return [name for name, claim in claims if claim is not None and claim.metadata.is_deleting]

    def _owner_of(self, node: Node) -> str:
        """Return the uid of the NodeClaim that the node belongs to, empty while there is none."""
        found = (self._cache.get(NodeClaim, _key(name)) for name in self._of_provider(node.spec.provider_id))
        uids = {claim.metadata.uid for claim in found if claim is not None}
        return next((owner.uid for owner in node.metadata.owner_references if owner.uid in uids), "")

    def _of_provider(self, provider: str) -> list[str]:
        return _names(self._claims_by_provider.keys_with(provider))


def _demands(pool: NodePool) -> tuple[object, ...]:
    return pool.spec, pool.metadata.annotations


def _key(name: str) -> ObjectKey:
    return ObjectKey("", name)


def _names(keys: Iterable[ObjectKey]) -> list[str]:
    return [key.name for key in keys]
