"""Where pods go that no node takes: to a node about to have room, one being set up, a planned NodeClaim, or a new one.

The order of hosts is fixed; within one kind the first that takes the pod wins, so that nodes are filled before new ones
are made. Pods of one shape are planned together: a host that refused one of them is not asked again, since a plan only
ever adds to it.
"""

from collections.abc import Generator, Hashable, Iterable, Iterator, Mapping
from typing import cast

import msgspec

from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.basics.resources import CPU, PODS
from dra_scheduling.cluster import Cluster
from dra_scheduling.fit.preferences import AVOIDING_EFFECT
from dra_scheduling.inventory import PoolTemplate
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning.evaluate_host import evaluate_host, known_refusal, unsuited
from dra_scheduling.provisioning.foreign_taints import awaits_tainted_node
from dra_scheduling.provisioning.host_spec import HostSpec, Origin
from dra_scheduling.provisioning.hosts import Hosts
from dra_scheduling.provisioning.in_flight_nodeclaims import keeper_of
from dra_scheduling.provisioning.loop_guard import made_in_vain
from dra_scheduling.provisioning.merge_refusals import NODE_POOL, NOT_FOR_THE_POD, RefusalSource, TriedHosts
from dra_scheduling.provisioning.nodeclaim_builder import claim_name, extended, written
from dra_scheduling.provisioning.nodepool_limits import Limits
from dra_scheduling.provisioning.offering_backoff import REASONS, Rests
from dra_scheduling.provisioning.pending_changes import PendingChanges
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.provisioning.pending_pod_checks import ask
from dra_scheduling.provisioning.plan_context import PlanContext
from dra_scheduling.provisioning.planned_node import HostPlacement, PlannedNode
from dra_scheduling.provisioning.pod_requirements import Variant
from dra_scheduling.provisioning.provisioning_result import Nomination, ProvisioningResult, unplaced
from dra_scheduling.provisioning.reserved_capacity import LeftOffers, ReservedCapacity
from dra_scheduling.provisioning.unusable_nodepools import pools_without_nodes, unusable_pools
from dra_scheduling.state.assignments import OutOfBudget, Unschedulable

NO_NODE_POOL = Refusal(
    reason="NoNodePool", message="there is no NodePool that could make one", wake=ClusterEvent.SUPPLY
)
NO_INSTANCE_TYPE = Refusal(
    reason="NoInstanceType", message="it has no instance types", wake=ClusterEvent.SUPPLY | ClusterEvent.NODE
)
LIMIT_REACHED = Refusal(
    reason="LimitReached", message="its limits are reached", wake=ClusterEvent.SUPPLY | ClusterEvent.NODE
)
WRITTEN = Refusal(
    reason="NodeClaimIsWritten",
    message="it may still become a node that cannot take the pod",
    wake=ClusterEvent.SUPPLY | ClusterEvent.NODE,
)


class PlanOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`now` is RFC 3339 text in UTC, held against the retry times of instance types. `budget` is for each pod.

    Pods that should have been gone before `overdue`, such text, too, are not counted on to make room. A node made for a
    pod is waited for while it has a taint that nobody planned with, `gate_seconds` at most.
    """

    now: str = ""
    overdue: str = ""
    gate_seconds: float = 900.0
    budget: SearchBudget = SearchBudget()


DEFAULT_OPTIONS = PlanOptions()


def plan(cluster: Cluster, pods: Iterable[Pod], options: PlanOptions = DEFAULT_OPTIONS) -> ProvisioningResult:
    """Return what would have to be made for pods that no node takes now; nothing of it is counted anywhere.

    Pods that a NodeClaim was made for already keep it for as long as it can serve them.
    """
    with cluster.statement():
        return Planner(cluster, options).run(pods)


def plan_in_steps(
    cluster: Cluster, pods: Iterable[Pod], options: PlanOptions = DEFAULT_OPTIONS
) -> Generator[int, None, ProvisioningResult]:
    """Yield what each pod costs, so that the caller may go on later, and return what `plan` does.

    The cluster must not change meanwhile.
    """
    with cluster.statement():
        return (yield from Planner(cluster, options).run_in_steps(pods))


def provision(cluster: Cluster, pods: Iterable[Pod], options: PlanOptions = DEFAULT_OPTIONS) -> ProvisioningResult:
    """Return what `plan` does, counted in the cluster's inventory at once."""
    result = plan(cluster, pods, options)
    for claim in (*result.created, *result.extended):
        cluster.inventory.assume(claim)
    return result


class Planner:
    """One plan over the cluster as it stands, which must not change until the plan is through.

    To be made while a statement is open: with its end rules no longer count the pods of the plan.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: PlanOptions,
        situation: PendingChanges | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._situation = situation if situation is not None else PendingChanges.of(cluster, options.overdue)
        self._hosts = Hosts(cluster, options.budget, options.now, self._situation)
        self._limits = limits if limits is not None else Limits(cluster)
        self._reserved = ReservedCapacity(cluster)
        self._tried: dict[Hashable, TriedHosts] = {}
        self._opened: dict[str, PoolTemplate] = {}
        self._least: Mapping[str, int] = {}
        self._joined: dict[str, list[Pod]] = {}
        taints = [
            *(one.taints for one in cluster.inventory.templates()),
            *(one.spec.taints for one in self._hosts.all),
        ]
        self._is_avoiding = any(taint.effect == AVOIDING_EFFECT for some in taints for taint in some)

    def run(self, pods: Iterable[Pod]) -> ProvisioningResult:
        """Return the plan for these pods, the largest of one priority first."""
        steps = self.run_in_steps(pods)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return cast("ProvisioningResult", end.value)

    def run_in_steps(self, pods: Iterable[Pod]) -> Generator[int, None, ProvisioningResult]:
        """Yield the search steps of each pod, 1 at least, and return what `run` does."""
        nominations: list[Nomination] = []
        refused: list[Unschedulable | OutOfBudget] = []
        asked: list[PendingPod] = []
        waiting: dict[str, Unschedulable | OutOfBudget] = {}
        for pod in pods:
            kept = keeper_of(self._cluster, pod)
            if kept is not None:
                nominations.append(Nomination(pod=pod, node_claim=kept.name))
                continue
            found = ask(self._cluster, pod, self._situation.replanning)
            wrong = found if isinstance(found, Refusal) else self._waits(found)
            if wrong is not None:
                refused.append(unplaced(pod, (wrong,)))
            elif isinstance(found, PendingPod):
                asked.append(found)
        self._least = _least_of(asked)
        left = sorted(asked, key=planning_order)
        while left:
            openings, again = self._cluster.changes.openings, list[PendingPod]()
            for one in left:
                before = self._hosts.context.effort.steps
                placed = self.place(one)
                yield max(self._hosts.context.effort.steps - before, 1)
                if isinstance(placed, Nomination):
                    nominations.append(placed)
                elif one.is_monotone:
                    refused.append(unplaced(one.pod, placed))
                else:
                    again.append(one)
                    waiting[one.pod.metadata.uid] = unplaced(one.pod, placed)
            # Pods that were planned meanwhile may have opened a group of nodes to those that it was closed to.
            left = again if openings != self._cluster.changes.openings else []
            refused += [waiting[one.pod.metadata.uid] for one in again if not left]
        return ProvisioningResult(
            created=tuple(map(self.write, self.opened)),
            extended=tuple(self.joined()),
            nominations=tuple(nominations),
            refused=tuple(refused),
            questions=self._hosts.context.effort.asked,
            search_steps=self._hosts.context.effort.steps,
        )

    def _waits(self, asked: PendingPod) -> Refusal | None:
        """Return why a node that was made for the pod keeps it from another one, None if there is no such node."""
        options, context = self._options, self._hosts.context
        refusal = made_in_vain(self._cluster, asked, context)
        return refusal or awaits_tainted_node(
            self._cluster, asked, context, now=options.now, gate_seconds=options.gate_seconds
        )

    def left(self, template: PoolTemplate) -> LeftOffers:
        """Return what a new node of the pool may be, besides what is planned or on its way."""
        return self._reserved.left(template, self._hosts.all)

    @property
    def hosts(self) -> Hosts:
        """The hosts of the plan, with the pods planned for them so far."""
        return self._hosts

    @property
    def opened(self) -> tuple[PlannedNode, ...]:
        """The NodeClaims that the plan would make, in order."""
        return tuple(host for host in self._hosts.all if host.spec.name in self._opened)

    def write(self, host: PlannedNode) -> NodeClaim:
        """Return the NodeClaim that one of `opened` is to be."""
        return written(host, self._opened[host.spec.name], self._hosts.drivers_of(host))

    def place(self, asked: PendingPod) -> Nomination | tuple[Refusal, ...]:
        """Return where the pod is planned from now on, or what every host has against it."""
        tried = self._tried.setdefault(asked.group, TriedHosts())
        self._hosts.context.effort.of_pod = 0
        self._hosts.context.journal.note(tried.setter())
        for number, variant in enumerate(asked.variants):
            if not variant.avoids and not self._is_avoiding:
                continue
            found = self._on_known_host(asked, number, variant, tried) or self._on_new_host(
                asked, number, variant, tried
            )
            if found is not None:
                return found
        told = (*unusable_pools(self._cluster, asked), *tried.told())
        return told or pools_without_nodes(self._cluster) or (NO_NODE_POOL,)

    def _on_known_host(self, asked: PendingPod, number: int, variant: Variant, tried: TriedHosts) -> Nomination | None:
        self._hosts.replay_for(asked)
        for is_plain in (None,) if asked.shape.has_devices else (True, False):
            found = self._among_hosts(asked, number, variant, tried, is_plain=is_plain)
            if found is not None:
                return found
        return None

    def _among_hosts(
        self, asked: PendingPod, number: int, variant: Variant, tried: TriedHosts, *, is_plain: bool | None
    ) -> Nomination | None:
        context = self._hosts.context
        place = tried.next_host.get((number, is_plain), 0) if asked.is_monotone else 0
        while place < len(self._hosts.all):
            host = self._hosts.all[place]
            if is_plain is None or host.is_plain is is_plain:
                placement = known_refusal(host, asked, context) or self._consider(host, asked, variant, context)
                if isinstance(placement, HostPlacement):
                    tried.next_host[number, is_plain] = place
                    return self._take(host, asked, placement, context)
                if host.spec.origin in {Origin.SETTING_UP, Origin.PLANNED}:
                    tried.refusals[number, RefusalSource(host.spec.origin.value)] = placement
            place += 1
            tried.next_host[number, is_plain] = place
        return None

    def _consider(
        self, host: PlannedNode, asked: PendingPod, variant: Variant, context: PlanContext
    ) -> HostPlacement | Refusal:
        found = evaluate_host(host, asked, variant, context)
        counts_devices = isinstance(found, HostPlacement) and (
            found.allotment is not None or context.of_node is not None
        )
        if counts_devices and self._hosts.replay(host):
            found = evaluate_host(host, asked, variant, context)
        return WRITTEN if isinstance(found, HostPlacement) and host.is_narrowed_by(found) else found

    def _open(self, host: PlannedNode, asked: PendingPod, variant: Variant) -> HostPlacement | Refusal:
        """Return a placement on a NodeClaim that is not written yet, without devices where the pod needs none."""
        every, plain = host.types, host.types & host.spec.table.plain
        if plain and plain != every and not asked.shape.has_devices:
            host.types = plain
            found = evaluate_host(host, asked, variant, self._hosts.context)
            if isinstance(found, HostPlacement):
                return found
            host.types = every
        return evaluate_host(host, asked, variant, self._hosts.context)

    def _on_new_host(self, asked: PendingPod, number: int, variant: Variant, tried: TriedHosts) -> Nomination | None:
        context = self._hosts.context
        for template in self._cluster.inventory.templates():
            speaker = RefusalSource(NODE_POOL, template.name)
            if (number, speaker) in tried.refusals and asked.is_monotone:
                continue
            point = len(context.journal)
            host = self._new_host(template, asked, variant)
            placement = host if isinstance(host, Refusal) else self._open(host, asked, variant)
            if isinstance(host, PlannedNode) and isinstance(placement, HostPlacement):
                self._hosts.open(host)
                context.journal.note(self._opened.popitem)
                self._opened[host.spec.name] = template
                nomination = self._take(host, asked, placement, context)
                host.is_plain = not host.types & ~host.spec.table.plain
                self._limits.opened(template, host, context.journal)
                return nomination
            if isinstance(placement, Refusal):
                if isinstance(host, PlannedNode):
                    placement = self._beyond_limits(host, asked, variant, placement)
                    placement = self._beside_rests(host, asked, variant, placement)
                    # What its DaemonSets were given is free again: the host is not to be.
                    context.journal.rollback(point)
                tried.refusals[number, speaker] = placement
        return None

    def _beyond_limits(self, host: PlannedNode, asked: PendingPod, variant: Variant, refusal: Refusal) -> Refusal:
        """Return that the limits of the NodePool are reached, where a type beyond them would serve the pod."""
        within, everything = host.types, host.spec.table.everything
        if within == everything or refusal.reason in NOT_FOR_THE_POD:
            return refusal
        host.types = everything & ~within
        placement = evaluate_host(host, asked, variant, self._hosts.context)
        host.types = within
        return refusal if isinstance(placement, Refusal) else LIMIT_REACHED

    def _beside_rests(self, host: PlannedNode, asked: PendingPod, variant: Variant, refusal: Refusal) -> Refusal:
        """Return the refusal with the types that would serve the pod if they had not failed lately."""
        rests, has_devices = host.spec.rests, asked.shape.has_devices
        if refusal.reason in REASONS.values() or not rests.among(host.types, has_devices=has_devices):
            return refusal
        host.spec = msgspec.structs.replace(host.spec, rests=Rests())
        placement = evaluate_host(host, asked, variant, self._hosts.context)
        if isinstance(placement, Refusal) or not rests.among(placement.types, has_devices=has_devices):
            return refusal
        told = rests.told(placement.types, has_devices=has_devices)
        return msgspec.structs.replace(refusal, message=f"{refusal.message}, and {told}")

    def _new_host(self, template: PoolTemplate, asked: PendingPod, variant: Variant) -> PlannedNode | Refusal:
        table, used_up, places = self._reserved.left(template, self._hosts.all)
        spec = HostSpec(
            name=self._free_name(template, asked.pod),
            origin=Origin.NEW,
            table=table,
            node_pool=template.name,
            taints=template.taints,
            min_values=template.min_values,
            rests=self._hosts.rests(self._cluster.inventory.table(template)),
            used_up=used_up,
        )
        types = self._limits.within(template, table) if table.everything else 0
        is_left = bool(places) and template.requirements.conflict(places) is None
        requirements = template.requirements.narrowed(places) if is_left else template.requirements
        host = PlannedNode(spec, requirements, types, {})
        if types:
            return host
        nothing = LIMIT_REACHED if table.everything else NO_INSTANCE_TYPE
        return unsuited(host, asked, variant) or nothing

    def _free_name(self, template: PoolTemplate, pod: Pod) -> str:
        number = 0
        while (name := claim_name(template.name, pod, number)) in self._cluster.inventory.claims:
            number += 1
        return name

    def _take(self, host: PlannedNode, asked: PendingPod, placement: HostPlacement, context: PlanContext) -> Nomination:
        host.reserve(asked, placement, context)
        host.is_full = not host.has_room_for(self._least)
        self._hosts.placed(host, asked, placement)
        if host.spec.origin is Origin.THERE:
            return Nomination(pod=asked.pod, node=host.spec.name)
        if host.spec.origin is not Origin.NEW:
            joined = self._joined.setdefault(host.spec.name, [])
            context.journal.note(joined.pop)
            joined.append(asked.pod)
        return Nomination(pod=asked.pod, node_claim=self._hosts.claim_name(host))

    def joined(self) -> Iterator[NodeClaim]:
        """Yield the NodeClaims on their way that take more pods than they name, as they are to be."""
        for host in self._hosts.all:
            pods = self._joined.get(host.spec.name)
            claim = self._cluster.inventory.claims.get(self._hosts.claim_name(host))
            if pods and claim is not None:
                yield extended(claim, pods, self._hosts.drivers_of(host))


def planning_order(asked: PendingPod) -> tuple[object, ...]:
    """Return what orders pods that are planned together: the most urgent first, then the hardest to place."""
    requests = asked.shape.requests
    return (
        -asked.pod.spec.priority,
        not asked.shape.has_devices,
        -requests.get("cpu"),
        -requests.get("memory"),
        asked.pod.rank,
    )


def _least_of(asked: Iterable[PendingPod]) -> Mapping[str, int]:
    """Return what each of these pods takes at least."""
    requests = [one.shape.requests for one in asked]
    return {name: min((one.get(name) for one in requests), default=0) for name in (CPU, "memory", PODS)}
