"""Which ResourceClaims a pod means by the entries of `spec.resourceClaims`."""

from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod


def claim_names(pod: Pod) -> dict[str, str]:
    """Return the name of the claim behind each entry of `spec.resourceClaims`.

    It is empty where the pod turned out to need no claim; an entry is missing while the claim of its template is not
    made. Source: `status.resourceClaimStatuses` of core/v1 Pod.
    """
    made = {status.name: status.resource_claim_name or "" for status in pod.status.resource_claim_statuses}
    names = ((entry.name, entry.resource_claim_name or made.get(entry.name)) for entry in pod.spec.resource_claims)
    return {entry: name for entry, name in names if name is not None}


def claim_keys(pod: Pod) -> dict[str, ObjectKey]:
    """Return the claim behind each entry that needs one and has it."""
    return {entry: ObjectKey(pod.metadata.namespace, name) for entry, name in claim_names(pod).items() if name}


def claim_key(pod: Pod, entry: str) -> ObjectKey | None:
    """Return the claim behind one entry.

    None where no claim is needed, where the one of a template is not made yet, and where there is no such entry.
    """
    return claim_keys(pod).get(entry)
