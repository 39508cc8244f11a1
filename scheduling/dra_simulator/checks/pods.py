"""Pods: claims that are not there, and more devices than one pod can get."""

from dra_scheduling.extended.choice import extended_names
from dra_scheduling.extended.classes import ClassIndex
from dra_scheduling.extended.special import over_limit_everywhere
from dra_scheduling.model.claims import ResourceClaim, ResourceClaimTemplate
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.podrequests import pod_requests
from dra_simulator.checks.findings import Remarks, error, warning
from dra_simulator.complete import World, subject_of


def pod_remarks(pod: Pod, world: World, index: ClassIndex) -> Remarks:
    """Yield what is wrong or suspicious in the devices that a pod asks for."""
    subjects = {subject_of(value) for kind in (ResourceClaim, ResourceClaimTemplate) for value in world.of(kind)}
    for number, entry in enumerate(pod.spec.resource_claims):
        for kind, field, name in (
            ("ResourceClaim", "resourceClaimName", entry.resource_claim_name),
            ("ResourceClaimTemplate", "resourceClaimTemplateName", entry.resource_claim_template_name),
        ):
            if name and (kind, ObjectKey(pod.metadata.namespace, name)) not in subjects:
                message = f"expected a {kind} of the input, got {name}"
                yield warning(f"$.spec.resourceClaims[{number}].{field}", message)
    names = extended_names(pod_requests(pod))
    if names:
        offers = (frozenset(_offered(node) & names) for node in world.of(Node))
        refusal = over_limit_everywhere(pod, offers, index)
        if refusal is not None:
            yield error("$.spec.containers", refusal.message)


def _offered(node: Node) -> set[str]:
    return {name for name, amount in node.status.allocatable.items() if amount.nano > 0}
