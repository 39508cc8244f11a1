"""Initialized nodes as hosts of a plan: made once a pod is to be asked of one, the best of its shape first."""

from collections.abc import Hashable, Iterator, Sequence

from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.devices.indexed_slice import Reach
from dra_scheduling.disruption.disruption_view import DisruptionView
from dra_scheduling.provisioning.evaluate_host import evaluate_host
from dra_scheduling.provisioning.host_spec import Origin
from dra_scheduling.provisioning.hosts import Hosts, there
from dra_scheduling.provisioning.pending_changes import PendingChanges
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.provisioning.planned_node import HostPlacement, PlannedNode


class ExistingNodes:
    """The nodes that take moved pods.

    What nodes say to a shape as things stand tells which of them are asked at all. Only devices that the moved pods
    leave behind can turn a refusal into consent, so that of the others those are asked that reach one of them.
    """

    __slots__ = ("_budget", "_hosts", "_loosened", "_names", "_next", "_outlook", "_situation", "_there")

    def __init__(
        self, outlook: DisruptionView, situation: PendingChanges, hosts: Hosts, loosened: Reach, budget: SearchBudget
    ) -> None:
        self._outlook = outlook
        self._situation = situation
        self._hosts = hosts
        self._loosened = loosened
        self._budget = budget
        self._there = {host.spec.name: host for host in hosts.all if host.spec.origin is Origin.THERE}
        self._names: dict[Hashable, Sequence[str]] = {}
        self._next: dict[Hashable, int] = {}

    def take(self, asked: PendingPod) -> PlannedNode | None:
        """Return the node that takes the pod from now on, None if there is none."""
        self._hosts.replay_for(asked)
        names = self._names_for(asked)
        start = self._next.get(asked.group, 0) if asked.is_monotone else 0
        for place in range(start, len(names)):
            # A node that refused one of the group refuses the others: a plan only ever adds to it.
            self._next[asked.group] = place
            host = self._host(names[place])
            placement = self._placement(host, asked) if host is not None else None
            if host is not None and placement is not None:
                host.reserve(asked, placement, self._hosts.context)
                self._hosts.placed(host, asked, placement)
                return host
        self._next[asked.group] = len(names)
        return None

    def _names_for(self, asked: PendingPod) -> Sequence[str]:
        names = self._names.get(asked.group)
        if names is None:
            first = self._outlook.order_of(asked.shape, self._budget)
            names = first
            if not asked.is_monotone:
                names = (*first, *self._outlook.reached(Reach(is_everywhere=True), first))
            elif asked.shape.has_devices:
                names = (*first, *self._outlook.reached(self._loosened, first))
            self._names[asked.group] = names
        return names

    def _host(self, name: str) -> PlannedNode | None:
        if name in self._situation.closed:
            return None
        host = self._there.get(name)
        if host is None:
            state = self._outlook.cluster.nodes[name]
            if state.node.is_being_set_up:
                return None
            host = self._there[name] = there(state)
        return host

    def _placement(self, host: PlannedNode, asked: PendingPod) -> HostPlacement | None:
        # A node that is there already is good enough without what the pod only prefers.
        demanded = [one for one in asked.variants if not one.avoids] or asked.variants
        answers = (evaluate_host(host, asked, variant, self._hosts.context) for variant in demanded)
        return next(_placements(answers), None)


def _placements(answers: Iterator[object]) -> Iterator[HostPlacement]:
    return (answer for answer in answers if isinstance(answer, HostPlacement))
