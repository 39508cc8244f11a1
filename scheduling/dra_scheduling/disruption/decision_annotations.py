"""A decision as it is written on the NodeClaims that it is about, so that any process can carry it on."""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from dra_scheduling.inventory.replacements import DISRUPTION, REPLACES
from dra_scheduling.model.nodeclaims import NodeClaim

RETRY_AFTER = "dra-scheduler.dev/disruption-retry-after"
"""On a NodeClaim whose disruption was given up: until when none is tried again (RFC 3339, UTC)."""


class DecisionRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which NodeClaims go, since when (RFC 3339, UTC), why, and which ones have to be ready before."""

    reason: str
    message: str
    since: str
    node_claims: tuple[str, ...]
    replacements: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The value of the annotation."""
        return msgspec.json.encode(self).decode()


def record_of(claim: NodeClaim, annotation: str = DISRUPTION) -> DecisionRecord | None:
    """Return what is written on the NodeClaim, None where there is nothing that can be read."""
    try:
        return msgspec.json.decode(claim.metadata.annotations.get(annotation, ""), type=DecisionRecord)
    except msgspec.DecodeError:
        return None


def standing_in(claim: NodeClaim, record: DecisionRecord) -> NodeClaim:
    """Return the NodeClaim as it is created to replace others."""
    return annotated(claim, {REPLACES: record.text})


def annotated(claim: NodeClaim, notes: Mapping[str, str]) -> NodeClaim:
    """Return the NodeClaim with these annotations, too."""
    return replace(claim, metadata=replace(claim.metadata, annotations={**claim.metadata.annotations, **notes}))
