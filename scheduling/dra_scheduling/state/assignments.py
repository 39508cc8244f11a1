"""What a scheduling cycle decides. Different ends have different types, and nothing here was written anywhere yet."""

import msgspec

from dra_scheduling.basics.reasons import ClusterEvent, FoldedReason
from dra_scheduling.model.bindrequests import ExtendedResourceClaimAllocation, ResourceClaimAllocation
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import NodeAllocatableResourceClaimStatus, Pod


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """A pod goes to a node with these devices. `claim_keys` names the claim behind each entry of `claims`, in order.

    `of_node` is what claims take of the node's own resources; the special claim has no name there yet.
    """

    pod: Pod
    node: str
    claims: tuple[ResourceClaimAllocation, ...] = ()
    claim_keys: tuple[ObjectKey, ...] = ()
    extended: ExtendedResourceClaimAllocation | None = None
    of_node: tuple[NodeAllocatableResourceClaimStatus, ...] = ()


class Unschedulable(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """No node takes the pod: one line for people, the folded reasons for scripts, and what change could help."""

    pod: Pod
    message: str
    reasons: tuple[FoldedReason, ...]
    wake: ClusterEvent


class Waiting(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Nothing was tried: the pod waits for somebody else's work (its claim's creation, a scheduling gate)."""

    pod: Pod
    message: str
    reasons: tuple[FoldedReason, ...]
    wake: ClusterEvent


class OutOfBudget(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The search ended before it knew; the pod is tried again later and no other pod is held up."""

    pod: Pod
    message: str
    reasons: tuple[FoldedReason, ...]
    wake: ClusterEvent
    steps: int = 0


class Nominated(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The pod waits for a host that is not ready: a NodeClaim by name, or a `node` that is about to have room.

    `place` is its turn among the pods of the NodeClaim, from 0 on: in this order they have been planned.
    """

    pod: Pod
    message: str
    reasons: tuple[FoldedReason, ...]
    wake: ClusterEvent
    node_claim: str = ""
    place: int = 0
    node: str = ""


Outcome = Assignment | Unschedulable | Waiting | OutOfBudget


class CycleResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of one cycle, in the order in which the pods were decided."""

    outcomes: tuple[Outcome, ...] = ()
    search_steps: int = 0
