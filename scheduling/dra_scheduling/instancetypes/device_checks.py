"""Everything about the devices of an InstanceType that the schema of its kind cannot tell."""

import re
from collections.abc import Iterator, Mapping

from dra_scheduling.basics.resources import PODS
from dra_scheduling.extended_resources.resource_names import is_extended_name
from dra_scheduling.instancetypes.binding_conditions import check_binding_conditions
from dra_scheduling.instancetypes.consumable_capacity import check_policies
from dra_scheduling.instancetypes.device_groups import INDEX, at_index
from dra_scheduling.instancetypes.instance_type_faults import Findings
from dra_scheduling.instancetypes.node_allocatable_resources import check_node_resources
from dra_scheduling.model.instancetypes import DeviceGroup, InstanceDevices
from dra_scheduling.model.slices import Counter, DeviceCounterConsumption
from kube_cel.quantity import Quantity

MOST_DEVICES = 2048
"""Of one type: more than any machine has, and few enough that a slip of the finger harms nobody."""
MOST_NAMED_VALUES = 32
MOST_TEXT = 64
ZERO = Quantity.from_int(0)
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
DOMAIN = re.compile(r"(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")

Names = dict[tuple[str, str], str]
Counters = dict[tuple[str, str], Mapping[str, Counter]]


def check_devices(devices: InstanceDevices, findings: Findings) -> None:
    """Note what no driver could publish. Where nothing is noted, the devices can be told one by one."""
    counts = [*(group.count for group in devices.groups), *(sets.count for sets in devices.shared_counters)]
    total = sum(count for count in counts if count > 0)
    if total > MOST_DEVICES:
        findings.fault("spec.devices", f"{total} devices and counter sets, expected {MOST_DEVICES} at most")
        return
    counters = _check_counter_sets(devices, findings)
    names: Names = {}
    for number, group in enumerate(devices.groups):
        path = f"spec.devices.groups[{number}]"
        _check_names(group.driver, group.name, group.count, path, names, findings)
        _check_attributes(group, path, findings)
        _check_capacity(group, path, findings)
        _check_consumption(group, path, counters, findings)
        check_binding_conditions(group, path, findings)
        check_node_resources(group, f"{path}.nodeAllocatableResources", findings)


def check_amounts(amounts: Mapping[str, Quantity], path: str, findings: Findings) -> None:
    """Note amounts below zero."""
    for name, amount in amounts.items():
        if amount < ZERO:
            findings.fault(f'{path}["{name}"]', f"is {amount}, expected 0 or more")


def check_whole(amounts: Mapping[str, Quantity], path: str, findings: Findings) -> None:
    """Note parts of what nodes have as a whole: pods, and extended resources."""
    for name, amount in amounts.items():
        if (name == PODS or is_extended_name(name)) and not amount.is_integer():
            findings.fault(f'{path}["{name}"]', f"is {amount}, expected a whole number")


def _check_counter_sets(devices: InstanceDevices, findings: Findings) -> Counters:
    drivers = {group.driver for group in devices.groups}
    names: Names = {}
    counters: Counters = {}
    for number, declared in enumerate(devices.shared_counters):
        path = f"spec.devices.sharedCounters[{number}]"
        if declared.driver not in drivers:
            findings.fault(f"{path}.driver", f"no group of devices is of {declared.driver}")
        _check_names(declared.driver, declared.name, declared.count, path, names, findings)
        check_amounts({name: one.value for name, one in declared.counters.items()}, f"{path}.counters", findings)
        for index in range(declared.count):
            counters[declared.driver, at_index(declared.name, index)] = declared.counters
    return counters


def _check_names(driver: str, name: str, count: int, path: str, names: Names, findings: Findings) -> None:
    if DOMAIN.fullmatch(driver) is None:
        findings.fault(f"{path}.driver", f"{driver!r} is no name of a driver, expected one such as gpu.example.com")
    if count < 1:
        findings.fault(f"{path}.count", f"is {count}, expected 1 or more")
    if count > 1 and INDEX not in name:
        findings.fault(f"{path}.name", f"expected {INDEX} in the name of {count}, they would all be called {name}")
        return
    longest = at_index(name, max(count - 1, 0))
    if DNS_LABEL.fullmatch(longest) is None:
        findings.fault(f"{path}.name", f"{longest} is no name, expected a DNS label of 63 characters at most")
    for index in range(count):
        own = at_index(name, index)
        other = names.setdefault((driver, own), path)
        if other != path:
            findings.fault(f"{path}.name", f"{driver} has a {own} already, in {other}")
            return


def _check_attributes(group: DeviceGroup, path: str, findings: Findings) -> None:
    total = len(group.attributes) + len(group.attributes_by_index) + len(group.capacity)
    if total > MOST_NAMED_VALUES:
        findings.fault(path, f"{total} attributes and capacities, expected {MOST_NAMED_VALUES} at most")
    seen: dict[str, str] = {}
    for field, names in (("attributes", group.attributes), ("attributesByIndex", group.attributes_by_index)):
        for name in names:
            here = f'{path}.{field}["{name}"]'
            other = seen.setdefault(qualified(name, group.driver), here)
            if not is_qualified_name(name):
                findings.fault(here, "is no name, expected a C identifier, with a domain and / or without")
            if other != here:
                findings.fault(here, f"is the attribute of {other}")
    for name, values in group.attributes_by_index.items():
        if len(values) != group.count:
            findings.fault(f'{path}.attributesByIndex["{name}"]', f"{len(values)} values for {group.count} devices")
    for name, one in group.attributes.items():
        longest = at_index(one.string or "", max(group.count - 1, 0))
        if len(longest.encode()) > MOST_TEXT:
            findings.fault(f'{path}.attributes["{name}"]', f"{longest!r} is longer than {MOST_TEXT} bytes")


def _check_capacity(group: DeviceGroup, path: str, findings: Findings) -> None:
    check_amounts({name: one.value for name, one in group.capacity.items()}, f"{path}.capacity", findings)
    check_policies(group.capacity, f"{path}.capacity", findings)
    for name, one in group.capacity.items():
        if not is_qualified_name(name):
            findings.fault(f'{path}.capacity["{name}"]', "is no name, expected a C identifier")
        if one.request_policy is not None and not group.allow_multiple_allocations:
            where = f'{path}.capacity["{name}"].requestPolicy'
            findings.fault(where, "means nothing without allowMultipleAllocations")


def _check_consumption(group: DeviceGroup, path: str, counters: Counters, findings: Findings) -> None:
    for number, drawn in enumerate(group.consumes_counters):
        where = f"{path}.consumesCounters[{number}]"
        amounts = {name: one.value for name, one in drawn.counters.items()}
        check_amounts(amounts, f"{where}.counters", findings)
        for index in range(group.count):
            wrong = next(_wrong_draws(drawn, group.driver, index, counters), None)
            if wrong is not None:
                findings.fault(where, wrong)
                break


def _wrong_draws(drawn: DeviceCounterConsumption, driver: str, index: int, counters: Counters) -> Iterator[str]:
    name = at_index(drawn.counter_set, index)
    shared = counters.get((driver, name))
    if shared is None:
        yield f"{driver} has no counter set {name}"
        return
    for counter, amount in drawn.counters.items():
        if counter not in shared:
            yield f"counter set {name} has no counter {counter}"
        elif amount.value > shared[counter].value:
            yield f"takes {amount.value} of {counter}, of which {name} has {shared[counter].value}"


def is_qualified_name(name: str) -> bool:
    """Whether drivers may call an attribute or a capacity so."""
    domain, slash, identifier = name.rpartition("/")
    return IDENTIFIER.fullmatch(identifier) is not None and (not slash or DOMAIN.fullmatch(domain) is not None)


def qualified(name: str, driver: str) -> str:
    """Return the attribute's name with its domain, which is the driver where none is written."""
    return name if "/" in name else f"{driver}/{name}"
