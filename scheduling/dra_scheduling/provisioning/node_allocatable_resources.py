"""What devices take of the own resources of nodes to come (KEP-5517): it differs from one instance type to another."""

from collections.abc import Iterator, Mapping

from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.basics.resources import Resources
from dra_scheduling.cluster import Cluster
from dra_scheduling.devices.bits import members
from dra_scheduling.devices.consumable_capacity import full_name
from dra_scheduling.devices.node_allocatable_resources import ClaimUse, DeviceLookup, is_mapped, taken_of_node
from dra_scheduling.fit.node_allocatable_resources import whole_need
from dra_scheduling.fit.pod_class import ExtendedNeed
from dra_scheduling.inventory.machine import Machine
from dra_scheduling.model.claims import AllocationResult, DeviceRequestAllocationResult
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.slices import Device
from dra_scheduling.provisioning.host_spec import HostSpec
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.template_devices import Allotment, DeviceUse, TemplateAllocator, TemplateDevices
from kube_cel.quantity import Quantity

Results = tuple[DeviceRequestAllocationResult, ...]
Shares = Mapping[str, Resources | Refusal]
"""What a pod takes with its devices of each kind of machine, by the name that it has for the allocator."""


class OfNode:
    """Tells what devices take. The cluster must not change while it is in use."""

    __slots__ = ("_allocator", "_cluster", "_templates")

    def __init__(self, cluster: Cluster, allocator: TemplateAllocator) -> None:
        self._cluster = cluster
        self._allocator = allocator
        self._templates: dict[TemplateDevices, dict[DeviceID, Device]] = {}

    def shares(self, asked: PendingPod, need: ExtendedNeed, spec: HostSpec, types: int, answer: Allotment) -> Shares:
        """Return what the pod takes of these types in all with the devices of the answer, or why it must not have them.

        Types of which its devices take nothing are left out.
        """
        found: dict[str, Resources | Refusal] = {}
        for kin in spec.table.kin_in(types):
            share = self._share(asked, need, kin.first, answer)
            if share is not None:
                found[kin.first.name] = share
        return found

    def _share(
        self, asked: PendingPod, need: ExtendedNeed, machine: Machine, answer: Allotment
    ) -> Resources | Refusal | None:
        templates = self._devices_of(machine.devices.devices)

        def device_of(wanted: DeviceID) -> Device | None:
            return templates.get(wanted) or self._cluster.pools.device(wanted)

        uses: list[ClaimUse] = []
        for entry, name, key, allocation in _claims_of(asked, need):
            record = self._allocator.records.get(key)
            results = self._results(key, machine.name, answer, device_of) or _of_allocation(allocation)
            if record is not None and is_mapped(results, device_of):
                message = f"ResourceClaim {key} will have a part of a node's own resources, which pods cannot share"
                return Refusal(reason="ClaimNotShareable", message=message, wake=ClusterEvent.CLAIMS)
            uses.append(ClaimUse(entry, name, results))
        of_claims = taken_of_node(asked.pod, uses, device_of)
        if isinstance(of_claims, Refusal):
            return of_claims
        return whole_need(asked.pod, need.node, of_claims) if of_claims else None

    def _results(self, key: ObjectKey, machine: str, answer: Allotment, device_of: DeviceLookup) -> Results:
        """Return what the type gives to the claim, now or earlier in the plan."""
        record = self._allocator.records.get(key)
        served = None
        if key in answer.searched:
            of_type = (one for one in answer.served if one.name == machine)
            served = next((one.claims[answer.searched.index(key)] for one in of_type), None)
        elif record is not None:
            served = record.by_type.get(machine) or next(iter(record.by_type.values()))
        return () if served is None else tuple(_result(use, device_of(use.device)) for use in served.uses)

    def _devices_of(self, templates: TemplateDevices) -> Mapping[DeviceID, Device]:
        found = self._templates.get(templates)
        if found is None:
            found = self._templates[templates] = {
                DeviceID(*pool.key, pool.device(number).name): pool.device(number)
                for pool in templates.pools
                for number in members(pool.everything)
            }
        return found


def plus(amounts: Mapping[str, int], more: Resources | Mapping[str, int]) -> dict[str, int]:
    """Return the sums of amounts in base units."""
    total = dict(amounts)
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount
    return total


def beyond(share: Resources, need: ExtendedNeed) -> Mapping[str, int]:
    """Return what is taken beyond what the pod needs whatever its devices take."""
    return {name: amount - need.node.get(name) for name, amount in share.items()}


def _claims_of(asked: PendingPod, need: ExtendedNeed) -> Iterator[tuple[str, str, ObjectKey, AllocationResult | None]]:
    """Yield entry, name, key and allocation of each claim of the pod; the special claim has neither entry nor name."""
    for item in asked.resolved.claims:
        yield item.name, item.claim.metadata.name, item.claim.key, item.allocation
    claims = asked.claims(need)
    if need.special is not None and need.special.requests and claims is not None:
        yield "", "", claims.claims[-1].key, None


def _of_allocation(allocation: AllocationResult | None) -> Results:
    return () if allocation is None else allocation.devices.results


def _result(use: DeviceUse, device: Device | None) -> DeviceRequestAllocationResult:
    consumed: dict[str, Quantity] = {}
    if use.consumed is not None and device is not None:
        amounts = dict(use.consumed)
        for name, capacity in device.capacity.items():
            consumed[name] = Quantity(amounts[full_name(name, use.device.driver)], capacity.value.family)
    return DeviceRequestAllocationResult(
        request=use.request,
        driver=use.device.driver,
        pool=use.device.pool,
        device=use.device.device,
        admin_access=use.is_admin,
        consumed_capacity=consumed,
    )
