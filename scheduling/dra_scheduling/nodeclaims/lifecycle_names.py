"""The words of the life cycle: conditions, labels, taints and reasons, as Karpenter has them where it has them."""

from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import INITIALIZED_LABEL

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
