"""What one node says to pods of one shape: it fits with a score, it is refused, or a search ended without knowing."""

from collections.abc import Mapping, Sequence

import msgspec

from dra_scheduling.allocation.allocation_outcomes import Allocated, Chosen, Exhausted, Impossible
from dra_scheduling.allocation.allocation_refusals import out_of_time
from dra_scheduling.allocation.allocator import allocate, fulfil, known_answer, survey
from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.node_answers import NodeAnswers
from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.allocation.search_reporter import Reporter
from dra_scheduling.basics.features import NODE_ALLOCATABLE
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.devices import PoolIndex
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.fit.node_allocatable_resources import may_take_of_node, with_devices
from dra_scheduling.fit.node_resources_fit import room_refusals
from dra_scheduling.fit.pod_class import ExtendedNeed, PodClass
from dra_scheduling.fit.ranking import Fit, Refused, Unknown, Verdict
from dra_scheduling.fit.rules import first_refusal
from dra_scheduling.fit.score_terms import FeasibleNode, has_devices
from dra_scheduling.model.claims import AllocationResult
from dra_scheduling.state.change_log import ChangeLog
from dra_scheduling.state.node_state import NodeSignature, NodeState

WHOLE_BUDGET = SearchBudget()
KEPT_LOOKS = 256
"""Where more nodes than that differ from one another, remembering them costs more than asking them."""

Kind = tuple[NodeSignature, int, int]
"""What makes nodes fit equally well: their standing, then how many devices stay free and what the alternatives are
worth, or for pods that ask for no devices whether they would keep some from others."""


class ClaimDevices(msgspec.Struct, frozen=True):
    """Where devices come from and which of them are taken."""

    pools: PoolIndex
    ledger: Ledger
    classes: ClassIndex


class NodePlacement(msgspec.Struct, frozen=True):
    """A node that takes the pod: what is allocated to its claims in order, the special claim last."""

    need: ExtendedNeed
    allocated: Allocated | None


class Evaluator:
    """Asks nodes on behalf of one pod of a shape, within the pod's budget; nothing is changed by asking.

    Nodes that offer the same, have the same left and reach devices that look the same are asked once.
    """

    __slots__ = (
        "_answers",
        "_budget",
        "_changes",
        "_devices",
        "_is_apart",
        "_needs",
        "_nodes",
        "_shape",
        "_verdicts",
        "steps",
    )

    def __init__(
        self,
        shape: PodClass,
        nodes: Mapping[str, NodeState],
        devices: ClaimDevices,
        budget: SearchBudget = WHOLE_BUDGET,
        changes: ChangeLog | None = None,
    ) -> None:
        self._shape = shape
        self._nodes = nodes
        self._devices = devices
        self._budget = budget
        self._changes = changes
        """All that changes, for as long as answers of nodes are kept; None where nobody tells."""
        self.steps = 0
        """Search steps so far."""
        self._is_apart = shape.has_preferences or (shape.has_devices and devices.pools.features.has(NODE_ALLOCATABLE))
        self._needs: dict[NodeSignature, ExtendedNeed | Refused] = {}
        self._answers: dict[ClaimQuery, NodeAnswers] = {}
        self._verdicts: dict[Kind, Verdict] = {}

    def take_time(self) -> None:
        """Heed the clock no longer."""
        self._budget = self._budget.untimed

    def look(self, node: str) -> Verdict | None:
        """Return the verdict of the node of that name, None where there is none."""
        state = self._nodes.get(node)
        return None if state is None else self.ask(state)

    def ask(self, state: NodeState) -> Verdict:
        """Return the node's verdict."""
        shape = self._shape
        checks = shape.checks if state.is_guarded else shape.plain_checks
        if checks:
            refusal = first_refusal(checks, state)
            if refusal is not None:
                return Refused(refusal)
        standing = state.standing
        need = self._needs.get(standing)
        if need is None:
            wanted = _need_with_room(shape, state, self._devices)
            need = Refused(wanted) if isinstance(wanted, Refusal) else wanted
            if len(self._needs) < KEPT_LOOKS:
                self._needs[standing] = need
        if isinstance(need, Refused):
            return need
        if need.query is None:
            is_apart = not shape.has_devices and has_devices(state, self._devices.pools)
            return self._fit(state, need, None, (standing, int(is_apart), 0))
        found = self._answer(state, need.query)
        if isinstance(found, Chosen):
            return self._fit(state, need, found, (standing, found.free_left, found.score))
        return Refused(found.refusal) if isinstance(found, Impossible) else found

    def _answer(self, state: NodeState, query: ClaimQuery) -> Chosen | Impossible | Unknown:
        """Return what the devices of the node say."""
        kept = self._answers.get(query) or self._refreshed(query)
        found = kept.known(state.place.name)
        if found is not None:
            return found
        devices, budget = self._devices, self._budget.after(self.steps)
        if budget.is_late():
            answer = known_answer(query, state.place, devices.pools, devices.ledger)
            if answer is None:
                return Unknown(out_of_time([asks[0] for asks in query.asks]), is_postponed=True)
        else:
            answer = survey(query, state.place, devices.pools, devices.ledger, budget.share, budget.is_late)
            self.steps += answer.steps
        if isinstance(answer, Exhausted):
            return Unknown(answer.refusal, is_postponed=budget.share < budget.each or answer.is_late)
        kept.keep(state.place.name, answer)
        return answer

    def _refreshed(self, query: ClaimQuery) -> NodeAnswers:
        """Return the answers that nodes gave and would give again."""
        kept = NodeAnswers() if self._changes is None else query.on_nodes
        if self._changes is not None:
            kept.refresh(self._changes)
        self._answers[query] = kept
        return kept

    def _fit(self, state: NodeState, need: ExtendedNeed, found: Chosen | None, kind: Kind) -> Verdict:
        """Return the verdict of a node that has room and the devices, the same for all nodes of the kind."""
        if self._is_apart or state.is_guarded:
            return _fit(self._shape, state, self._devices, need, found)
        verdict = self._verdicts.get(kind)
        if verdict is None:
            verdict = _fit(self._shape, state, self._devices, need, found)
            if len(self._verdicts) < KEPT_LOOKS:
                self._verdicts[kind] = verdict
        return verdict


def find_placement(
    shape: PodClass, state: NodeState, devices: ClaimDevices, reporter: Reporter | None = None
) -> NodePlacement | Refusal | Impossible | Exhausted:
    """Return how the node takes the pod, or the first reason why it does not, the cheap ones asked first.

    A reporter is told each step of the search for devices.
    """
    need = _need_here(shape, state, devices)
    if isinstance(need, Refusal):
        return need
    result: Allocated | Impossible | Exhausted | None = None
    if need.query is not None and reporter is None:
        result = fulfil(need.query, state.place, devices.pools, devices.ledger)
    elif need.query is not None:
        result = allocate(need.query.claims, state.place, devices.pools, devices.ledger, reporter=reporter)
    if isinstance(result, Impossible | Exhausted):
        return result
    if may_take_of_node(shape, state, devices.pools):
        found = result.allocations if result is not None else ()
        served = with_devices(shape, state, devices.pools, need, found)
        if isinstance(served, Refusal):
            return served
    return NodePlacement(need, result)


def _fit(
    shape: PodClass, state: NodeState, devices: ClaimDevices, need: ExtendedNeed, found: Chosen | None = None
) -> Verdict:
    """Return the verdict of a node that has the devices, if it has room for what they take of it, too."""
    if may_take_of_node(shape, state, devices.pools):
        allocations: Sequence[AllocationResult] = ()
        if need.query is not None:
            result = fulfil(need.query, state.place, devices.pools, devices.ledger)
            allocations = result.allocations if isinstance(result, Allocated) else ()
        served = with_devices(shape, state, devices.pools, need, allocations)
        if isinstance(served, Refusal):
            return Refused(served)
        need = served
    node = FeasibleNode(
        shape.pod,
        state,
        need.node,
        found,
        devices.pools,
        shape.extended,
        shape.has_devices,
        shape.has_preferences,
    )
    return Fit(shape.profile.score(node))


def _need_here(shape: PodClass, state: NodeState, devices: ClaimDevices) -> ExtendedNeed | Refusal:
    """Return what the pod needs on the node, or what keeps it away whatever devices there are."""
    return _held_against(shape, state) or _need_with_room(shape, state, devices)


def _held_against(shape: PodClass, state: NodeState) -> Refusal | None:
    """Return what keeps the pod off this very node, however much room there is."""
    return first_refusal(shape.checks if state.is_guarded else shape.plain_checks, state)


def _need_with_room(shape: PodClass, state: NodeState, devices: ClaimDevices) -> ExtendedNeed | Refusal:
    """Return what the pod needs on a node of this standing, or what the node has too little of."""
    need = shape.need_on(state.offered, devices.classes)
    if isinstance(need, Refusal) or need.node.has_room_in(state.free):
        return need
    return room_refusals(need.node, state.free, state.allocatable)[0]
