"""Nodes for pods that no node takes."""

from dra_scheduling.provisioning.inflight import has_failed, is_double, is_in_flight, keeper_of, was_never_launched
from dra_scheduling.provisioning.outcomes import Nomination, ProvisioningResult
from dra_scheduling.provisioning.planner import PlanOptions, plan, provision

__all__ = [
    "Nomination",
    "PlanOptions",
    "ProvisioningResult",
    "has_failed",
    "is_double",
    "is_in_flight",
    "keeper_of",
    "plan",
    "provision",
    "was_never_launched",
]
