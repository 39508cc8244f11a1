"""InstanceTypes made ready: templates to plan with, and the slices that a node of the type will publish."""

from dra_scheduling.instancetypes.expansion import Expanded, attribute_bindings, expand
from dra_scheduling.instancetypes.faults import Fault
from dra_scheduling.instancetypes.labels import (
    CAPACITY_TYPE_LABEL,
    MOST_CHARACTERS,
    ZONE_LABEL,
    offering_requirements,
)
from dra_scheduling.instancetypes.namesakes import namesake_fault
from dra_scheduling.instancetypes.status import status_of
from dra_scheduling.model.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.model.pods import NODE_POOL_LABEL

__all__ = [
    "CAPACITY_TYPE_LABEL",
    "INSTANCE_TYPE_LABEL",
    "MOST_CHARACTERS",
    "NODE_POOL_LABEL",
    "ZONE_LABEL",
    "Expanded",
    "Fault",
    "attribute_bindings",
    "expand",
    "namesake_fault",
    "offering_requirements",
    "status_of",
]
