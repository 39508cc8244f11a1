"""What is to be written next so that nodes go. Every step may be taken twice, and none relies on one before it."""

import msgspec

from dra_scheduling.disruption.decision_annotations import DecisionRecord
from dra_scheduling.model.nodeclaims import NodeClaim


class Create(msgspec.Struct, frozen=True, kw_only=True):
    """A NodeClaim is to be made that stands in for others."""

    claim: NodeClaim


class MarkNodeClaim(msgspec.Struct, frozen=True, kw_only=True):
    """The NodeClaim is to say that it goes; `notice` is for people."""

    claim: NodeClaim
    record: DecisionRecord
    notice: str


class Close(msgspec.Struct, frozen=True, kw_only=True):
    """The node is to take no pods any more."""

    node: str
    uid: str


class Reopen(msgspec.Struct, frozen=True, kw_only=True):
    """The node is to take pods again."""

    node: str
    uid: str


class AbandonDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The NodeClaim is not to go after all, nor be tried again before `retry_after` (RFC 3339, UTC)."""

    claim: NodeClaim
    retry_after: str
    notice: str


class Remove(msgspec.Struct, frozen=True, kw_only=True):
    """The NodeClaim is to be deleted."""

    claim: NodeClaim
    reason: str
    notice: str


class Stay(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing is to be written but a `notice` for people: why the node of the NodeClaim does not go."""

    claim: NodeClaim
    notice: str


Step = Create | MarkNodeClaim | Close | Reopen | AbandonDecision | Remove | Stay
