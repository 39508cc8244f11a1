"""Pods: claims that are not there, and more devices than one pod can get."""

from collections.abc import Iterable
from typing import NamedTuple

from dra_scheduling.basics.pod_requests import pod_requests
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.extended_resources.device_plugin_or_dra import extended_names
from dra_scheduling.extended_resources.special_claim import over_limit_everywhere
from dra_scheduling.model.claims import ResourceClaim, ResourceClaimTemplate
from dra_scheduling.model.fractions import fraction_problem
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.wire import KubernetesObject
from dra_simulator.check.findings import Remarks, error, warning
from dra_simulator.complete import ManifestSubject, World, subject_of

CONTAINERS = "$.spec.containers"


class Surroundings(NamedTuple):
    """What pods are held against: claims and templates, the sets of resources that nodes offer, and the classes."""

    claims: frozenset[ManifestSubject]
    offers: frozenset[frozenset[str]]
    classes: ClassIndex

    @classmethod
    def of(cls, world: World, classes: ClassIndex, to_be: frozenset[frozenset[str]]) -> "Surroundings":
        """Return what the pods of the world find there; `to_be` is what nodes offer that could be made."""
        claims: tuple[KubernetesObject, ...] = (*world.of(ResourceClaim), *world.of(ResourceClaimTemplate))
        return cls(frozenset(map(subject_of, claims)), frozenset(map(_offered, world.of(Node))) | to_be, classes)


def pod_remarks(pod: Pod, around: Surroundings) -> Remarks:
    """Yield what is wrong or suspicious in the devices that a pod asks for."""
    for number, entry in enumerate(pod.spec.resource_claims):
        for kind, field, name in (
            ("ResourceClaim", "resourceClaimName", entry.resource_claim_name),
            ("ResourceClaimTemplate", "resourceClaimTemplateName", entry.resource_claim_template_name),
        ):
            if name and (kind, ObjectKey(pod.metadata.namespace, name)) not in around.claims:
                message = f"expected a {kind} of the input, got {name}"
                yield warning(f"$.spec.resourceClaims[{number}].{field}", message)
    fraction = fraction_problem(pod)
    if fraction is not None:
        yield error("$.metadata.annotations", fraction)
    names = extended_names(pod_requests(pod))
    if names:
        yield from _unserved(names, around)
        refusal = over_limit_everywhere(pod, around.offers, around.classes)
        if refusal is not None:
            yield error(CONTAINERS, refusal.message)


def _unserved(names: Iterable[str], around: Surroundings) -> Remarks:
    """Yield the resources that neither a node nor a class serves; an input without nodes or classes says nothing."""
    offered = frozenset().union(*around.offers)
    for name in sorted(names):
        if name not in offered and around.classes.serving(name) is None and (around.offers or around.classes.classes):
            yield warning(CONTAINERS, f"{name} is served by no node and by no DeviceClass of the input")


def _offered(node: Node) -> frozenset[str]:
    return frozenset(name for name, amount in node.status.allocatable.items() if amount.nano > 0)
