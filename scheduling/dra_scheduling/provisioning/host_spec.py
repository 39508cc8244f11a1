"""What does not change of a host while pods are planned for it."""

from enum import Enum

import msgspec

from dra_scheduling.basics.requirements import Requirements
from dra_scheduling.devices import NodePlace
from dra_scheduling.inventory.machines import MachineTable
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.provisioning.offering_backoff import Rests
from dra_scheduling.template_devices import DeviceHost


class Origin(Enum):
    """What kind of host it is, in the order in which they are asked."""

    THERE = "node"
    SETTING_UP = "node being set up"
    PLANNED = "planned NodeClaim"
    NEW = "new NodeClaim"


class HostSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What does not change of a host while pods are added to it.

    `min_values` are how many values of a label have to remain possible. `node` is set where a node exists.
    `rests` are machines that pods cannot rely on for the time being, `used_up` says of which offerings all machines are
    in use. `is_cordoned` tells a node that takes no pods.
    """

    name: str
    origin: Origin
    table: MachineTable
    node_pool: str = ""
    taints: tuple[Taint, ...] = ()
    min_values: tuple[tuple[str, int], ...] = ()
    node: NodePlace | None = None
    rests: Rests = Rests()
    used_up: tuple[str, ...] = ()
    is_cordoned: bool = False

    @property
    def is_guarded(self) -> bool:
        """Whether it keeps some pods off by what it is."""
        return self.is_cordoned or bool(self.taints)

    def candidate(self, requirements: Requirements, types: int) -> DeviceHost:
        """Return the host as the allocator is asked about it, for these types of its table."""
        candidates = self.table.candidates(types)
        if self.node is not None:
            found = DeviceHost.of_node_being_set_up(self.node, candidates[0], self.node_pool)
            return msgspec.structs.replace(found, name=self.name)
        return DeviceHost.of_node_claim(self.name, requirements, candidates, self.node_pool)
