"""The limits of NodePools: what their nodes may have in all, devices included."""

from dra_scheduling.basics.journal import Journal
from dra_scheduling.cluster import Cluster
from dra_scheduling.devices.selections import SelectorText, selection, wish
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.inventory import Machine, MachineTable, PoolTemplate
from dra_scheduling.inventory.machine import in_base_units
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import NODE_POOL_LABEL
from dra_scheduling.provisioning.in_flight_nodeclaims import has_no_machine
from dra_scheduling.provisioning.planned_node import PlannedNode
from kube_cel import CompileError

NODES = "nodes"


class Limits:
    """What each NodePool still may make. A NodeClaim whose type is open counts with the most that it could be.

    A limit may name `nodes`, any resource of a node, a DRA driver, or an extended resource that a DeviceClass serves:
    the latter two count devices.
    """

    __slots__ = ("_cluster", "_counts", "_left", "_without", "_without_nodes")

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._left: dict[str, dict[str, int]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._without: Limits | None = None
        self._without_nodes: frozenset[str] = frozenset()

    def without(self, nodes: frozenset[str]) -> "Limits":
        """Return what the pools still may make if these nodes are gone: what stands in for them takes their place."""
        other = Limits(self._cluster)
        other._counts = self._counts
        other._without, other._without_nodes = self, nodes
        return other

    def within(self, template: PoolTemplate, table: MachineTable) -> int:
        """Return the machines that the pool may still make."""
        if not template.limits:
            return table.everything
        left = self.left_of(template, table)
        return sum(
            1 << number
            for number, machine in enumerate(table.machines)
            if all(self._amount(machine, name) <= most for name, most in left.items())
        )

    def opened(self, template: PoolTemplate, host: PlannedNode, journal: Journal) -> None:
        """Count a NodeClaim that was decided; the journal gets the inverse."""
        if template.limits:
            left = self.left_of(template, host.spec.table)
            before = dict(left)
            journal.note(lambda: left.update(before))
            for name, amount in self._most_of(template, host.spec.table, host.types).items():
                left[name] -= amount

    def left_of(self, template: PoolTemplate, table: MachineTable) -> dict[str, int]:
        """Return how much of each limited resource is left, in base units."""
        left = self._left.get(template.name)
        if left is None:
            left = self._left[template.name] = dict(self._total_of(template, table))
            sign = 1 if self._without is not None else -1
            for claim in self._cluster.inventory.claims.values():
                if self._is_to_count(template, claim):
                    for name, amount in self._amounts_of(template, claim, table).items():
                        left[name] += sign * amount
        return left

    def _total_of(self, template: PoolTemplate, table: MachineTable) -> dict[str, int]:
        return template.limits if self._without is None else self._without.left_of(template, table)

    def _is_to_count(self, template: PoolTemplate, claim: NodeClaim) -> bool:
        if self._without is not None and claim.status.node_name not in self._without_nodes:
            return False
        return claim.metadata.labels.get(NODE_POOL_LABEL) == template.name and not has_no_machine(claim)

    def _amounts_of(self, template: PoolTemplate, claim: NodeClaim, table: MachineTable) -> dict[str, int]:
        types = table.named(self._chosen(claim))
        if types:
            return self._most_of(template, table, types)
        # Its type is not there any more: what it says of itself has to do.
        said = {**in_base_units(claim.status.capacity.items()), NODES: 1}
        return {name: amount for name, amount in said.items() if name in template.limits}

    def _chosen(self, claim: NodeClaim) -> tuple[str, ...]:
        label = claim.metadata.labels.get(INSTANCE_TYPE_LABEL)
        if label is not None:
            return (label,)
        listed = (one for one in claim.spec.requirements if one.key == INSTANCE_TYPE_LABEL)
        return next((one.values for one in listed), ())

    def _most_of(self, template: PoolTemplate, table: MachineTable, types: int) -> dict[str, int]:
        return {
            name: max((self._amount(machine, name) for machine in table.members(types)), default=0)
            for name in template.limits
        }

    def _amount(self, machine: Machine, name: str) -> int:
        """Return how much of a resource a machine has, in base units; of devices, how many."""
        own = 1 if name == NODES else machine.capacity.get(name)
        if own:
            return own
        key = (machine.name, name)
        found = self._counts.get(key)
        if found is None:
            found = self._counts[key] = self._devices(machine, name)
        return found

    def _devices(self, machine: Machine, name: str) -> int:
        pools = machine.devices.devices.pools
        by_driver = sum(pool.everything.bit_count() for pool in pools if pool.key.driver == name)
        device_class = self._cluster.classes.serving(name)
        if by_driver or device_class is None:
            return by_driver
        texts = (one.cel.expression for one in device_class.spec.selectors if one.cel is not None)
        try:
            wanted = wish(selection(tuple(SelectorText(f"class {name}", text) for text in texts)))
        except CompileError:
            return 0
        return sum(pool.verdict(wanted).matching.bit_count() for pool in pools)
