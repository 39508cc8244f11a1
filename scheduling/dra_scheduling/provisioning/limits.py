"""The limits of NodePools: what their nodes may have in all, devices included."""

from dra_scheduling.cel import CompileError
from dra_scheduling.cluster import Cluster
from dra_scheduling.inventory import Machine, MachineTable, PoolTemplate
from dra_scheduling.inventory.supply import in_base_units
from dra_scheduling.inventory.templates import INSTANCE_TYPE_LABEL
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import NODE_POOL_LABEL
from dra_scheduling.pools.selections import SelectorText, selection, wish
from dra_scheduling.provisioning.inflight import has_failed
from dra_scheduling.provisioning.plannednode import PlannedNode


class Limits:
    """What each NodePool still may make. A NodeClaim whose type is open counts with the most that it could be.

    A limit may name any resource of a node, a DRA driver, or an extended resource that a DeviceClass serves: the latter
    two count devices.
    """

    __slots__ = ("_cluster", "_counts", "_left")

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._left: dict[str, dict[str, int]] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def within(self, template: PoolTemplate, table: MachineTable) -> int:
        """Return the machines that the pool may still make."""
        if not template.limits:
            return table.everything
        left = self._left_of(template, table)
        return sum(
            1 << number
            for number, machine in enumerate(table.machines)
            if all(self._amount(machine, name) <= most for name, most in left.items())
        )

    def opened(self, template: PoolTemplate, host: PlannedNode) -> None:
        """Count a NodeClaim that was decided."""
        if template.limits:
            self._subtract(template, self._left_of(template, host.ground.table), host.ground.table, host.types)

    def _left_of(self, template: PoolTemplate, table: MachineTable) -> dict[str, int]:
        left = self._left.get(template.name)
        if left is None:
            left = self._left[template.name] = dict(template.limits)
            for claim in self._cluster.inventory.claims.values():
                if claim.metadata.labels.get(NODE_POOL_LABEL) == template.name and not has_failed(claim):
                    self._count(template, claim, left, table)
        return left

    def _count(self, template: PoolTemplate, claim: NodeClaim, left: dict[str, int], table: MachineTable) -> None:
        chosen = self._chosen(claim)
        types = table.named(chosen)
        if types:
            self._subtract(template, left, table, types)
            return
        # Its type is not there any more: what it says of itself has to do.
        for name, amount in in_base_units(claim.status.capacity.items()).items():
            if name in left:
                left[name] -= amount

    def _chosen(self, claim: NodeClaim) -> tuple[str, ...]:
        label = claim.metadata.labels.get(INSTANCE_TYPE_LABEL)
        if label is not None:
            return (label,)
        listed = (one for one in claim.spec.requirements if one.key == INSTANCE_TYPE_LABEL)
        return next((one.values for one in listed), ())

    def _subtract(self, template: PoolTemplate, left: dict[str, int], table: MachineTable, types: int) -> None:
        for name in template.limits:
            left[name] -= max((self._amount(machine, name) for machine in table.members(types)), default=0)

    def _amount(self, machine: Machine, name: str) -> int:
        """Return how much of a resource a machine has, in base units; of devices, how many."""
        own = machine.capacity.get(name)
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
