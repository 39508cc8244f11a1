"""NodeClaims from their creation to a node that pods can use, and to their end, as functions of what the API shows."""

from dra_scheduling.inventory.nodepool_validation import pool_faults
from dra_scheduling.nodeclaims.foreign_nodeclaims import gate_step
from dra_scheduling.nodeclaims.initialization_gate import published_devices, shut_by
from dra_scheduling.nodeclaims.lifecycle import Deadlines, NodeClaimSituation, next_step
from dra_scheduling.nodeclaims.lifecycle_steps import (
    ChangeNode,
    ChangeStatus,
    ChangeType,
    Delete,
    Evict,
    Notice,
    Protect,
    Release,
    Step,
    Wait,
    is_own,
)
from dra_scheduling.nodeclaims.node_slices import NodeSlices
from dra_scheduling.nodeclaims.nodepool_status import pool_status
from dra_scheduling.nodeclaims.termination import termination_step

__all__ = [
    "ChangeNode",
    "ChangeStatus",
    "ChangeType",
    "Deadlines",
    "Delete",
    "Evict",
    "NodeClaimSituation",
    "NodeSlices",
    "Notice",
    "Protect",
    "Release",
    "Step",
    "Wait",
    "gate_step",
    "is_own",
    "next_step",
    "pool_faults",
    "pool_status",
    "published_devices",
    "shut_by",
    "termination_step",
]
