"""Nodes for pods that no node takes."""

from dra_scheduling.provisioning.outcomes import Nomination, ProvisioningResult
from dra_scheduling.provisioning.planner import PlanOptions, provision

__all__ = ["Nomination", "PlanOptions", "ProvisioningResult", "provision"]
