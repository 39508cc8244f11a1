"""InstanceTypes whose nodes nobody could tell apart by their label."""

from collections.abc import Iterable

from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.instancetypes.expansion import Expanded, expand
from dra_scheduling.instancetypes.instance_type_faults import InstanceTypeFault
from dra_scheduling.model.instancetypes import INSTANCE_TYPE_LABEL, InstanceType


def namesake_fault(
    value: InstanceType, others: Iterable[InstanceType], features: Features = DEFAULT_FEATURES
) -> InstanceTypeFault | None:
    """Return what is wrong with a sound type where another one has its label and may be used by the same node class.

    Of several the first by name is used; a type that is not sound takes no name away.
    """
    alike = (
        other.name
        for other in others
        if other.name < value.name
        and other.instance_type == value.instance_type
        and other.shares_class_with(value)
        and isinstance(expand(other, features), Expanded)
    )
    used = min(alike, default="")
    if not used:
        return None
    message = f"{INSTANCE_TYPE_LABEL}={value.instance_type} are the nodes of InstanceType {used} already"
    return InstanceTypeFault("metadata.name" if value.name == value.instance_type else "spec.requirements", message)
