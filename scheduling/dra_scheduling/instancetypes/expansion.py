"""InstanceTypes made ready for planning, and for the drivers that are made up in their place."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Generic, TypeVar

import msgspec

from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.basics.requirements import Requirement, Requirements
from dra_scheduling.basics.resources import CPU, PODS, Resources
from dra_scheduling.instancetypes.bound_attributes import BoundAttribute, bound_attributes
from dra_scheduling.instancetypes.device_checks import check_amounts, check_devices, check_whole
from dra_scheduling.instancetypes.device_groups import DriverPool, pools_of
from dra_scheduling.instancetypes.instance_type_faults import Findings, InstanceTypeFault
from dra_scheduling.instancetypes.offerings import (
    ZONE_LABEL,
    certain_labels,
    offering_requirements,
    sorted_offerings,
    type_requirements,
)
from dra_scheduling.instancetypes.slice_templates import published_slices, template_slices, with_values
from dra_scheduling.model.base import OwnerReference
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.instancetypes import InstanceDevices, InstanceOffering, InstanceType, InstanceTypeSpec
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.template_devices import AttributeBindings, DeviceHostType, Scope, TemplateDevices
from kube_cel.quantity import NANO_PER_MILLI, NANO_PER_UNIT, Quantity

MOST_KEPT = 2048
USUAL_PODS = Quantity.from_int(110)
"""What a kubelet admits where nobody says otherwise."""
NOWHERE = (Requirement(key=ZONE_LABEL),)
S = TypeVar("S", InstanceTypeSpec, InstanceDevices)


class ExpandedDevices(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The devices of a type. Types with the same devices have the same object."""

    pools: tuple[DriverPool, ...] = ()
    bound: tuple[BoundAttribute, ...] = ()
    slices: tuple[ResourceSlice, ...] = ()
    templates: TemplateDevices
    faults: tuple[InstanceTypeFault, ...] = ()
    warnings: tuple[InstanceTypeFault, ...] = ()


class Expanded(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """An InstanceType that is sound.

    `name` is what its nodes have as `node.kubernetes.io/instance-type`, `requirements` are what is known of all their
    labels, `labels` those of one value. `offerings` are all of them, cheapest first. `capacity` and `offered` (what is
    left for pods) are as a node's status has them, `allocatable` is the latter in base units. `drivers` holds the
    number of devices of each driver. `candidate` is what an allocator asks of it.
    """

    name: str
    requirements: Requirements
    labels: dict[str, str]
    offerings: tuple[InstanceOffering, ...]
    capacity: dict[str, Quantity]
    offered: dict[str, Quantity]
    allocatable: Resources
    drivers: dict[str, int]
    candidate: DeviceHostType
    devices: ExpandedDevices
    warnings: tuple[InstanceTypeFault, ...] = ()

    @property
    def slices(self) -> tuple[ResourceSlice, ...]:
        """The templates."""
        return self.devices.slices

    @property
    def is_available(self) -> bool:
        """Whether it can be had at the moment; planning leaves out types that cannot."""
        return any(one.available for one in self.offerings)

    def offerings_within(self, requirements: Requirements) -> tuple[InstanceOffering, ...]:
        """Return the available offerings that such a node can be had under, cheapest first."""
        return tuple(
            one for one in self.offerings if one.available and requirements.conflict(offering_requirements(one)) is None
        )

    def bindings(self, node_pool: str) -> dict[Scope, tuple[frozenset[DeviceID], ...]]:
        """Return the sets of devices that agree on an attribute, for `AttributeBindings`."""
        found: dict[Scope, tuple[frozenset[DeviceID], ...]] = {}
        for one in self.devices.bound:
            scope = Scope(one.attribute, node_pool, self.name)
            found[scope] = (*found.get(scope, ()), one.devices)
        return found

    def slices_for_node(self, node_name: str, *, node_uid: str, generation: int = 1) -> tuple[ResourceSlice, ...]:
        """Return the slices that the drivers of a node of this type publish, all pools in one generation.

        A pool has the name of the node; the devices have the names of the template devices. Attributes that devices
        only agree on have a value here.
        """
        owner = OwnerReference(api_version="v1", kind="Node", name=node_name, uid=node_uid, controller=True)
        return published_slices(_published_pools(self.devices), owner, generation)


def expand(
    instance_type: InstanceType, features: Features = DEFAULT_FEATURES
) -> Expanded | tuple[InstanceTypeFault, ...]:
    """Return the type ready for planning, or all that is wrong with it. The same content gives the same object."""
    return _expanded(_Content(instance_type.instance_type, instance_type.spec), features)


def attribute_bindings(types: Mapping[str, Iterable[Expanded]]) -> AttributeBindings:
    """Return what the types of each node pool (by its name) declare, for a `CandidateAllocator`."""
    declared: dict[Scope, tuple[frozenset[DeviceID], ...]] = {}
    for node_pool, offered in types.items():
        for one in offered:
            declared.update(one.bindings(node_pool))
    return AttributeBindings(declared)


class _Content(Generic[S]):
    """A value under a name, told apart by what is written in it."""

    __slots__ = ("_written", "name", "value")

    def __init__(self, name: str, value: S) -> None:
        self.name = name
        self.value: S = value
        self._written = name.encode() + b"\0" + msgspec.json.encode(value, enc_hook=str, order="sorted")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self._written == other._written

    def __hash__(self) -> int:
        return hash(self._written)


@lru_cache(maxsize=MOST_KEPT)
def _expanded(content: _Content[InstanceTypeSpec], features: Features) -> Expanded | tuple[InstanceTypeFault, ...]:
    name, spec = content.name, content.value
    findings = Findings()
    requirements = type_requirements(name, spec, findings)
    capacity = {PODS: USUAL_PODS, **spec.capacity}
    offered = _offered(spec, capacity, findings)
    devices = _devices(_Content("", spec.devices), features)
    faults = (*findings.faults, *devices.faults)
    if faults:
        return faults
    offerings = sorted_offerings(spec)
    available = tuple(offering_requirements(one) for one in offerings if one.available)
    return Expanded(
        name=name,
        requirements=requirements,
        labels=certain_labels(requirements),
        offerings=offerings,
        capacity=capacity,
        offered=offered,
        allocatable=_whole(offered),
        drivers={pool.driver: len(pool.devices) for pool in devices.pools},
        candidate=DeviceHostType(name=name, devices=devices.templates, offerings=available or (NOWHERE,)),
        devices=devices,
        warnings=(*findings.warnings, *devices.warnings),
    )


@lru_cache(maxsize=MOST_KEPT)
def _devices(content: _Content[InstanceDevices], features: Features) -> ExpandedDevices:
    findings = Findings()
    check_devices(content.value, findings)
    if findings.faults:
        return ExpandedDevices(templates=TemplateDevices(), faults=tuple(findings.faults))
    pools = pools_of(content.value)
    bound = bound_attributes(content.value, pools, findings)
    slices = template_slices(pools)
    return ExpandedDevices(
        pools=pools,
        bound=bound,
        slices=slices,
        templates=TemplateDevices(slices, features),
        faults=tuple(findings.faults),
        warnings=tuple(findings.warnings),
    )


@lru_cache(maxsize=MOST_KEPT)
def _published_pools(devices: ExpandedDevices) -> tuple[DriverPool, ...]:
    return tuple(with_values(pool, devices.bound) for pool in devices.pools)


def _offered(spec: InstanceTypeSpec, capacity: Mapping[str, Quantity], findings: Findings) -> dict[str, Quantity]:
    check_amounts(spec.capacity, "spec.capacity", findings)
    check_amounts(spec.overhead, "spec.overhead", findings)
    check_whole(spec.capacity, "spec.capacity", findings)
    check_whole(spec.overhead, "spec.overhead", findings)
    offered = dict(capacity)
    for name, amount in spec.overhead.items():
        whole = capacity.get(name)
        if whole is None or amount > whole:
            has = "there is none" if whole is None else f"there is {whole}"
            findings.fault(f'spec.overhead["{name}"]', f"takes {amount}, {has} in spec.capacity")
        else:
            offered[name] = whole - amount
    return offered


def _whole(offered: Mapping[str, Quantity]) -> Resources:
    """Return base units, rounded down: what is not there in full cannot be handed out."""
    units = {
        name: amount.nano // (NANO_PER_MILLI if name == CPU else NANO_PER_UNIT)
        for name, amount in sorted(offered.items())
    }
    return Resources({name: amount for name, amount in units.items() if amount > 0})
