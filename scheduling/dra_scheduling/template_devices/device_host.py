"""What devices are asked of: a candidate, and the instance types that it may become."""

import msgspec

from dra_scheduling.basics.requirements import Requirement, Requirements
from dra_scheduling.devices import NodePlace
from dra_scheduling.template_devices.template_pools import NO_DEVICES, TemplateDevices

Offering = tuple[Requirement, ...]


class DeviceHostType(msgspec.Struct, frozen=True, kw_only=True):
    """An instance type. It can be had under the labels of any of its offerings, without offerings under all."""

    name: str
    devices: TemplateDevices = NO_DEVICES
    offerings: tuple[Offering, ...] = ()


class DeviceHost(msgspec.Struct, frozen=True, kw_only=True):
    """A node that is there, or one that could be. Names are unique among all candidates.

    `requirements` are those of the candidate together with those of the pod that is to be placed. `node` is where a
    node is that exists already; `node_pool` says whose attribute bindings hold.
    """

    name: str
    requirements: Requirements
    types: tuple[DeviceHostType, ...]
    node_pool: str = ""
    node: NodePlace | None = None

    @classmethod
    def of_node(cls, node: NodePlace, instance_type: str = "") -> "DeviceHost":
        """Return an initialized node: all its devices are published."""
        only = DeviceHostType(name=instance_type)
        return cls(name=node.name, requirements=Requirements.of_labels(node.labels), types=(only,), node=node)

    @classmethod
    def of_node_being_set_up(cls, node: NodePlace, instance_type: DeviceHostType, node_pool: str = "") -> "DeviceHost":
        """Return a node whose devices are those of its type until it is initialized."""
        return cls(
            name=node.name,
            requirements=Requirements.of_labels(node.labels),
            types=(msgspec.structs.replace(instance_type, offerings=()),),
            node_pool=node_pool,
            node=node,
        )

    @classmethod
    def of_node_claim(
        cls, name: str, requirements: Requirements, types: tuple[DeviceHostType, ...], node_pool: str = ""
    ) -> "DeviceHost":
        """Return a NodeClaim, planned before or new, that one of the types is going to serve."""
        return cls(name=name, requirements=requirements, types=types, node_pool=node_pool)
