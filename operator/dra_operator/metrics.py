"""What /metrics tells: one registry, filled by every part."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REGISTRY = CollectorRegistry()

CYCLE_SECONDS = Histogram(
    "dra_cycle_seconds",
    "Time of one scheduling cycle.",
    registry=REGISTRY,
    buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10),
)
OUTCOMES = Counter("dra_outcomes", "Decisions about pods.", ["outcome"], registry=REGISTRY)
QUEUE = Gauge("dra_queue_pods", "Pending pods by state.", ["state"], registry=REGISTRY)
PENDING = Gauge(
    "dra_pending_pods", "Pending pods by the first reason of their last refusal.", ["reason"], registry=REGISTRY
)
IN_FLIGHT = Gauge("dra_decided_pods", "Pods that are decided and not yet seen with a BindRequest.", registry=REGISTRY)
DEVICES_TAKEN = Gauge("dra_devices_taken", "Devices that claims hold, as the watches tell.", registry=REGISTRY)
DEVICES_HELD = Gauge(
    "dra_devices_held",
    "Devices that claims, BindRequests and decisions hold in the scheduler's ledger.",
    registry=REGISTRY,
)
BINDS = Counter("dra_binds", "BindRequests carried out, by how they ended.", ["result"], registry=REGISTRY)
BINDING = Gauge("dra_binding_pods", "Pods that are being bound.", registry=REGISTRY)
BIND_SECONDS = Histogram(
    "dra_bind_seconds",
    "Time from taking up a BindRequest to its end.",
    registry=REGISTRY,
    buckets=(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100),
)
PLAN_SECONDS = Histogram(
    "dra_plan_seconds",
    "Time of one plan for pods that no node takes.",
    registry=REGISTRY,
    buckets=(0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30),
)
NODECLAIMS_WRITTEN = Counter(
    "dra_nodeclaims_written", "NodeClaims that plans have created or extended.", ["result"], registry=REGISTRY
)
NOMINATED_PODS = Counter("dra_nominated_pods", "Pods that a NodeClaim was created or extended for.", registry=REGISTRY)
DISRUPTIONS = Counter(
    "dra_disruptions", "Nodes that were decided to be taken away, by reason.", ["reason"], registry=REGISTRY
)
DISRUPTION_SECONDS = Histogram(
    "dra_disruption_seconds",
    "Time of one look for nodes that are not needed.",
    registry=REGISTRY,
    buckets=(0.003, 0.01, 0.03, 0.1, 0.3, 1, 3),
)
NODECLAIM_STEPS = Counter(
    "dra_nodeclaim_steps", "Steps taken in the lives of NodeClaims, by what was done.", ["step"], registry=REGISTRY
)
API_REQUESTS = Counter(
    "dra_api_requests", "Requests to the API server, watches left out.", ["verb", "resource", "code"], registry=REGISTRY
)
WATCH_EVENTS = Counter("dra_watch_events", "Events of watches.", ["resource", "novelty"], registry=REGISTRY)
WATCH_VERSION = Gauge(
    "dra_watch_version", "Resource version up to which every change was taken in.", ["resource"], registry=REGISTRY
)
REPAIRS = Counter(
    "dra_watch_repairs", "Objects that a watch had missed something about.", ["resource"], registry=REGISTRY
)
INVALID_OBJECTS = Counter("dra_invalid_objects", "Objects that could not be used.", ["resource"], registry=REGISTRY)
EVENTS = Counter("dra_events", "Kubernetes Events by what became of them.", ["reason", "fate"], registry=REGISTRY)
LEADING = Gauge("dra_leading", "1 while this replica is the active one of the role.", ["role"], registry=REGISTRY)
