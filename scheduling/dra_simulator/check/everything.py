"""All checks over a world, each finding with its file and object."""

from collections.abc import Iterable, Iterator

from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.basics.pod_requests import pod_requests
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.extended_resources.device_plugin_or_dra import extended_names
from dra_scheduling.model.base import OwnerReference
from dra_scheduling.model.claims import ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate
from dra_scheduling.model.device_taint_rules import DeviceTaintRule
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import Pod
from dra_scheduling.model.slices import DeviceClass, ResourceSlice
from dra_scheduling.wire import KubernetesObject
from dra_simulator.check.classes import class_remarks
from dra_simulator.check.findings import Finding, Remark, Remarks, Severity
from dra_simulator.check.fitting import Fitting
from dra_simulator.check.offer import OfferedDevices
from dra_simulator.check.pods import CONTAINERS, Surroundings, pod_remarks
from dra_simulator.check.pools import pool_remarks
from dra_simulator.check.requests import Input, claim_remarks
from dra_simulator.check.slices import slice_remarks
from dra_simulator.check.supply import Supply
from dra_simulator.check.taintrules import devices_of, rule_remarks
from dra_simulator.complete import World, subject_of


def check(world: World, features: Features = DEFAULT_FEATURES) -> tuple[Finding, ...]:
    """Return what is wrong or suspicious, by file; what no file holds (a claim made from a template) is left out."""
    found = {
        Finding(
            file=world.files[subject_of(value)],
            object=str(subject_of(value)),
            path=remark.path,
            severity=remark.severity,
            message=" ".join(remark.message.split()),
        )
        for value, remark in _Checks(world, features).remarks()
    }
    unknown = {
        Finding(
            file=world.files[one.subject],
            object=str(one.subject),
            path=one.path,
            # Karpenter's kinds may be those of another release of it.
            severity=Severity.ERROR if one.subject.kind == InstanceType.__name__ else Severity.WARNING,
            message=one.problem,
        )
        for one in world.unknown
    }
    problems = set(map(Finding.of_problem, world.problems))
    return tuple(sorted({*_besides(found, problems), *unknown, *problems}))


def _besides(found: Iterable[Finding], problems: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings about what a server would store: of the rest it is enough that it would not."""
    refused: dict[tuple[str, str], list[str]] = {}
    for one in problems:
        refused.setdefault((one.file, one.object), []).append(one.path)
    for one in found:
        if not one.path.startswith(tuple(refused.get((one.file, one.object), ()))):
            yield one


class _Checks:
    """What objects of each kind are held against."""

    __slots__ = ("_around", "_fitting", "_given", "_index", "_of_pools", "_owners", "_published", "_supply", "_world")

    def __init__(self, world: World, features: Features) -> None:
        self._world = world
        self._index = ClassIndex()
        for device_class in world.of(DeviceClass):
            self._index.apply(device_class)
        slices = world.of(ResourceSlice)
        self._supply = Supply(world, features)
        promised = (piece for _, one in sorted(self._supply.expanded.items()) for piece in one.slices)
        self._given = Input(self._index.classes, OfferedDevices((*slices, *promised), features))
        self._fitting = Fitting(world, self._index, features, self._supply)
        self._of_pools = pool_remarks(slices, features)
        self._published = devices_of(slices)
        self._around = Surroundings.of(world, self._index, self._supply.cluster.inventory.offers)
        self._owners: set[OwnerReference] = set()

    def remarks(self) -> Iterator[tuple[KubernetesObject, Remark]]:
        """Yield every remark with its object."""
        for value in self._world.objects:
            if subject_of(value) in self._world.files:
                yield from ((value, remark) for remark in self._of(value))

    def _of(self, value: KubernetesObject) -> Remarks:
        match value:
            case DeviceClass():
                yield from class_remarks(value, self._index, self._given.offer)
            case ResourceClaim():
                wanting = value.metadata.name if value.status.allocation is None else ""
                yield from self._of_claim(wanting, value.spec, "$.spec")
            case ResourceClaimTemplate():
                yield from self._of_claim(value.metadata.name, value.spec.spec, "$.spec.spec")
            case ResourceSlice():
                yield from slice_remarks(value)
                yield from self._of_pools.get(value.metadata.name, ())
            case DeviceTaintRule():
                yield from rule_remarks(value, self._published)
            case InstanceType():
                yield from self._supply.type_remarks(value)
            case NodePool():
                yield from self._supply.pool_remarks(value)
            case Pod() if _is_first_of_its_kind(value, self._owners):
                remarks = list(pod_remarks(value, self._around))
                yield from remarks
                if extended_names(pod_requests(value)) and not any(one.path == CONTAINERS for one in remarks):
                    yield from self._fitting.pod_remarks(value)

    def _of_claim(self, wanting: str, spec: ResourceClaimSpec, path: str) -> Remarks:
        """Yield what is wrong with a spec; `wanting` names the claim unless it has its devices already."""
        remarks = list(claim_remarks(spec, path, self._given))
        yield from remarks
        # What cannot be served for a reason that has its own path needs no second remark.
        is_plain = any(remark.severity is Severity.ERROR or ".exactly" in remark.path for remark in remarks)
        if wanting and not is_plain:
            yield from self._fitting.remarks(wanting, spec, f"{path}.devices")


def _is_first_of_its_kind(pod: Pod, owners: set[OwnerReference]) -> bool:
    """Whether no other pod of the same workload was looked at; this one is noted as being."""
    owner = pod.metadata.controller
    is_first = owner not in owners
    if owner is not None:
        owners.add(owner)
    return is_first
