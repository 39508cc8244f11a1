"""One scheduling cycle: pods in order, each to the best node that takes it, or the reasons why none does."""

from collections.abc import Callable, Iterable

import msgspec

from dra_scheduling.allocation.allocation_results import with_share_ids
from dra_scheduling.allocation.allocator import DEFAULT_BUDGET
from dra_scheduling.allocation.pod_claims import ResolvedClaims
from dra_scheduling.allocation.search_budget import SearchBudget, within
from dra_scheduling.basics.features import NODE_ALLOCATABLE
from dra_scheduling.basics.reasons import ClusterEvent, FoldedReason, Refusal, fold, one_line
from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.pod_refusals import shape_of, usable_claims
from dra_scheduling.cycle.order import in_turn
from dra_scheduling.devices.node_allocatable_resources import ClaimUse, taken_of_node
from dra_scheduling.extended_resources.gpu_accounting import received_gpu
from dra_scheduling.extended_resources.special_claim import over_limit_everywhere
from dra_scheduling.fit.evaluate import ClaimDevices, Evaluator, NodePlacement, find_placement
from dra_scheduling.fit.pod_class import PodClass
from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.bindrequests import (
    BindRequest,
    BindRequestSpec,
    ExtendedResourceClaimAllocation,
    ResourceClaimAllocation,
)
from dra_scheduling.model.claims import AllocationResult
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment, CycleResult, Outcome, OutOfBudget, Unschedulable, Waiting

POD_STEPS = 5 * DEFAULT_BUDGET
"""Search steps for one pod over all nodes; a node that looks like one that was searched costs none."""
NewBudget = Callable[[], SearchBudget]
"""Called when a pod's turn comes."""
SELECTED_NODE_LABEL = "selected-node"
REGULAR = "Regular"
DEFAULT_BACKOFF_LIMIT = 3
# A node's name may be longer than a label's value; the node is in the spec, the label only helps to find the object.
LONGEST_LABEL_VALUE = 63


def by_steps() -> SearchBudget:
    """Return what a pod may spend where the result must not depend on the machine."""
    return SearchBudget(steps=POD_STEPS)


def by_clock(clock: Callable[[], float]) -> NewBudget:
    """Return budgets that end by a clock, too, which returns seconds and never goes back."""
    return lambda: within(clock, steps=POD_STEPS)


def schedule(cluster: Cluster, pods: Iterable[Pod], new_budget: NewBudget = by_steps) -> CycleResult:
    """Return what becomes of these pods of the cluster, each counted there at once so that the next one sees it.

    The pods are taken by priority and age, of one priority those first for which a node was made that is there now,
    and these as they were planned.
    Each has a budget of its own. One that fits nowhere, or whose budget ends, never holds up the others.
    """
    outcomes: list[Outcome] = []
    steps = 0
    for pod in in_turn(cluster, pods):
        outcome, spent = allocate(cluster, pod, new_budget())
        outcomes.append(outcome)
        steps += spent
    return CycleResult(outcomes=tuple(outcomes), search_steps=steps)


def bind_request(assignment: Assignment, backoff_limit: int = DEFAULT_BACKOFF_LIMIT) -> BindRequest:
    """Return the BindRequest that writes a decision down; it carries the pod's name, uid and ownership."""
    pod = assignment.pod
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod.metadata.name, uid=pod.metadata.uid)
    return BindRequest(
        metadata=ObjectMeta(
            name=pod.metadata.name,
            namespace=pod.metadata.namespace,
            labels={SELECTED_NODE_LABEL: assignment.node} if len(assignment.node) <= LONGEST_LABEL_VALUE else {},
            owner_references=(owner,),
        ),
        spec=BindRequestSpec(
            pod_name=pod.metadata.name,
            pod_uid=pod.metadata.uid,
            selected_node=assignment.node,
            received_resource_type=REGULAR,
            received_gpu=received_gpu(pod),
            resource_claim_allocations=assignment.claims,
            extended_resource_claim_allocation=assignment.extended,
            node_allocatable_resource_claim_statuses=assignment.of_node,
            backoff_limit=backoff_limit,
        ),
    )


def allocate(cluster: Cluster, pod: Pod, budget: SearchBudget) -> tuple[Outcome, int]:
    """Return what becomes of one pod, counted in the cluster at once, and the search steps that this took."""
    resolved = usable_claims(cluster, pod)
    if isinstance(resolved, Refusal):
        return _waiting(pod, resolved), 0
    shape = shape_of(cluster, pod, resolved)
    if isinstance(shape, Refusal):
        return _refused(pod, shape, _wake_of_claims(resolved)), 0
    return _place(cluster, pod, resolved, shape, budget)


def _place(
    cluster: Cluster, pod: Pod, resolved: ResolvedClaims, shape: PodClass, budget: SearchBudget
) -> tuple[Outcome, int]:
    devices = ClaimDevices(cluster.pools, cluster.ledger, cluster.classes)
    judge, ranking = Evaluator(shape, cluster.nodes, devices, budget, cluster.changes), shape.ranking
    ranking.refresh(cluster.nodes, cluster.changes, judge.look)
    # What was found in time is not to be lost for the time that it takes to make sure of it.
    judge.take_time()
    # Nodes that were made together are filled as planned: a pod on another one's room would need a node more.
    own = (state.node.name for _, state in cluster.nodes_made_for(pod))
    best = next((node for node in own if ranking.takes(node, cluster.changes, judge.look)), None)
    best = best or ranking.best(cluster.changes, judge.look)
    if best is None:
        is_late = budget.is_late()
        return _nowhere(cluster, pod, shape, _wake_of_claims(resolved), judge.steps, is_late=is_late), judge.steps
    placement = find_placement(shape, cluster.nodes[best], devices)
    if not isinstance(placement, NodePlacement):
        msg = f"node {best} was found to fit {pod.key} and then refused it"
        raise TypeError(msg)
    assignment = _with_node_resources(cluster, _assignment(pod, best, resolved, placement))
    cluster.assume(assignment)
    return assignment, judge.steps


def _assignment(pod: Pod, node: str, resolved: ResolvedClaims, placement: NodePlacement) -> Assignment:
    found = placement.allocated.allocations if placement.allocated is not None else ()
    planned = {
        item.claim.key: with_share_ids(allocation, item.claim.metadata.uid)
        for item, allocation in zip(resolved.unallocated, found, strict=False)
    }
    claims, keys = _claim_allocations(resolved, planned)
    return Assignment(
        pod=pod,
        node=node,
        claims=claims,
        claim_keys=keys,
        extended=_extended(pod, placement, found),
    )


def _with_node_resources(cluster: Cluster, assignment: Assignment) -> Assignment:
    """Return the assignment with what its devices take of the node's own resources."""
    if not cluster.pools.features.has(NODE_ALLOCATABLE):
        return assignment
    uses = [
        ClaimUse(entry.name, key.name, entry.allocation.devices.results)
        for entry, key in zip(assignment.claims, assignment.claim_keys, strict=True)
    ]
    if assignment.extended is not None:
        uses.append(ClaimUse("", "", assignment.extended.allocation.devices.results))
    of_node = taken_of_node(assignment.pod, uses, cluster.pools.device)
    if isinstance(of_node, Refusal):
        msg = f"node {assignment.node} was found to fit {assignment.pod.key}, and then: {of_node.message}"
        raise TypeError(msg)
    return msgspec.structs.replace(assignment, of_node=of_node)


def _claim_allocations(
    resolved: ResolvedClaims, planned: dict[ObjectKey, AllocationResult]
) -> tuple[tuple[ResourceClaimAllocation, ...], tuple[ObjectKey, ...]]:
    """Return an entry for every claim of the pod: the binder adds the pod as a consumer of allocated ones, too."""
    claims: list[ResourceClaimAllocation] = []
    keys: list[ObjectKey] = []
    for item in resolved.claims:
        allocation = item.allocation or planned[item.claim.key]
        claims.append(ResourceClaimAllocation(item.name, allocation, item.claim.metadata.uid))
        keys.append(item.claim.key)
    return tuple(claims), tuple(keys)


def _extended(
    pod: Pod, placement: NodePlacement, found: tuple[AllocationResult, ...]
) -> ExtendedResourceClaimAllocation | None:
    special = placement.need.special
    if special is None:
        return None
    return ExtendedResourceClaimAllocation(
        # The claim is not there yet, so its shares are named after its pod.
        allocation=with_share_ids(found[-1], pod.metadata.uid),
        device_requests=special.requests,
        container_mappings=special.mappings,
    )


def _wake_of_claims(resolved: ResolvedClaims) -> ClusterEvent:
    """Return what else could help a pod with claims: one that another pod gets allocated, or that is made anew."""
    return ClusterEvent.CLAIMS if resolved.claims else ClusterEvent.NOTHING


def _nowhere(cluster: Cluster, pod: Pod, shape: PodClass, more: ClusterEvent, steps: int, *, is_late: bool) -> Outcome:
    summary = shape.ranking.summary()
    wake = summary.wake | more
    if summary.is_unknown:
        # No number that depends on the machine: the pod's condition would be written anew after every attempt.
        ended = "the search ran out of time" if is_late else f"the search ended after {steps} steps"
        message = f"{ended}: {one_line(summary.folded, summary.nodes)}"
        return OutOfBudget(pod=pod, message=message, reasons=summary.folded, wake=wake, steps=steps)
    if shape.extended:
        offers = {state.offered for state in cluster.nodes.values()} | cluster.inventory.offers
        refusal = over_limit_everywhere(pod, offers, cluster.classes)
        if refusal is not None:
            return _refused(pod, refusal, more)
    message = one_line(summary.folded, summary.nodes)
    return Unschedulable(pod=pod, message=message, reasons=summary.folded, wake=wake | ClusterEvent.POD)


def _refused(pod: Pod, refusal: Refusal, more: ClusterEvent) -> Unschedulable:
    reasons = _whole_pod(refusal)
    return Unschedulable(pod=pod, message=one_line(reasons, 0), reasons=reasons, wake=refusal.wake | more)


def _waiting(pod: Pod, refusal: Refusal) -> Waiting:
    reasons = _whole_pod(refusal)
    return Waiting(pod=pod, message=one_line(reasons, 0), reasons=reasons, wake=refusal.wake)


def _whole_pod(refusal: Refusal) -> tuple[FoldedReason, ...]:
    return tuple(msgspec.structs.replace(item, nodes=0) for item in fold([refusal]))
