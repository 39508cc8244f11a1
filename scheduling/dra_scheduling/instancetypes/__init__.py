"""InstanceTypes made ready: templates to plan with, and the slices that a node of the type will publish."""

from dra_scheduling.instancetypes.duplicate_names import namesake_fault
from dra_scheduling.instancetypes.expansion import Expanded, attribute_bindings, expand
from dra_scheduling.instancetypes.instance_type_faults import InstanceTypeFault
from dra_scheduling.instancetypes.instance_type_status import status_of
from dra_scheduling.instancetypes.offerings import (
    CAPACITY_TYPE_LABEL,
    MOST_CHARACTERS,
    ZONE_LABEL,
    offering_requirements,
)
from dra_scheduling.model.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.model.pods import NODE_POOL_LABEL

__all__ = [
    "CAPACITY_TYPE_LABEL",
    "INSTANCE_TYPE_LABEL",
    "MOST_CHARACTERS",
    "NODE_POOL_LABEL",
    "ZONE_LABEL",
    "Expanded",
    "InstanceTypeFault",
    "attribute_bindings",
    "expand",
    "namesake_fault",
    "offering_requirements",
    "status_of",
]
