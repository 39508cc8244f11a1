"""Which NodeClaims are on their way, and what can be said of the nodes that they will be."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from dra_scheduling.basics.requirements import Requirement, Requirements
from dra_scheduling.cluster import Cluster
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.inventory import Machine, MachineOffering, MachineTable, PoolTemplate, nominees_of
from dra_scheduling.inventory.machine import machine_of_node
from dra_scheduling.inventory.nodepool_templates import required
from dra_scheduling.inventory.replacements import is_replacement, is_to_go
from dra_scheduling.model.instancetypes import Failure
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import NODE_POOL_LABEL, Node, Pod
from dra_scheduling.nodeclaims.launch_failures import LAUNCH_TIMEOUT
from dra_scheduling.nodeclaims.launch_failures import has_failed as failed_at
from dra_scheduling.nodeclaims.lifecycle_steps import is_own
from dra_scheduling.provisioning.host_spec import HostSpec, Origin
from dra_scheduling.provisioning.planned_node import PlannedNode
from dra_scheduling.state.node_state import NodeState, PodCharge
from dra_scheduling.template_devices import DeviceHostType

INITIALIZED = "Initialized"
LAUNCHED = "Launched"
ENDED = (LAUNCHED, INITIALIZED)


def is_in_flight(cluster: Cluster, claim: NodeClaim) -> bool:
    """Whether the NodeClaim is going to be a node that is not there yet, or not initialized."""
    if claim.metadata.is_deleting or has_failed(claim):
        return False
    state = cluster.node_of(claim)
    if state is None:
        # The node of one that was initialized has gone.
        return not any(one.type == INITIALIZED and one.is_true for one in claim.status.conditions)
    return state.node.is_being_set_up


def keeper_of(cluster: Cluster, pod: Pod) -> NodeClaim | None:
    """Return the NodeClaim that is going to be the pod's node, if there is one."""
    return next((claim for claim in cluster.inventory.nominated_to(pod) if is_in_flight(cluster, claim)), None)


def is_double(cluster: Cluster, claim: NodeClaim) -> bool:
    """Whether every pod that waits for the NodeClaim waits for an older one too, and it has no machine yet.

    So it is where two replicas have planned for the same pods, the later one before it knew of the other's plan.
    """
    if not is_own(claim) or claim.status.provider_id or is_replacement(claim) or not is_in_flight(cluster, claim):
        return False
    named = ((nominee, cluster.pod(nominee.key)) for nominee in nominees_of(claim))
    waiting = [pod for nominee, pod in named if pod and pod.metadata.uid == nominee.uid and cluster.is_pending(pod)]
    return bool(waiting) and all(_has_older(cluster, pod, claim) for pod in waiting)


def in_vain(cluster: Cluster, pod: Pod) -> Iterator[tuple[NodeClaim, Node]]:
    """Yield the NodeClaims that were made for the pod and are nodes that stand empty, with these."""
    for claim, state in cluster.nodes_made_for(pod):
        if state.node.is_being_set_up or state.node.spec.unschedulable or is_to_go(claim):
            continue
        is_as_planned = all(taint in claim.spec.taints for taint in state.node.spec.taints)
        if is_as_planned and all(charge.is_daemon for charge in state.charges.values()):
            yield claim, state.node


def as_promised(cluster: Cluster, claim: NodeClaim) -> PlannedNode | None:
    """Return what a launched NodeClaim would be if it were made again now, None where its pool or type is gone."""
    template = cluster.inventory.template(claim.metadata.labels.get(NODE_POOL_LABEL, ""))
    if template is None:
        return None
    table = cluster.inventory.table(template)
    machine = next(table.members(table.named((claim.metadata.labels.get(INSTANCE_TYPE_LABEL, ""),))), None)
    return None if machine is None else _of_one_type(claim, template, machine, None)


def has_failed(claim: NodeClaim) -> bool:
    """Whether it is known that the NodeClaim never becomes a node that pods can use."""
    is_ended = any(one.type in ENDED and one.status == "False" for one in claim.status.conditions)
    return is_ended or failed_at(claim, Failure.REGISTRATION)


def was_never_launched(claim: NodeClaim) -> bool:
    """Whether no machine was to be had for the NodeClaim."""
    return any(one.type == LAUNCHED and one.status == "False" for one in claim.status.conditions)


def has_no_machine(claim: NodeClaim) -> bool:
    """Whether there is none for sure: it counts towards no limit, as others that failed do."""
    said = claim.condition(LAUNCHED)
    return said is not None and said.status == "False" and said.reason != LAUNCH_TIMEOUT


def in_flight(cluster: Cluster) -> tuple[NodeClaim, ...]:
    """Return the NodeClaims whose nodes are being set up, then those without a node, each kind the oldest first."""
    going = [claim for claim in cluster.inventory.claims.values() if is_in_flight(cluster, claim)]
    going.sort(key=lambda claim: (cluster.node_of(claim) is None, *_age(claim)))
    return tuple(going)


def planned_nodes(cluster: Cluster, flying: Iterable[NodeClaim]) -> Iterator[PlannedNode]:
    """Yield what these NodeClaims will be, without pods."""
    for claim in flying:
        template = cluster.inventory.template(claim.metadata.labels.get(NODE_POOL_LABEL, ""))
        # Devices of a node may be in use before its NodeClaim names it.
        host = None if template is None else _host(cluster, claim, template, cluster.node_of(claim))
        if host is not None:
            yield host


def _has_older(cluster: Cluster, pod: Pod, claim: NodeClaim) -> bool:
    others = (one for one in cluster.inventory.nominated_to(pod) if _age(one) < _age(claim))
    return any(is_in_flight(cluster, one) for one in others)


def _age(claim: NodeClaim) -> tuple[bool, str, str]:
    # What was only decided has no time yet, and comes last.
    return not claim.metadata.creation_timestamp, claim.metadata.creation_timestamp, claim.name


def _host(cluster: Cluster, claim: NodeClaim, template: PoolTemplate, state: NodeState | None) -> PlannedNode | None:
    table = cluster.inventory.table(template)
    labels = claim.metadata.labels if state is None else state.node.metadata.labels
    chosen = labels.get(INSTANCE_TYPE_LABEL)
    if chosen is not None:
        machine = next(table.members(table.named((chosen,))), None)
        return _of_one_type(claim, template, machine, state)
    requirements = _promised(claim)
    types = table.offered(requirements)
    if not types:
        return None
    least = tuple((one.key, one.min_values) for one in claim.spec.requirements if one.min_values is not None)
    spec = HostSpec(
        name=claim.name,
        origin=Origin.PLANNED,
        table=table,
        node_pool=template.name,
        taints=claim.spec.taints,
        min_values=least,
    )
    return PlannedNode(spec, requirements, types, {})


def _of_one_type(
    claim: NodeClaim, template: PoolTemplate, machine: Machine | None, state: NodeState | None
) -> PlannedNode | None:
    if machine is not None:
        # The choice is made: what is offered now does not matter any more.
        devices = replace(machine.devices, offerings=())
        only = replace(machine, offerings=(MachineOffering(),), requirements=(), devices=devices)
    elif state is not None:
        only = machine_of_node(state.node, state.allocatable, DeviceHostType(name=""))
    else:
        return None
    spec = HostSpec(
        name=claim.name,
        origin=Origin.PLANNED if state is None else Origin.SETTING_UP,
        table=MachineTable((only,)),
        node_pool=template.name,
        taints=claim.spec.taints,
        node=None if state is None else state.place,
        is_cordoned=state is not None and state.node.spec.unschedulable,
    )
    if state is None:
        return PlannedNode(spec, _promised(claim), 1, {})
    # Of a known type the pods of DaemonSets are thought of already.
    charges = [one for one in state.charges.values() if machine is None or not one.is_daemon]
    # Until it has registered it may lack labels that its NodeClaim has.
    labels = {**claim.metadata.labels, **state.node.metadata.labels}
    host = PlannedNode(spec, Requirements.of_labels(labels), 1, _sum_of(charges))
    host.ports = tuple(port for one in state.charges.values() for port in one.ports)
    return host


def _promised(claim: NodeClaim) -> Requirements:
    """Return what is known of the labels of the node: those that it has for certain, and what is required."""
    certain = (Requirement(key=key, values=frozenset((value,))) for key, value in claim.metadata.labels.items())
    return Requirements.of_new_node(*certain, *required(claim.spec.requirements))


def _sum_of(charges: Iterable[PodCharge]) -> Mapping[str, int]:
    total: dict[str, int] = {}
    for charge in charges:
        for name, amount in charge.amounts.items():
            total[name] = total.get(name, 0) + amount
    return total
