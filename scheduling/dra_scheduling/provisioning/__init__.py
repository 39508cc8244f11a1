"""Nodes for pods that no node takes."""

from dra_scheduling.provisioning.in_flight_nodeclaims import (
    has_failed,
    is_double,
    is_in_flight,
    keeper_of,
    was_never_launched,
)
from dra_scheduling.provisioning.planner import PlanOptions, plan, plan_in_steps, provision
from dra_scheduling.provisioning.provisioning_result import Nomination, ProvisioningResult

__all__ = [
    "Nomination",
    "PlanOptions",
    "ProvisioningResult",
    "has_failed",
    "is_double",
    "is_in_flight",
    "keeper_of",
    "plan",
    "plan_in_steps",
    "provision",
    "was_never_launched",
]
