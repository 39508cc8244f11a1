"""All checks over a world, each finding with its file and object."""

from collections.abc import Iterator

from dra_scheduling.extended.classes import ClassIndex
from dra_scheduling.model.base import OwnerReference
from dra_scheduling.model.claims import ResourceClaim, ResourceClaimTemplate
from dra_scheduling.model.pods import Pod
from dra_scheduling.model.slices import DeviceClass, ResourceSlice
from dra_scheduling.wire import KubernetesObject
from dra_simulator.checks.classes import class_remarks
from dra_simulator.checks.findings import Finding, Remark
from dra_simulator.checks.offer import Offer
from dra_simulator.checks.pods import Surroundings, pod_remarks
from dra_simulator.checks.requests import Input, claim_remarks
from dra_simulator.checks.slices import pool_remarks, slice_remarks
from dra_simulator.complete import World, subject_of


def check(world: World) -> tuple[Finding, ...]:
    """Return what is wrong or suspicious, by file; what no file holds (a claim made from a template) is left out."""
    found = {
        Finding(
            file=world.files[subject_of(value)],
            object=str(subject_of(value)),
            path=remark.path,
            severity=remark.severity,
            message=remark.message,
        )
        for value, remark in _remarks(world)
    }
    return tuple(sorted({*found, *map(Finding.of_problem, world.problems)}))


def _remarks(world: World) -> Iterator[tuple[KubernetesObject, Remark]]:
    index = ClassIndex()
    for device_class in world.of(DeviceClass):
        index.apply(device_class)
    slices = world.of(ResourceSlice)
    given = Input(index.classes, Offer(slices))
    of_pools = pool_remarks(slices)
    around = Surroundings.of(world, index)
    owners: set[OwnerReference] = set()
    for value in world.objects:
        if subject_of(value) not in world.files:
            continue
        match value:
            case DeviceClass():
                remarks = class_remarks(value, index, given.offer)
            case ResourceClaim():
                remarks = claim_remarks(value.spec, "$.spec", given)
            case ResourceClaimTemplate():
                remarks = claim_remarks(value.spec.spec, "$.spec.spec", given)
            case ResourceSlice():
                remarks = slice_remarks(value)
            case Pod():
                remarks = pod_remarks(value, around) if _is_first_of_its_kind(value, owners) else iter(())
            case _:
                continue
        yield from ((value, remark) for remark in remarks)
        if value.metadata.name in of_pools and isinstance(value, ResourceSlice):
            yield value, of_pools[value.metadata.name]


def _is_first_of_its_kind(pod: Pod, owners: set[OwnerReference]) -> bool:
    """Whether no other pod of the same workload was looked at; this one is noted as being."""
    owner = pod.metadata.controller
    is_first = owner not in owners
    if owner is not None:
        owners.add(owner)
    return is_first
