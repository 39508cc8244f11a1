"""Which ResourceClaims a pod means by the entries of `spec.resourceClaims`."""

from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod, PodResourceClaim


def claim_key(pod: Pod, entry_name: str) -> ObjectKey | None:
    """Return the claim behind an entry of `spec.resourceClaims`.

    None where no claim is needed, where the one of a template is not made yet, and where there is no such entry.
    """
    for entry in pod.spec.resource_claims:
        if entry.name == entry_name:
            name = entry.resource_claim_name or made_claim(pod, entry) or ""
            return ObjectKey(pod.metadata.namespace, name) if name else None
    return None


def made_claim(pod: Pod, entry: PodResourceClaim) -> str | None:
    """Return the name of the claim made for a template entry: empty if none is needed, None while nobody has decided.

    Source: `status.resourceClaimStatuses` of core/v1 Pod.
    """
    for status in pod.status.resource_claim_statuses:
        if status.name == entry.name:
            return status.resource_claim_name or ""
    return None
