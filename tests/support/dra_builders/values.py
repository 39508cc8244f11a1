"""Short builders of API values, for tests, examples and the oracle: what is not said gets a sensible default.

A field that a builder does not take is set with `msgspec.structs.replace(value, field=...)`.
"""

from collections.abc import Iterable, Mapping

from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.claims import (
    ALL_DEVICES,
    EXACT_COUNT,
    AllocationResult,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceConstraint,
    DeviceRequest,
    DeviceRequestAllocationResult,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.node_selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Taint
from dra_scheduling.model.pods import (
    Container,
    Node,
    NodeSpec,
    NodeStatus,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from dra_scheduling.model.slices import (
    CELDeviceSelector,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceClass,
    DeviceClassConfiguration,
    DeviceClassSpec,
    DeviceSelector,
    OpaqueDeviceConfiguration,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from kube_cel.quantity import Quantity
from kube_cel.semver import Version

GPU_DRIVER = "gpu.example.com"
NIC_DRIVER = "nic.example.com"
GPU_CLASS = "gpu.example.com"
NAMESPACE = "default"

AttributeValue = bool | int | str | Version


def attribute(value: AttributeValue) -> DeviceAttribute:
    """Return the attribute of the kind that the Python value has."""
    match value:
        case bool():
            return DeviceAttribute(bool_=value)
        case int():
            return DeviceAttribute(int_=value)
        case Version():
            return DeviceAttribute(version=str(value))
        case _:
            return DeviceAttribute(string=value)


def device(
    name: str,
    *,
    attributes: Mapping[str, AttributeValue] | None = None,
    capacity: Mapping[str, str] | None = None,
) -> Device:
    """Return a plain device; `capacity` holds quantities as text."""
    return Device(
        name=name,
        attributes={key: attribute(value) for key, value in (attributes or {}).items()},
        capacity={key: DeviceCapacity(value=Quantity.parse(text)) for key, text in (capacity or {}).items()},
    )


def devices(
    count: int,
    *,
    prefix: str = "gpu-",
    attributes: Mapping[str, AttributeValue] | None = None,
) -> tuple[Device, ...]:
    """Return devices that differ only by the number behind `prefix`, counted from 0."""
    return tuple(device(f"{prefix}{number}", attributes=attributes) for number in range(count))


def resource_slice(
    name: str,
    content: Iterable[Device] = (),
    *,
    driver: str = GPU_DRIVER,
    pool: str | ResourcePool = "",
    node: str = "",
    selector: NodeSelector | None = None,
) -> ResourceSlice:
    """Return a slice for one node, for the nodes of a selector, or (neither given) for every node.

    Without a pool the slice is the only one of a pool called like the node, or like the slice itself.
    """
    home = pool if isinstance(pool, ResourcePool) else ResourcePool(name=pool or node or name)
    return ResourceSlice(
        metadata=ObjectMeta(name=name),
        spec=ResourceSliceSpec(
            driver=driver,
            pool=home,
            node_name=node,
            node_selector=selector,
            all_nodes=not node and selector is None,
            devices=tuple(content),
        ),
    )


def per_device_slice(
    name: str,
    content: Iterable[Device],
    *,
    driver: str = GPU_DRIVER,
    pool: str | ResourcePool = "",
) -> ResourceSlice:
    """Return a slice whose devices say themselves which nodes reach them."""
    home = pool if isinstance(pool, ResourcePool) else ResourcePool(name=pool or name)
    spec = ResourceSliceSpec(driver=driver, pool=home, per_device_node_selection=True, devices=tuple(content))
    return ResourceSlice(metadata=ObjectMeta(name=name), spec=spec)


def pool(name: str, *, generation: int = 1, slices: int = 1) -> ResourcePool:
    """Return what a slice says about its pool."""
    return ResourcePool(name=name, generation=generation, resource_slice_count=slices)


def labelled(**labels: str) -> NodeSelector:
    """Return the one-term selector of the nodes that carry all of these labels (`_` stands for `-`)."""
    return NodeSelector(
        node_selector_terms=(
            NodeSelectorTerm(
                match_expressions=tuple(
                    NodeSelectorRequirement(key=key.replace("_", "-"), operator="In", values=(value,))
                    for key, value in labels.items()
                )
            ),
        )
    )


def device_class(
    name: str = GPU_CLASS,
    *expressions: str,
    extended_resource_name: str = "",
    created: str = "",
    config: Iterable[OpaqueDeviceConfiguration] = (),
) -> DeviceClass:
    """Return a class; without expressions it takes every device. `created` is RFC 3339 text."""
    return DeviceClass(
        metadata=ObjectMeta(name=name, creation_timestamp=created),
        spec=DeviceClassSpec(
            selectors=cel(*expressions),
            config=tuple(DeviceClassConfiguration(opaque=opaque) for opaque in config),
            extended_resource_name=extended_resource_name,
        ),
    )


def driver_class(name: str = GPU_CLASS, *, extended_resource_name: str = "", created: str = "") -> DeviceClass:
    """Return the class of all devices of the driver that is called like the class."""
    expression = f'device.driver == "{name}"'
    return device_class(name, expression, extended_resource_name=extended_resource_name, created=created)


def cel(*expressions: str) -> tuple[DeviceSelector, ...]:
    """Return one selector an expression."""
    return tuple(DeviceSelector(cel=CELDeviceSelector(expression=expression)) for expression in expressions)


def request(name: str = "gpu", class_name: str = GPU_CLASS, *expressions: str, count: int = 1) -> DeviceRequest:
    """Return a request for exactly `count` devices."""
    exactly = ExactDeviceRequest(
        device_class_name=class_name, selectors=cel(*expressions), allocation_mode=EXACT_COUNT, count=count
    )
    return DeviceRequest(name=name, exactly=exactly)


def all_request(name: str = "gpu", class_name: str = GPU_CLASS, *expressions: str) -> DeviceRequest:
    """Return a request for all matching devices."""
    exactly = ExactDeviceRequest(device_class_name=class_name, selectors=cel(*expressions), allocation_mode=ALL_DEVICES)
    return DeviceRequest(name=name, exactly=exactly)


def match_attribute(name: str, *requests: str) -> DeviceConstraint:
    """Return the rule that the devices of these requests (none: of all) agree in one attribute."""
    return DeviceConstraint(requests=requests, match_attribute=name)


def claim_spec(
    *requests: DeviceRequest,
    constraints: Iterable[DeviceConstraint] = (),
    config: Iterable[DeviceClaimConfiguration] = (),
) -> ResourceClaimSpec:
    """Return what a claim asks for."""
    content = DeviceClaim(requests=requests, constraints=tuple(constraints), config=tuple(config))
    return ResourceClaimSpec(devices=content)


def claim(
    name: str,
    *requests: DeviceRequest,
    namespace: str = NAMESPACE,
    constraints: Iterable[DeviceConstraint] = (),
    owner: Pod | None = None,
) -> ResourceClaim:
    """Return an unallocated claim with the UID `uid-<namespace>-<name>`, controlled by `owner` where one is given."""
    return ResourceClaim(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"uid-{namespace}-{name}",
            owner_references=() if owner is None else (controlled_by(owner),),
        ),
        spec=claim_spec(*requests, constraints=constraints),
    )


def allocated(
    value: ResourceClaim,
    *held: DeviceID,
    selector: NodeSelector | None = None,
    consumers: Iterable[Pod] = (),
) -> ResourceClaim:
    """Return the claim with these devices given to its first request and reserved for these pods."""
    name = value.spec.devices.requests[0].name
    results = tuple(
        DeviceRequestAllocationResult(request=name, driver=id_.driver, pool=id_.pool, device=id_.device) for id_ in held
    )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=results), node_selector=selector)
    return ResourceClaim(
        metadata=value.metadata,
        spec=value.spec,
        status=ResourceClaimStatus(
            allocation=allocation, reserved_for=tuple(reserved_for(consumer) for consumer in consumers)
        ),
    )


def reserved_for(consumer: Pod) -> ResourceClaimConsumerReference:
    """Return the `reservedFor` entry of a pod."""
    meta = consumer.metadata
    return ResourceClaimConsumerReference(resource="pods", name=meta.name, uid=meta.uid)


def controlled_by(owner: Pod) -> OwnerReference:
    """Return the owner reference that makes a pod the controller of an object."""
    meta = owner.metadata
    return OwnerReference(api_version="v1", kind="Pod", name=meta.name, uid=meta.uid, controller=True)


def on_node(name: str) -> NodeSelector:
    """Return the selector of one node by its name, as allocations of node-local devices carry it."""
    requirement = NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(requirement,)),))


def node(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    allocatable: Mapping[str, str] | None = None,
    taints: Iterable[Taint] = (),
) -> Node:
    """Return a node with 64 cpus, 256Gi and 110 pods; `allocatable` adds to that or replaces entries."""
    offered = {"cpu": "64", "memory": "256Gi", "pods": "110", **(allocatable or {})}
    return Node(
        metadata=ObjectMeta(name=name, uid=f"uid-{name}", labels={"kubernetes.io/hostname": name, **(labels or {})}),
        spec=NodeSpec(taints=tuple(taints)),
        status=NodeStatus(allocatable=quantities(offered)),
    )


def container(
    name: str = "main",
    *,
    requests: Mapping[str, str] | None = None,
    limits: Mapping[str, str] | None = None,
    restart_policy: str = "",
) -> Container:
    """Return a container; `restart_policy="Always"` makes an init container a sidecar."""
    resources = ResourceRequirements(requests=quantities(requests or {}), limits=quantities(limits or {}))
    return Container(name=name, resources=resources, restart_policy=restart_policy)


def pod(
    name: str,
    *containers: Container,
    namespace: str = NAMESPACE,
    init: Iterable[Container] = (),
    claims: Mapping[str, str] | None = None,
    node_name: str = "",
    labels: Mapping[str, str] | None = None,
) -> Pod:
    """Return a pending pod with the UID `uid-<namespace>-<name>`; `claims` maps the pod's claim names to claims."""
    references = tuple(PodResourceClaim(name=key, resource_claim_name=value) for key, value in (claims or {}).items())
    return Pod(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=f"uid-{namespace}-{name}", labels=dict(labels or {})),
        spec=PodSpec(
            scheduler_name="dra-scheduler",
            containers=containers or (container(),),
            init_containers=tuple(init),
            resource_claims=references,
            node_name=node_name,
        ),
    )


def templated_pod(name: str, *, namespace: str = NAMESPACE, claims: Mapping[str, str | None] | None = None) -> Pod:
    """Return a pod with template claims: `claims` maps the pod's claim names to the claims made, None while missing."""
    wanted = claims or {}
    statuses = (PodResourceClaimStatus(name=key, resource_claim_name=made) for key, made in wanted.items() if made)
    return Pod(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=f"uid-{namespace}-{name}"),
        spec=PodSpec(
            scheduler_name="dra-scheduler",
            containers=(container(),),
            resource_claims=tuple(PodResourceClaim(name=key, resource_claim_template_name=key) for key in wanted),
        ),
        status=PodStatus(resource_claim_statuses=tuple(statuses)),
    )


def quantities(texts: Mapping[str, str]) -> dict[str, Quantity]:
    """Return the quantities written in `texts`."""
    return {key: Quantity.parse(text) for key, text in texts.items()}
