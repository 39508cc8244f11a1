"""What every NodePool would say to a pod, instance type by instance type: all reasons, where planning stops at one."""

from collections.abc import Hashable, Iterable, Iterator

import msgspec

from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.basics.reasons import ClusterEvent, FoldedReason, Refusal, fold
from dra_scheduling.basics.requirements import Requirement, Requirements
from dra_scheduling.basics.resources import Resources, amount_text
from dra_scheduling.cluster import Cluster
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.fit.pod_class import ExtendedNeed
from dra_scheduling.fit.rules import refusals
from dra_scheduling.instancetypes import InstanceTypeFault, expand
from dra_scheduling.inventory import Machine, MachineTable, PoolTemplate
from dra_scheduling.inventory.machine_room import MachineRoom
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning.evaluate_host import evaluate_host
from dra_scheduling.provisioning.host_rules import PlannedHost, as_host_refusal
from dra_scheduling.provisioning.host_spec import HostSpec, Origin
from dra_scheduling.provisioning.nodepool_limits import Limits
from dra_scheduling.provisioning.offering_backoff import refusal_of
from dra_scheduling.provisioning.open_domains import in_open_domains
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.provisioning.pending_pod_checks import ask
from dra_scheduling.provisioning.planned_node import HostPlacement, PlannedNode
from dra_scheduling.provisioning.planner import Planner, PlanOptions
from dra_scheduling.provisioning.pod_requirements import Variant
from dra_scheduling.provisioning.provisioning_result import Nomination
from dra_scheduling.state.host_ports import daemon_port_refusal
from dra_scheduling.template_devices import Allotment
from dra_simulator.explain.request_counts import RequestCount, counts_of, missing_of, progress_of

PASSING = frozenset({"LimitReached", "DevicesNotPublished", "NoOffering"})
"""Reasons that time alone may take away."""
ANY_VARIANT = Variant(requirements=())


class TypeView(msgspec.Struct, frozen=True, kw_only=True):
    """What stands against the pod on a node of one type in a NodePool. `price` is the lowest that the pool can get.

    `is_foreign` types are none that the NodePool takes.
    """

    node_pool: str
    name: str
    price: float | None = None
    refusals: tuple[Refusal, ...] = ()
    requests: tuple[RequestCount, ...] = ()
    is_foreign: bool = False

    @property
    def look(self) -> Hashable:
        """What makes two types look the same to the pod."""
        return self.node_pool, tuple((one.reason, one.message) for one in self.refusals), self.requests

    @property
    def distance(self) -> tuple[bool, int, int, int, int, int]:
        """How far the type is from serving the pod: its reasons, the lasting ones, missing devices, the rest.

        Of two types without a device for it, that one is nearer whose devices pass more of the selectors.
        """
        lasting = sum(one.reason not in PASSING for one in self.refusals)
        found = sum(one.found or 0 for one in self.refusals)
        return (
            self.is_foreign,
            len(self.refusals),
            lasting,
            missing_of(self.requests),
            -progress_of(self.requests),
            -found,
        )


class TypeGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Types of one NodePool that look the same, by name; `view` is of the cheapest."""

    names: tuple[str, ...]
    view: TypeView

    @property
    def fits(self) -> bool:
        """Whether nodes of these types could serve the pod."""
        return not self.view.refusals

    @property
    def reasons(self) -> tuple[FoldedReason, ...]:
        """What they have against it."""
        return fold(self.view.refusals)


class HostView(msgspec.Struct, frozen=True):
    """A NodeClaim that is on its way, and why the pod does not join it; None where it could."""

    name: str
    refusal: Refusal | None


class SupplyStory(msgspec.Struct, frozen=True, kw_only=True):
    """What nodes to be say to a pod. `refusals` is why a plan makes no node for it, empty where it makes one."""

    hosts: tuple[HostView, ...] = ()
    groups: tuple[TypeGroup, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @property
    def nearest_miss(self) -> TypeGroup | None:
        """The type that comes closest, None where one serves the pod or there is none."""
        return self.groups[0] if self.groups and not self.groups[0].fits else None


def supply_story(cluster: Cluster, pod: Pod, now: str) -> SupplyStory | None:
    """Return what nodes to be say as the cluster is now; None for a pod that no node could help."""
    asked = ask(cluster, pod)
    if isinstance(asked, Refusal):
        return None
    with cluster.statement():
        surveyor = Surveyor(cluster, asked, now)
        views = tuple(view for template in cluster.inventory.templates() for view in surveyor.types_of(template))
        return SupplyStory(hosts=tuple(surveyor.hosts()), groups=grouped(views), refusals=surveyor.verdict())


class Surveyor:
    """Asks for one pod; the cluster must not change meanwhile."""

    __slots__ = ("_asked", "_cluster", "_limits", "_planner")

    def __init__(self, cluster: Cluster, asked: PendingPod, now: str) -> None:
        self._cluster = cluster
        self._asked = asked
        self._planner = Planner(cluster, PlanOptions(now=now))
        self._limits = Limits(cluster)

    def hosts(self) -> Iterator[HostView]:
        """Yield what NodeClaims say that are on their way."""
        hosts = self._planner.hosts
        for host in hosts.all:
            if host.spec.origin in {Origin.SETTING_UP, Origin.PLANNED}:
                hosts.replay(host)
                yield HostView(host.spec.name, self._refusal_of(host))

    def types_of(self, template: PoolTemplate) -> Iterator[TypeView]:
        """Yield what each type of the NodePool's node class says, by name."""
        table = self._planner.left(template).table
        within = self._limits.within(template, table)
        rests = self._planner.hosts.rests(self._cluster.inventory.table(template))
        for number, machine in enumerate(table.machines):
            bit = 1 << number
            of_pool = []
            if not bit & within:
                of_pool.append(_refusal("LimitReached", "the limits of the NodePool leave no room for it"))
            if resting := rests.among(bit, has_devices=self._asked.shape.has_devices):
                of_pool.append(refusal_of(resting, "its nodes"))
            yield self._view(template, table, bit, machine, of_pool)
        yield from self._left_out(template, {machine.name for machine in table.machines})

    def verdict(self) -> tuple[Refusal, ...]:
        """Return why a plan has no node for the pod, nothing where it has one."""
        placed = self._planner.place(self._asked)
        return () if isinstance(placed, Nomination) else placed

    def _refusal_of(self, host: PlannedNode) -> Refusal | None:
        found: Refusal | None = None
        for variant in self._asked.variants:
            answer = evaluate_host(host, self._asked, variant, self._planner.hosts.context)
            if isinstance(answer, HostPlacement):
                return None
            found = answer
        return found

    def _view(
        self, template: PoolTemplate, table: MachineTable, bit: int, machine: Machine, of_pool: list[Refusal]
    ) -> TypeView:
        known = template.requirements.narrowed(machine.requirements)
        need = _need(machine, self._asked, self._cluster.classes)
        wanted = self._nearest_wishes(known)
        conflicts = list(_conflicts(wanted, known))
        within = known if conflicts or wanted is None else known.narrowed(wanted)
        spec = HostSpec(
            name=f"{template.name}/{bit}",
            origin=Origin.NEW,
            table=table,
            node_pool=template.name,
            taints=template.taints,
        )
        found = [*of_pool, *self._of_rules(spec, within), *self._of_domains(spec, bit, within), *conflicts]
        if machine.price_within(within) is None:
            found.append(_refusal("NoOffering", "no offering of it is available"))
        holding = table.holding_port(self._asked.shape.ports, within)
        found += [daemon_port_refusal(*taken) for taken, machines in holding.items() if machines & bit]
        requests: tuple[RequestCount, ...] = ()
        if isinstance(need, Refusal):
            found.append(need)
        else:
            found += _room(table.room(within), bit, need.node)
            found += self._devices(spec, bit, within, need)
            if need.query is not None:
                requests = counts_of(need.query, SearchSpace(machine.devices.devices.pools, Ledger()), Ledger())
        price = machine.price_within(template.requirements)
        return TypeView(
            node_pool=template.name, name=machine.name, price=price, refusals=tuple(found), requests=requests
        )

    def _of_rules(self, spec: HostSpec, within: Requirements) -> Iterator[Refusal]:
        host = PlannedHost(spec, within, frozenset())
        return map(as_host_refusal, refusals(self._asked.checks, host))

    def _of_domains(self, spec: HostSpec, bit: int, within: Requirements) -> Iterator[Refusal]:
        """Yield why no group of nodes is open that a node of the type could be in, for rules that look across nodes."""
        if self._asked.domain_checks:
            choices = in_open_domains(PlannedNode(spec, within, bit, {}), self._asked, ANY_VARIANT)
            yield from (choices,) if isinstance(choices, Refusal) else ()

    def _nearest_wishes(self, known: Requirements) -> tuple[Requirement, ...] | None:
        """Return what the pod demands, of terms of which one is enough the one that conflicts least."""
        demanded = [one for one in self._asked.variants if not one.avoids] or list(self._asked.variants)
        choices = [one.requirements for one in demanded if one.requirements is not None]
        return min(choices, key=lambda wanted: len(list(_conflicts(wanted, known))), default=None)

    def _devices(self, spec: HostSpec, bit: int, within: Requirements, need: ExtendedNeed) -> Iterator[Refusal]:
        claims = self._asked.claims(need)
        if claims is None:
            return
        context, table = self._planner.hosts.context, spec.table
        if bit & context.daemons.reserve(spec, within, bit).contested_within(within):
            yield _refusal("DaemonSetsContend", "its DaemonSets ask for more devices than there are")
        answer = context.allocator.allocate(claims, spec.candidate(within, bit), context.budget)
        context.allocator.retain(spec.name, ())
        if not isinstance(answer, Allotment):
            yield answer.refusal
        elif not bit & table.offered(within.narrowed(answer.requirements)):
            yield _refusal("NoOffering", "no offering of it is available where the devices are")
        elif context.of_node is not None:
            shares = context.of_node.shares(self._asked, need, spec, bit, answer)
            for share in shares.values():
                yield from (share,) if isinstance(share, Refusal) else _room(table.room(within), bit, share)

    def _left_out(self, template: PoolTemplate, listed: set[str]) -> Iterator[TypeView]:
        """Yield the types of the node class that the pool does not take, and those that are not valid."""
        node_class = template.pool.spec.template.spec.node_class_ref.name
        for name, written in sorted(self._cluster.inventory.instance_types.items()):
            if not written.belongs_to(node_class) or written.instance_type in listed:
                continue
            expanded = expand(written, self._cluster.features)
            if isinstance(expanded, tuple):
                yield _invalid(template, name, expanded)
                continue
            needs = tuple(expanded.requirements.by_key.values())
            refusals = tuple(_conflicts(needs, template.requirements, "the NodePool has"))
            yield TypeView(node_pool=template.name, name=expanded.name, refusals=refusals, is_foreign=True)


def grouped(views: Iterable[TypeView]) -> tuple[TypeGroup, ...]:
    """Return the views with those that look the same as one, the nearest first."""
    alike: dict[Hashable, list[TypeView]] = {}
    for view in views:
        alike.setdefault(view.look, []).append(view)
    groups = [
        TypeGroup(names=tuple(sorted(view.name for view in same)), view=min(same, key=_price))
        for same in alike.values()
    ]
    return tuple(sorted(groups, key=lambda group: (group.view.distance, _price(group.view), group.view.node_pool)))


def _price(view: TypeView) -> tuple[bool, float, str]:
    return view.price is None, view.price or 0.0, view.name


def _need(machine: Machine, asked: PendingPod, classes: ClassIndex) -> ExtendedNeed | Refusal:
    offered = frozenset(name for name in asked.shape.extended if machine.allocatable.get(name, 0) > 0)
    return asked.shape.need_on(offered, classes)


def _room(room: MachineRoom, bit: int, need: Resources) -> Iterator[Refusal]:
    for name, amount in need.items():
        most = room.most(name, bit)
        if most < amount:
            text = f"insufficient {name}, needs {amount_text(name, amount)} and has {amount_text(name, most)} for pods"
            yield _refusal("InsufficientResource", text, found=most)


def _conflicts(
    wanted: tuple[Requirement, ...] | None, known: Requirements, theirs: str = "it has"
) -> Iterator[Refusal]:
    if wanted is None:
        yield _refusal("NodeAffinityMismatch", "the pod wants a node by its name, which a new one cannot have")
        return
    for one in wanted:
        if known.conflict((one,)) is not None:
            has = values_text(known.of(one.key))
            who = "the pod requires" if theirs == "it has" else "nodes have"
            yield _refusal("RequirementsConflict", f"{who} {one.key} {values_text(one)}, {theirs} {has}")


def values_text(requirement: Requirement) -> str:
    """Return the values of a label in words."""
    if requirement.above is not None or requirement.below is not None:
        # Whole numbers: `Gt 3` and `Gte 4` mean the same, and one wording is right for both.
        least = [f"at least {requirement.above + 1}"] if requirement.above is not None else []
        most = [f"at most {requirement.below - 1}"] if requirement.below is not None else []
        return " and ".join(least + most)
    listed = " or ".join(sorted(requirement.values))
    if requirement.excludes:
        return f"other than {listed}" if listed else "of any value"
    return listed or "absent"


def _invalid(template: PoolTemplate, name: str, faults: tuple[InstanceTypeFault, ...]) -> TypeView:
    refusals = (_refusal("InvalidInstanceType", f"it is not valid: {faults[0]}"),)
    return TypeView(node_pool=template.name, name=name, refusals=refusals, is_foreign=True)


def _refusal(reason: str, message: str, found: int | None = None) -> Refusal:
    return Refusal(reason=reason, message=message, wake=ClusterEvent.SUPPLY, found=found)
