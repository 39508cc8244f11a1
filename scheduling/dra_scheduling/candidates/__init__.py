"""Devices for a pod on a candidate: a node, a node being set up, or a NodeClaim that may become one of many types."""

from dra_scheduling.allocation.budget import Budget, within
from dra_scheduling.candidates.allocator import CandidateAllocator
from dra_scheduling.candidates.bindings import AttributeBindings, Scope
from dra_scheduling.candidates.claims import PodClaims
from dra_scheduling.candidates.outcomes import Allotment, CandidateAnswer, Denied, Unfinished
from dra_scheduling.candidates.published import Published
from dra_scheduling.candidates.replanning import Replanning
from dra_scheduling.candidates.templates import TemplateDevices
from dra_scheduling.candidates.uses import DeviceUse
from dra_scheduling.candidates.values import Candidate, CandidateType

__all__ = [
    "Allotment",
    "AttributeBindings",
    "Budget",
    "Candidate",
    "CandidateAllocator",
    "CandidateAnswer",
    "CandidateType",
    "Denied",
    "DeviceUse",
    "PodClaims",
    "Published",
    "Replanning",
    "Scope",
    "TemplateDevices",
    "Unfinished",
    "within",
]
