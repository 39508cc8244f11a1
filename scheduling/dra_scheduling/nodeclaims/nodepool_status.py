"""What the operator writes into the status of a NodePool: what it has, and whether nodes can be made for it."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from dra_scheduling.basics.reasons import in_short
from dra_scheduling.instancetypes import InstanceTypeFault
from dra_scheduling.inventory.nodepool_validation import pool_faults
from dra_scheduling.model.conditions import Condition, with_condition
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool, NodePoolStatus
from dra_scheduling.model.pods import NODE_POOL_LABEL, Node
from dra_scheduling.nodeclaims.lifecycle_steps import READY
from kube_cel.quantity import Quantity

VALID = "ValidationSucceeded"
CLASS_READY = "NodeClassReady"
NODES = "nodes"
MOST_SHOWN = 5


def pool_status(
    pool: NodePool, claims: Iterable[NodeClaim], nodes: Mapping[str, Node], *, has_types: bool, now: str
) -> NodePoolStatus:
    """Return the status that the pool is to have; where nothing has changed it equals the present one.

    `nodes` are those there are, by name. `has_types` says whether any usable InstanceType belongs to its node class.
    `now` is RFC 3339 text.
    """
    own = [claim for claim in claims if claim.metadata.labels.get(NODE_POOL_LABEL) == pool.name]
    faults = pool_faults(pool)
    conditions = pool.status.conditions
    for one in (validation(faults), _class_ready(pool, has_types=has_types), _ready(faults, has_types=has_types)):
        written = replace(one, last_transition_time=now, observed_generation=pool.metadata.generation)
        conditions = with_condition(conditions, written)
    present = [nodes[claim.status.node_name] for claim in own if claim.status.node_name in nodes]
    resources = _sum(_capacity(claim, nodes) for claim in own)
    resources[NODES] = Quantity.from_int(len(present))
    return replace(pool.status, conditions=conditions, resources=resources, nodes=len(present))


def validation(faults: tuple[InstanceTypeFault, ...]) -> Condition:
    """Return the condition that names what is wrong, the first few of it."""
    if not faults:
        return Condition(type=VALID, status="True", reason=VALID)
    text = in_short([str(fault) for fault in faults], MOST_SHOWN, "; ")
    return Condition(type=VALID, status="False", reason="ValidationFailed", message=text)


def _class_ready(pool: NodePool, *, has_types: bool) -> Condition:
    if has_types:
        return Condition(type=CLASS_READY, status="True", reason=CLASS_READY)
    message = f"no usable InstanceType belongs to node class {pool.spec.template.spec.node_class_ref.name}"
    return Condition(type=CLASS_READY, status="False", reason="NoInstanceTypes", message=message)


def _ready(faults: tuple[InstanceTypeFault, ...], *, has_types: bool) -> Condition:
    lacking = [kind for kind, holds in ((VALID, not faults), (CLASS_READY, has_types)) if not holds]
    if not lacking:
        return Condition(type=READY, status="True", reason=READY)
    return Condition(type=READY, status="False", reason="NotReady", message=f"{' and '.join(lacking)}: see there")


def _capacity(claim: NodeClaim, nodes: Mapping[str, Node]) -> Mapping[str, Quantity]:
    node = nodes.get(claim.status.node_name)
    return (node.status.capacity if node is not None else None) or claim.status.capacity


def _sum(amounts: Iterable[Mapping[str, Quantity]]) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for one in amounts:
        for name, amount in one.items():
            total[name] = total[name] + amount if name in total else amount
    return dict(sorted(total.items()))
