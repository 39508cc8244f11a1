"""Devices for a pod on a candidate: a node, a node being set up, or a NodeClaim that may become one of many types."""

from dra_scheduling.allocation.search_budget import SearchBudget, within
from dra_scheduling.template_devices.attribute_bindings import AttributeBindings, Scope
from dra_scheduling.template_devices.device_host import DeviceHost, DeviceHostType
from dra_scheduling.template_devices.device_uses import DeviceUse
from dra_scheduling.template_devices.planned_claims import PodClaims
from dra_scheduling.template_devices.published_devices import Published
from dra_scheduling.template_devices.replanned_claims import Replanning
from dra_scheduling.template_devices.template_allocator import TemplateAllocator
from dra_scheduling.template_devices.template_outcomes import Allotment, CandidateAnswer, Denied, UnfinishedSearch
from dra_scheduling.template_devices.template_pools import TemplateDevices

__all__ = [
    "Allotment",
    "AttributeBindings",
    "CandidateAnswer",
    "Denied",
    "DeviceHost",
    "DeviceHostType",
    "DeviceUse",
    "PodClaims",
    "Published",
    "Replanning",
    "Scope",
    "SearchBudget",
    "TemplateAllocator",
    "TemplateDevices",
    "UnfinishedSearch",
    "within",
]
