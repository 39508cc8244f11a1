"""A pod that is to be planned for: its shape, its variants, and its claims as the allocator wants them."""

from collections.abc import Hashable

import msgspec
from msgspec.structs import replace

from dra_scheduling.allocation.claim_validation import Called
from dra_scheduling.allocation.pod_claims import PodClaim, ResolvedClaims
from dra_scheduling.basics.features import Features
from dra_scheduling.devices.ledger_entries import special_holder
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.extended_resources.special_claim import SpecialClaim
from dra_scheduling.fit.pod_class import ExtendedNeed, PodClass, display_name
from dra_scheduling.fit.rules import demands
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.claims import DeviceClaim, ResourceClaim, ResourceClaimSpec
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning.pod_requirements import Variant, variants
from dra_scheduling.template_devices import PodClaims

_encoder = msgspec.json.Encoder(enc_hook=str)


class PendingPod:
    """One pod, with what was found out about it; pods of one shape and without claims of their own share `group`."""

    __slots__ = (
        "_claims",
        "_classes",
        "_content",
        "_features",
        "checks",
        "domain_checks",
        "group",
        "is_monotone",
        "plain_checks",
        "pod",
        "resolved",
        "shape",
        "variants",
    )

    def __init__(
        self, pod: Pod, shape: PodClass, resolved: ResolvedClaims, classes: ClassIndex, features: Features
    ) -> None:
        self.pod = pod
        self.shape = shape
        self.resolved = resolved
        self.variants: tuple[Variant, ...] = variants(pod, demands(shape.checks))
        self.domain_checks = tuple(one for one in shape.checks if one.domains is not None)
        """The rules that look across nodes, which decide where a host may be."""
        self.is_monotone = all(one.rule.monotone for one in shape.checks)
        """Whether a host that refused the pod refuses it for the rest of the plan, which only ever adds pods."""
        self.checks = tuple(
            one for one in shape.checks if not (one.rule.is_of_instance_type or one.terms() or one.domains is not None)
        )
        """The rules to ask whatever the labels and the machine are; `plain_checks` are those to ask of plain hosts."""
        self.plain_checks = tuple(one for one in self.checks if one.rule.minds_plain_hosts)
        # Claims that somebody made by hand may be shared, and where the devices of one are binds its other pods.
        own = tuple(item.claim.key for item in resolved.claims if item.claim.metadata.controller is None)
        self.group: Hashable = (shape, own)
        self._content: tuple[bytes, ...] | None = None
        self._classes = classes
        self._features = features
        self._claims: dict[SpecialClaim | None, PodClaims] = {}

    @property
    def content(self) -> tuple[bytes, ...]:
        """What the claims ask for, whatever they are called; empty where more than that matters."""
        if self._content is None:
            items = self.resolved.claims
            is_plain = not self.shape.extended and all(item.allocation is None for item in items)
            self._content = tuple(_encoder.encode(item.claim.spec) for item in items) if is_plain else ()
        return self._content

    @property
    def shared_claims(self) -> tuple[ObjectKey, ...]:
        """The claims without devices that other pods may name, too."""
        return tuple(item.claim.key for item in self.resolved.unallocated if item.claim.metadata.controller is None)

    @property
    def known_keys(self) -> tuple[ObjectKey, ...]:
        """The claims of the pod, those included that it would get for extended resources where it was asked so far."""
        return tuple({claim.key: None for one in self._claims.values() for claim in one.claims})

    def claims(self, need: ExtendedNeed) -> PodClaims | None:
        """Return the pod's claims where its extended resources are served like this, None if there are none."""
        known = self._claims.get(need.special)
        if known is not None:
            return known
        claims = [_with_allocation(item) for item in self.resolved.claims]
        names: dict[ObjectKey, Called] = {item.claim.key: display_name(item) for item in self.resolved.claims}
        if need.special is not None and need.special.requests:
            special = special_of(self.pod, need.special)
            claims.append(special)
            if need.query is not None:
                names[special.key] = need.query.claims[-1].title
        if not claims:
            return None
        found = PodClaims(claims, self._classes.classes, self._features, names)
        self._claims[need.special] = found
        return found

    def claim_keys(self, need: ExtendedNeed) -> tuple[ObjectKey, ...]:
        """Return the claims that get devices where the extended resources are served like this."""
        claims = self.claims(need)
        return () if claims is None else tuple(claim.key for claim in claims.claims)


def special_of(pod: Pod, special: SpecialClaim) -> ResourceClaim:
    """Return the special claim as it would be made; its name says to people what it is and is no object's."""
    meta = ObjectMeta(
        name=f"extended resources of {pod.metadata.name}",
        namespace=pod.metadata.namespace,
        uid=special_holder(pod.metadata.uid),
    )
    return ResourceClaim(metadata=meta, spec=ResourceClaimSpec(devices=DeviceClaim(requests=special.requests)))


def _with_allocation(item: PodClaim) -> ResourceClaim:
    """Return the claim with the allocation that is on its way to it, if one is."""
    if item.allocation is None or item.claim.status.allocation is not None:
        return item.claim
    return replace(item.claim, status=replace(item.claim.status, allocation=item.allocation))
