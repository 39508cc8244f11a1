"""What devices take of the node's own resources (KEP-5517): what drivers could not publish."""

from collections.abc import Mapping

from dra_scheduling.devices.consumable_capacity import full_name
from dra_scheduling.extended_resources.resource_names import is_extended_name
from dra_scheduling.instancetypes.instance_type_faults import Findings
from dra_scheduling.model.instancetypes import DeviceGroup
from dra_scheduling.model.slices import NodeAllocatableMapping, NodeAllocatableResource
from kube_cel.quantity import Quantity


def check_node_resources(group: DeviceGroup, path: str, findings: Findings) -> None:
    """Note resources that nodes do not offer themselves, and amounts that nobody could tell."""
    for name, resource in group.node_allocatable_resources.items():
        where = f'{path}["{name}"]'
        if is_extended_name(name):
            findings.fault(where, "is no resource that nodes offer themselves, expected one such as cpu")
        if resource.mapping is None and resource.overhead is None:
            findings.fault(where, "expected mapping or overhead")
        if resource.mapping is not None:
            _check_mapping(group, resource.mapping, f"{where}.mapping", findings)
        for field, amount in _amounts(resource).items():
            if amount is not None and amount.nano < 0:
                findings.fault(f"{where}.{field}", f"is {amount}, expected 0 or more")


def _check_mapping(group: DeviceGroup, mapping: NodeAllocatableMapping, path: str, findings: Findings) -> None:
    if bool(mapping.capacity_key) == (mapping.device_multiplier is not None):
        findings.fault(path, "expected either capacityKey or deviceMultiplier")
    if mapping.capacity_multiplier is not None and not mapping.capacity_key:
        findings.fault(f"{path}.capacityMultiplier", "means nothing without capacityKey")
    if not mapping.capacity_key:
        return
    if full_name(mapping.capacity_key, group.driver) not in {full_name(name, group.driver) for name in group.capacity}:
        findings.fault(f"{path}.capacityKey", f"the devices have no capacity {mapping.capacity_key}")
    if not group.allow_multiple_allocations:
        findings.fault(f"{path}.capacityKey", "nothing is consumed without allowMultipleAllocations")


def _amounts(resource: NodeAllocatableResource) -> Mapping[str, Quantity | None]:
    found: dict[str, Quantity | None] = {}
    if resource.mapping is not None:
        found["mapping.capacityMultiplier"] = resource.mapping.capacity_multiplier
        found["mapping.deviceMultiplier"] = resource.mapping.device_multiplier
    if resource.overhead is not None:
        found["overhead.perPod"] = resource.overhead.per_pod
        found["overhead.perContainer"] = resource.overhead.per_container
    return found
