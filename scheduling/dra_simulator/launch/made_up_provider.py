"""Plays providers, kubelets and DRA drivers: what there is in the API once a NodeClaim's machine is up."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from dra_scheduling.basics.requirements import FORMER_NAMES
from dra_scheduling.cluster import Cluster
from dra_scheduling.fit.rules import static_refusal
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL, Expanded, expand
from dra_scheduling.inventory.daemonset_overhead import takes_devices
from dra_scheduling.inventory.machine import in_base_units
from dra_scheduling.inventory.reservations import machines_in_use
from dra_scheduling.model.base import OwnerReference
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.conditions import Condition, with_condition
from dra_scheduling.model.daemonsets import DaemonSet
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import (
    INITIALIZED_LABEL,
    REGISTERED_LABEL,
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    Pod,
)
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.nodeclaims import NodeSlices, shut_by
from dra_scheduling.nodeclaims.launching import chosen
from dra_scheduling.nodeclaims.lifecycle_steps import INITIALIZED, LAUNCHED, READY, REGISTERED
from dra_simulator.admission import HOSTNAME
from dra_simulator.identity import uid_of, with_uid
from dra_simulator.replicas import DAEMON_TOLERATIONS, pinned
from dra_simulator.templates import ClaimMaker

PROVIDER = "simulated://"
PHASES = (LAUNCHED, REGISTERED, INITIALIZED, READY)

Arrival = NodeClaim | Node | ResourceSlice | ResourceClaim | Pod


class Catalogue:
    """The usable InstanceTypes of a cluster, each made ready once."""

    __slots__ = ("_by_class", "_cluster", "_expanded")

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._expanded: tuple[tuple[str, Expanded], ...] | None = None
        self._by_class: dict[str, tuple[Expanded, ...]] = {}

    def of_class(self, node_class: str) -> tuple[Expanded, ...]:
        """Return the types of a node class; of several with one name the first object's."""
        found = self._by_class.get(node_class)
        if found is None:
            types = self._cluster.inventory.instance_types
            own = (one for name, one in self._all() if types[name].belongs_to(node_class))
            found = tuple({one.name: one for one in reversed([*own])}.values())
            self._by_class[node_class] = found
        return found

    def called(self, name: str, node_class: str) -> Expanded | None:
        """Return the type whose nodes have this name as their instance type."""
        return next((one for one in self.of_class(node_class) if one.name == name), None)

    def _all(self) -> tuple[tuple[str, Expanded], ...]:
        if self._expanded is None:
            types = sorted(self._cluster.inventory.instance_types.items())
            made = ((name, expand(value, self._cluster.features)) for name, value in types)
            self._expanded = tuple((name, one) for name, one in made if isinstance(one, Expanded))
        return self._expanded


class Provider:
    """Brings NodeClaims up at a moment `now` (RFC 3339); nothing of it is applied to the cluster here.

    `slices` are those that were published before.
    """

    __slots__ = ("_catalogue", "_cluster", "_now", "_slices")

    def __init__(self, cluster: Cluster, catalogue: Catalogue, slices: Iterable[ResourceSlice], now: str) -> None:
        self._cluster = cluster
        self._catalogue = catalogue
        self._now = now
        self._slices = NodeSlices()
        for piece in slices:
            self._slices.apply(piece)

    def arrivals(self, claim: NodeClaim) -> tuple[Arrival, ...]:
        """Return what there is once the NodeClaim is an initialized node; nothing where no machine can be had."""
        claim = with_uid(claim)
        there = self._there(claim)
        launched = self._launched(claim, there)
        if launched is None:
            return ()
        claim, expanded = launched
        node = _opened(claim, there) if there is not None else _node(claim)
        return (
            self._up(claim, node.name),
            node,
            *self._published(expanded, node),
            *(self._daemons(node) if there is None else ()),
        )

    def _there(self, claim: NodeClaim) -> Node | None:
        state = self._cluster.node_of(claim)
        return None if state is None else state.node

    def _launched(self, claim: NodeClaim, node: Node | None) -> tuple[NodeClaim, Expanded | None] | None:
        labels = claim.metadata.labels if node is None else {**claim.metadata.labels, **node.metadata.labels}
        named = labels.get(INSTANCE_TYPE_LABEL)
        node_class = claim.spec.node_class_ref.name
        if named is not None:
            expanded = self._catalogue.called(named, node_class)
            if expanded is None:
                return None if node is None else (claim, None)
            return _with_room(claim, expanded), expanded
        nodes = (state.node for state in self._cluster.nodes.values())
        in_use = machines_in_use(self._cluster.inventory.claims.values(), nodes)
        instance = chosen(claim, self._catalogue.of_class(node_class), in_use)
        if instance is None:
            return None
        metadata = replace(claim.metadata, labels={**instance.labels, **claim.metadata.labels})
        return _with_room(replace(claim, metadata=metadata), instance.expanded), instance.expanded

    def _up(self, claim: NodeClaim, node: str) -> NodeClaim:
        conditions = claim.status.conditions
        for kind in PHASES:
            new = Condition(type=kind, status="True", reason=kind, last_transition_time=self._now)
            conditions = with_condition(conditions, new)
        created = claim.metadata.creation_timestamp or self._now
        return replace(
            claim,
            metadata=replace(claim.metadata, creation_timestamp=created),
            status=replace(claim.status, node_name=node, provider_id=_provider_id(claim), conditions=conditions),
        )

    def _daemons(self, node: Node) -> Iterator[Pod | ResourceClaim]:
        """Yield the pods that DaemonSets have on a new node, with their claims.

        On a node that was there before they are in the input. Those that ask for devices have yet to be given some.
        """
        inventory = self._cluster.inventory
        allocatable = in_base_units(node.status.allocatable.items())
        for daemon in inventory.daemon_sets.values():
            pattern = inventory.expected_pod(daemon.key)
            spec = replace(pattern.spec, tolerations=(*pattern.spec.tolerations, *DAEMON_TOLERATIONS))
            pod = replace(pattern, spec=spec)
            if static_refusal(pod, node) is not None:
                continue
            if takes_devices(daemon, allocatable):
                maker = ClaimMaker({}, inventory.claim_templates)
                waiting = maker.serve(with_uid(_daemon_pod(daemon, replace(pod, spec=pinned(spec, node.name)), node)))
                yield from maker.claims.values()
                yield waiting
            else:
                bound = replace(pod, spec=replace(spec, node_name=node.name))
                yield with_uid(_daemon_pod(daemon, bound, node))

    def _published(self, expanded: Expanded | None, node: Node) -> Iterator[ResourceSlice]:
        """Yield the slices of the drivers that have not published a complete pool of the node so far."""
        if expanded is None:
            return
        known = self._slices
        late = {driver for driver in expanded.drivers if shut_by((driver,), node.name, known) is not None}
        seen = [one for driver in late for pool in known.pools(node.name, driver) for one in pool]
        generation = 1 + max((one.spec.pool.generation for one in seen), default=0)
        for piece in expanded.slices_for_node(node.name, node_uid=node.metadata.uid, generation=generation):
            if piece.spec.driver in late:
                yield with_uid(piece)


def _with_room(claim: NodeClaim, expanded: Expanded) -> NodeClaim:
    """Return the NodeClaim with what its machine has, where its provider has not said so already."""
    if claim.status.allocatable:
        return claim
    capacity, offered = dict(expanded.capacity), dict(expanded.offered)
    return replace(claim, status=replace(claim.status, capacity=capacity, allocatable=offered))


def _provider_id(claim: NodeClaim) -> str:
    return claim.status.provider_id or f"{PROVIDER}{claim.name}"


def _node(claim: NodeClaim) -> Node:
    labels = claim.metadata.labels
    # Kubelets and cloud providers still write the former names, too.
    former = {name: labels[present] for name, present in FORMER_NAMES.items() if present in labels}
    node = Node(
        metadata=replace(
            claim.metadata,
            uid="",
            labels={
                **former,
                **labels,
                HOSTNAME: claim.name,
                REGISTERED_LABEL: "true",
                INITIALIZED_LABEL: "true",
            },
            annotations={},
            owner_references=(),
            finalizers=(),
        ),
        spec=NodeSpec(taints=claim.spec.taints, provider_id=_provider_id(claim)),
        status=NodeStatus(
            allocatable=claim.status.allocatable,
            capacity=claim.status.capacity,
            conditions=(NodeCondition(type="Ready", status="True"),),
        ),
    )
    return with_uid(node)


def _opened(claim: NodeClaim, node: Node) -> Node:
    """Return a node that is there as it is once it is initialized: what its NodeClaim does not say has gone."""
    labels = {**node.metadata.labels, REGISTERED_LABEL: "true", INITIALIZED_LABEL: "true"}
    kept = {(one.key, one.effect) for one in claim.spec.taints}
    taints = tuple(one for one in node.spec.taints if (one.key, one.effect) in kept)
    return replace(node, metadata=replace(node.metadata, labels=labels), spec=replace(node.spec, taints=taints))


def _daemon_pod(daemon: DaemonSet, pod: Pod, node: Node) -> Pod:
    meta = daemon.metadata
    owner = OwnerReference(
        api_version="apps/v1",
        kind="DaemonSet",
        name=meta.name,
        uid=meta.uid or uid_of("DaemonSet", meta.namespace, meta.name),
        controller=True,
    )
    metadata = replace(pod.metadata, name=f"{meta.name}-{node.name}", uid="", owner_references=(owner,))
    return replace(pod, metadata=metadata)
