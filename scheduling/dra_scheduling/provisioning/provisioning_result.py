"""What planning ends in: NodeClaims to make, pods that wait for one, and pods that no new node can help."""

import msgspec

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
