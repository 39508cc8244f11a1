"""What a scheduling loop is made from: its settings, and what an earlier one remembered."""

from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.cluster.cluster import DEFAULT_SCHEDULER_NAME
from dra_scheduling.cycle.disrupt import DisruptState
from dra_scheduling.cycle.pending_pods import PendingState
from dra_scheduling.cycle.plan_batch import PlanSettings
from dra_scheduling.cycle.provision import ProvisionState
from dra_scheduling.fit.score_profiles import PACK
from dra_scheduling.model.base import Value
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.state.assignments import Assignment

CYCLE_PODS = 100


class SchedulerSettings(Value, frozen=True, kw_only=True):
    """What a scheduler is made with.

    At most `cycle_pods` are decided in one call. `profile` names what makes a node the best, one of `PROFILES`. Nodes
    are planned where there are settings in `plan`, and removed where there is an interval in `disruption_seconds`.
    """

    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    features: Features = DEFAULT_FEATURES
    node_class_groups: frozenset[str] | None = None
    cooldown_seconds: float = 0.0
    cycle_pods: int = CYCLE_PODS
    profile: str = PACK.name
    plan: PlanSettings | None = None
    disruption_seconds: float | None = None


class SchedulerState(Value, frozen=True, kw_only=True):
    """Everything that a scheduler remembers besides the objects that it has observed."""

    is_leading: bool = False
    pending: PendingState = PendingState()
    provision: ProvisionState | None = None
    disrupt: DisruptState | None = None
    cooldown: tuple[tuple[DeviceID, float], ...] = ()
    assignments: tuple[Assignment, ...] = ()
    node_claims: tuple[NodeClaim, ...] = ()


DEFAULT_SETTINGS = SchedulerSettings()
