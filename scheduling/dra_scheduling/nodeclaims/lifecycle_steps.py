"""Names and steps of the life of a NodeClaim: conditions, taints, finalizers, and what is to be written."""

import msgspec

from dra_scheduling.model.base import OwnerReference
from dra_scheduling.model.instancetypes import Failure
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimStatus
from dra_scheduling.model.pods import INITIALIZED_LABEL, Pod

__all__ = ["INITIALIZED_LABEL"]

OWN_GROUP = "dra-scheduler.dev"
"""`nodeClassRef.group` of the NodeClaims and NodePools that are ours."""

LAUNCHED = "Launched"
REGISTERED = "Registered"
INITIALIZED = "Initialized"
READY = "Ready"
DRAINED = "Drained"
DEVICES_AS_PROMISED = "DevicesAsPromised"
DRIFTED = "Drifted"
CONSOLIDATABLE = "Consolidatable"
DISRUPTION_REASON = "DisruptionReason"

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
TERMINATION = "karpenter.sh/termination"

UNREGISTERED_TAINT = Taint(key="karpenter.sh/unregistered", effect="NoExecute")
DISRUPTED_TAINT = Taint(key="karpenter.sh/disrupted", effect="NoSchedule")
DRIVERS_TAINT = "dra-scheduler.dev/drivers-not-ready"
"""The key of a start-up taint that is taken off a node once its DRA drivers have published."""


def is_own(claim: NodeClaim) -> bool:
    """Whether the NodeClaim's life is ours to look after."""
    return claim.spec.node_class_ref.group == OWN_GROUP


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """An Event to tell of, best effort."""

    reason: str
    message: str
    is_warning: bool = True


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing is to be written before something changes, or (where `until` is set, RFC 3339) before that time.

    `notices` are to be told once, however often it comes to this.
    """

    until: str = ""
    notices: tuple[Notice, ...] = ()


class ChangeNode(msgspec.Struct, frozen=True, kw_only=True):
    """Labels, owner and taints that a node is to have; of taints that go, only key and effect count."""

    name: str
    uid: str
    labels: dict[str, str] = {}
    owner: OwnerReference | None = None
    added: tuple[Taint, ...] = ()
    removed: tuple[Taint, ...] = ()
    notices: tuple[Notice, ...] = ()


class ChangeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The status that the NodeClaim is to have, unless it has changed meanwhile."""

    status: NodeClaimStatus
    notices: tuple[Notice, ...] = ()


class ChangeType(msgspec.Struct, frozen=True, kw_only=True):
    """How often in a row machines of an InstanceType have failed at something, and until when it rests therefore."""

    name: str
    failure: Failure
    failures: int
    retry_after: str
    notices: tuple[Notice, ...] = ()


class Delete(msgspec.Struct, frozen=True, kw_only=True):
    """The NodeClaim is to be deleted, unless it has changed meanwhile."""

    notices: tuple[Notice, ...] = ()


class Evict(msgspec.Struct, frozen=True, kw_only=True):
    """Pods are to be evicted, as far as their budgets allow; those in `forced` are deleted, whatever budgets say.

    `until` is when some become forced, empty if never.
    """

    pods: tuple[Pod, ...] = ()
    forced: tuple[Pod, ...] = ()
    until: str = ""


class Protect(msgspec.Struct, frozen=True):
    """The finalizer is to be put on the NodeClaim, so that its node is drained before it goes."""


class Release(msgspec.Struct, frozen=True):
    """The finalizer is to be taken off the NodeClaim: nothing is left to be done for it."""


Step = Wait | ChangeNode | ChangeStatus | ChangeType | Delete | Evict | Protect | Release
