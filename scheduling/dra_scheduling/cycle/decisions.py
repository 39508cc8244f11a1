"""What one call of `Scheduler.decide` returns: one frozen value, nothing of which is written anywhere yet."""

import msgspec

from dra_scheduling.disruption import Step
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.state.assignments import Assignment, Nominated, OutOfBudget, Unschedulable, Waiting

PodCondition = Unschedulable | Waiting | OutOfBudget | Nominated
"""Why a pod is not bound yet: its `PodScheduled` condition and the Event that goes with it."""


class BindGroup(msgspec.Struct, frozen=True):
    """Assignments whose BindRequests are written together: all of them, or none."""

    members: tuple[Assignment, ...]


class NodeClaimOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A NodeClaim to be created, or with `is_new` false to be extended, and the pods that then wait for it."""

    claim: NodeClaim
    is_new: bool
    nominated: tuple[Nominated, ...]


class Decisions(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions of one call.

    `bind_groups` become BindRequests, `conditions` are said on pods, `node_claims` are created or extended, and
    `withdrawn` NodeClaims are deleted because their pods wait for other ones. `disruption` are writes that remove
    nodes, in order.
    """

    bind_groups: tuple[BindGroup, ...] = ()
    conditions: tuple[PodCondition, ...] = ()
    node_claims: tuple[NodeClaimOrder, ...] = ()
    withdrawn: tuple[NodeClaim, ...] = ()
    disruption: tuple[Step, ...] = ()

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """The assignments of all groups."""
        return tuple(member for group in self.bind_groups for member in group.members)

    @property
    def outcomes(self) -> tuple[Assignment | PodCondition, ...]:
        """What was decided about pods: first those that got a node, then those that wait."""
        return (*self.assignments, *self.conditions)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was decided."""
        return self == NO_DECISIONS


NO_DECISIONS = Decisions()


def decided(*outcomes: Assignment | PodCondition) -> Decisions:
    """Return the decisions about some pods, each BindRequest on its own."""
    return Decisions(
        bind_groups=tuple(BindGroup((one,)) for one in outcomes if isinstance(one, Assignment)),
        conditions=tuple(one for one in outcomes if not isinstance(one, Assignment)),
    )
