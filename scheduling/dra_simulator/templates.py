"""ResourceClaims that the claim controller would create from ResourceClaimTemplates."""

from collections.abc import Mapping

import msgspec

from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.claims import ResourceClaim, ResourceClaimTemplate
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod, PodResourceClaim, PodResourceClaimStatus
from dra_simulator.identity import uid_of, with_uid

ENTRY_ANNOTATION = "resource.kubernetes.io/pod-claim-name"


class ClaimMaker:
    """Plays the claim controller: keeps the claims there are, and makes those that pods wait for."""

    __slots__ = ("_made_for", "_templates", "claims")

    def __init__(
        self, claims: Mapping[ObjectKey, ResourceClaim], templates: Mapping[ObjectKey, ResourceClaimTemplate]
    ) -> None:
        self.claims = dict(claims)
        self._templates = templates
        self._made_for = {
            _maker(claim): claim for claim in claims.values() if ENTRY_ANNOTATION in claim.metadata.annotations
        }

    def serve(self, pod: Pod) -> Pod:
        """Return the pod with a status entry for each of its template claims, as far as the templates exist."""
        known = {entry.name for entry in pod.status.resource_claim_statuses}
        missing = [
            entry
            for entry in pod.spec.resource_claims
            if entry.resource_claim_template_name and entry.name not in known
        ]
        if pod.is_finished or not missing:
            return pod
        made = tuple(status for entry in missing if (status := self._entry(pod, entry)) is not None)
        statuses = (*pod.status.resource_claim_statuses, *made)
        return msgspec.structs.replace(
            pod, status=msgspec.structs.replace(pod.status, resource_claim_statuses=statuses)
        )

    def _entry(self, pod: Pod, entry: PodResourceClaim) -> PodResourceClaimStatus | None:
        claim = self._made_for.get((pod.metadata.uid, entry.name))
        template = self._templates.get(ObjectKey(pod.metadata.namespace, entry.resource_claim_template_name))
        if claim is None and template is not None:
            claim = self._make(pod, entry, template)
            self.claims[claim.key] = claim
        return (
            None if claim is None else PodResourceClaimStatus(name=entry.name, resource_claim_name=claim.metadata.name)
        )

    def _make(self, pod: Pod, entry: PodResourceClaim, template: ResourceClaimTemplate) -> ResourceClaim:
        name = f"{pod.metadata.name}-{entry.name}"
        if ObjectKey(pod.metadata.namespace, name) in self.claims:
            name = f"{name}-{uid_of('claim', pod.metadata.uid, entry.name)[:5]}"
        wanted = template.spec.metadata
        owner = OwnerReference(
            api_version="v1",
            kind="Pod",
            name=pod.metadata.name,
            uid=pod.metadata.uid,
            controller=True,
            block_owner_deletion=True,
        )
        metadata = ObjectMeta(
            name=name,
            namespace=pod.metadata.namespace,
            creation_timestamp=pod.metadata.creation_timestamp,
            labels=wanted.labels,
            annotations={**wanted.annotations, ENTRY_ANNOTATION: entry.name},
            owner_references=(owner,),
        )
        return with_uid(ResourceClaim(metadata=metadata, spec=template.spec.spec))


def _maker(claim: ResourceClaim) -> tuple[str, str]:
    """Return the uid of the pod and the name of its entry that the claim was made for."""
    owner = claim.metadata.controller
    return (owner.uid if owner is not None else "", claim.metadata.annotations[ENTRY_ANNOTATION])
