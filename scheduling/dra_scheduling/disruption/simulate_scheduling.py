"""What if these nodes went away: where their pods would go, with which devices, and what would have to be made.

The answer is a plan like any other, with the pods' claims planned anew where nobody else uses them. Nothing of it is
counted anywhere: cluster, ledger and inventory stay as they are.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec

from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.basics.reasons import Refusal, fold
from dra_scheduling.cluster import Cluster
from dra_scheduling.disruption.disruption_view import DisruptionView
from dra_scheduling.disruption.existing_nodes import ExistingNodes
from dra_scheduling.disruption.prices import price_of
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning import PlanOptions
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.provisioning.pending_pod_checks import ask
from dra_scheduling.provisioning.plan_context import PlanContext
from dra_scheduling.provisioning.planned_node import PlannedNode
from dra_scheduling.provisioning.planner import Planner, planning_order
from dra_scheduling.provisioning.provisioning_result import Nomination


class WhatIfOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`now` is RFC 3339 text in UTC, held against the retry times of instance types. `budget` is for each pod."""

    now: str = ""
    budget: SearchBudget = SearchBudget()


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """Where a pod would go: to an initialized node, or to a NodeClaim (`node` is empty then).

    `devices` are those that it would get anew on a node that is there; which ones a NodeClaim will have is open.
    """

    pod: Pod
    node: str = ""
    node_claim: str = ""
    devices: tuple[DeviceID, ...] = ()


class Stuck(msgspec.Struct, frozen=True):
    """A pod that no place takes, and why."""

    pod: Pod
    message: str


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """What would become of the pods on `nodes`. `created` are the NodeClaims that would have to be made.

    `price` is what those cost by the hour if each becomes its cheapest type.
    """

    nodes: tuple[str, ...]
    moves: tuple[Move, ...] = ()
    stuck: tuple[Stuck, ...] = ()
    created: tuple[NodeClaim, ...] = ()
    price: float = 0.0

    @property
    def is_possible(self) -> bool:
        """Whether every pod has a place that it can rely on: an initialized node or a new NodeClaim."""
        return not self.stuck and not self.unsettled

    @property
    def unsettled(self) -> tuple[Move, ...]:
        """The moves to nodes that are not initialized, or NodeClaims made for others: nobody knows if they come up."""
        made = {claim.name for claim in self.created}
        return tuple(move for move in self.moves if move.node_claim and move.node_claim not in made)


DEFAULT_OPTIONS = WhatIfOptions()


def simulate_without(cluster: Cluster, nodes: Iterable[str], options: WhatIfOptions = DEFAULT_OPTIONS) -> WhatIf:
    """Return what would become of the pods on these nodes if the nodes went away. Unknown names are passed over."""
    with simulation(DisruptionView(cluster), nodes, options) as scenario:
        return scenario.result()


def needed_nodes(outlook: DisruptionView, options: WhatIfOptions) -> frozenset[str]:
    """Return the initialized nodes that pods of nodes that go already will need."""
    if not outlook.situation.closed:
        return frozenset()
    with simulation(outlook, (), options) as scenario:
        return frozenset(scenario.relied_on)


@contextmanager
def simulation(
    outlook: DisruptionView, nodes: Iterable[str], options: WhatIfOptions = DEFAULT_OPTIONS
) -> Iterator["SchedulingSimulation"]:
    """Yield what would become of the pods on these nodes; it is undone with the end of the block, plan and all."""
    with outlook.cluster.statement():
        yield SchedulingSimulation(outlook, nodes, options)


class SchedulingSimulation:
    """One question: the pods of some nodes, placed anew in order of their priority and size, while a statement is open.

    `relied_on` are the initialized nodes that would take pods of these or of others that are going.
    """

    __slots__ = ("_outlook", "_planner", "_pods", "_rooms", "_situation", "_stuck", "moves", "nodes", "relied_on")

    def __init__(self, outlook: DisruptionView, nodes: Iterable[str], options: WhatIfOptions = DEFAULT_OPTIONS) -> None:
        cluster = outlook.cluster
        self.nodes = tuple(sorted(name for name in set(nodes) if name in cluster.nodes))
        # Pods of nodes that go in any case want their places, too.
        leaving = outlook.situation.closed.difference(self.nodes)
        others = [pod for name in sorted(leaving) for pod in outlook.moving_from(name)]
        own = [pod for name in self.nodes for pod in outlook.moving_from(name)]
        moved = [*others, *own]
        self._outlook = outlook
        self._pods = {pod.metadata.uid: pod for pod in own}
        self._situation = outlook.without(frozenset(self.nodes), moved)
        plan_options = PlanOptions(now=options.now, budget=options.budget)
        limits = outlook.limits.without(frozenset(self.nodes))
        loosened = outlook.loosened(moved, self._situation.replanning)
        self._stuck: list[Stuck] = []
        self.moves: list[Move] = []
        self.relied_on: set[str] = set()
        self._planner = Planner(cluster, plan_options, self._situation, limits)
        self._rooms = ExistingNodes(outlook, self._situation, self._planner.hosts, loosened, options.budget)
        nominated = self._nominated_elsewhere()
        self._place(pod for pod in others if pod.metadata.uid not in nominated)
        self._place(own)

    @property
    def opened(self) -> tuple[PlannedNode, ...]:
        """The NodeClaims that the pods of the nodes would need."""
        needed = {move.node_claim for move in self.moves}
        return tuple(host for host in self._planner.opened if host.spec.name in needed)

    @property
    def stuck(self) -> tuple[Stuck, ...]:
        """The pods that no place takes."""
        return tuple(self._stuck)

    @property
    def context(self) -> PlanContext:
        """What the hosts of the plan have in common."""
        return self._planner.hosts.context

    @property
    def is_possible(self) -> bool:
        """Whether every pod has a place that it can rely on."""
        return not self.obstacle

    @property
    def obstacle(self) -> str:
        """What keeps a pod from having such a place, empty if nothing does."""
        for one in self._stuck:
            return f"pod {one.pod.key} has no other place: {one.message}"
        made = {host.spec.name for host in self._planner.opened}
        for move in self.moves:
            if move.node_claim and move.node_claim not in made:
                return f"pod {move.pod.key} would need NodeClaim {move.node_claim}, which is not initialized"
        return ""

    def result(self) -> WhatIf:
        """Return what was found."""
        opened = self.opened
        return WhatIf(
            nodes=self.nodes,
            moves=tuple(self.moves),
            stuck=self.stuck,
            created=tuple(map(self._planner.write, opened)),
            price=sum(price_of(host) for host in opened),
        )

    def _nominated_elsewhere(self) -> frozenset[str]:
        """Return the pods that a NodeClaim in flight is made for, which has room for them already."""
        return frozenset(pod.metadata.uid for host in self._planner.hosts.all for pod in host.pods)

    def _place(self, pods: Iterable[Pod]) -> None:
        asked = []
        for pod in pods:
            found = ask(self._outlook.cluster, pod, self._situation.replanning)
            if isinstance(found, Refusal):
                self._note_stuck(pod, (found,))
            else:
                asked.append(found)
        for one in sorted(asked, key=planning_order):
            self._place_one(one)

    def _place_one(self, asked: PendingPod) -> None:
        pod = self._pods.get(asked.pod.metadata.uid)
        host = self._rooms.take(asked)
        if host is not None:
            self.relied_on.add(host.spec.name)
            self._note_move(pod, asked, node=host.spec.name)
            return
        found = self._planner.place(asked)
        if isinstance(found, Nomination):
            self._note_move(pod, asked, node=found.node, node_claim=found.node_claim)
        elif pod is not None:
            self._note_stuck(pod, found)

    def _note_move(self, pod: Pod | None, asked: PendingPod, *, node: str = "", node_claim: str = "") -> None:
        if pod is not None:
            devices = tuple(self._devices_of(asked)) if node else ()
            self.moves.append(Move(pod=pod, node=node, node_claim=node_claim, devices=devices))

    def _note_stuck(self, pod: Pod, refusals: tuple[Refusal, ...]) -> None:
        if pod.metadata.uid in self._pods:
            said = "; ".join(one.message for one in fold(refusals))
            self._stuck.append(Stuck(pod, said))

    def _devices_of(self, asked: PendingPod) -> Iterator[DeviceID]:
        records = self._planner.hosts.context.allocator.records
        for key in asked.known_keys:
            record = records.get(key)
            for served in record.by_type.values() if record is not None else ():
                yield from (use.device for use in served.uses)
