"""The gate for nodes whose NodeClaims others look after: a start-up taint that goes when the drivers have published."""

from dra_scheduling.basics.times import time_of
from dra_scheduling.nodeclaims.initialization_gate import TIMEOUT, shut_by
from dra_scheduling.nodeclaims.lifecycle import NodeClaimSituation, gate_begins
from dra_scheduling.nodeclaims.lifecycle_steps import DRIVERS_TAINT, ChangeNode, Notice, Step, Wait


def gate_step(at: NodeClaimSituation) -> Step:
    """Return what is to be done for the node of somebody else's NodeClaim."""
    if at.claim.metadata.is_deleting or len(at.nodes) != 1:
        return Wait()
    node = at.nodes[0]
    removed = tuple(one for one in node.spec.taints if one.key == DRIVERS_TAINT)
    if not removed:
        return Wait()
    shut = shut_by(at.drivers, node.name, at.slices)
    if shut is None:
        return ChangeNode(name=node.name, uid=node.metadata.uid, removed=removed)
    deadline = gate_begins(at.claim, node) + at.deadlines.gate
    if not at.is_over(deadline):
        return Wait(until=time_of(deadline))
    # Whether the node is to be replaced is for its owner to say.
    return Wait(
        notices=(Notice(reason=TIMEOUT, message=f"{shut.message}: taint {DRIVERS_TAINT} stays on {node.name}"),)
    )
