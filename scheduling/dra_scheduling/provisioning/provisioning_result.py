"""What planning ends in: NodeClaims to make, pods that wait for one, and pods that no new node can help."""

import msgspec

from dra_scheduling.allocation.allocation_refusals import OUT_OF_BUDGET
from dra_scheduling.basics.reasons import SHOWN_REASONS, ClusterEvent, Refusal, fold, told_once
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import OutOfBudget, Unschedulable


class Nomination(msgspec.Struct, frozen=True, kw_only=True):
    """The pod waits for a host: a NodeClaim, or with `node` a node that is about to have room."""

    pod: Pod
    node_claim: str = ""
    node: str = ""


class ProvisioningResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan wants written. `created` are whole NodeClaims, `extended` those that are to take more pods.

    All of it is counted in the cluster at once; what cannot be written is to be taken back with `Inventory.forget`.
    `questions` is how often a host was asked about a pod, `search_steps` what the searches for devices took.
    """

    created: tuple[NodeClaim, ...] = ()
    extended: tuple[NodeClaim, ...] = ()
    nominations: tuple[Nomination, ...] = ()
    refused: tuple[Unschedulable | OutOfBudget, ...] = ()
    questions: int = 0
    search_steps: int = 0


def unplaced(pod: Pod, refusals: tuple[Refusal, ...]) -> Unschedulable | OutOfBudget:
    """Return what becomes of a pod that no host takes, with what they have against it in their order."""
    # In their order, so that the NodePool of most weight is never among the "other reasons" if it is for the pod.
    sentences = (one for refusal in refusals for one in fold((refusal,)))
    folded = tuple(msgspec.structs.replace(one, nodes=0) for one in sentences)
    wake = ClusterEvent.SUPPLY | ClusterEvent.POD
    for refusal in refusals:
        wake |= refusal.wake
    shown = [one.message for one in folded[:SHOWN_REASONS]]
    if len(folded) > SHOWN_REASONS:
        shown.append(f"{len(folded) - SHOWN_REASONS} other reasons")
    message = told_once("no new node: " + "; ".join(shown), folded)
    is_unknown = any(one.reason == OUT_OF_BUDGET for one in refusals)
    return (OutOfBudget if is_unknown else Unschedulable)(pod=pod, message=message, reasons=folded, wake=wake)
