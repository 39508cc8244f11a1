"""The metrics of /metrics: one registry, filled by every part, and a table of what is in it."""

from collections.abc import Sequence
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REGISTRY = CollectorRegistry()
PREFIX: Final = "dra_scheduler_"


class Metric(msgspec.Struct, frozen=True):
    """One metric as Prometheus sees it: counters end in `_total`, histograms have `_bucket`, `_sum` and `_count`."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help: str


METRICS: list[Metric] = []
"""All metrics of the operator, in the order of the page."""


def _counter(name: str, text: str, *labels: str) -> Counter:
    METRICS.append(Metric(f"{PREFIX}{name}_total", "counter", labels, text))
    return Counter(PREFIX + name, text, labels, registry=REGISTRY)


def _gauge(name: str, text: str, *labels: str) -> Gauge:
    METRICS.append(Metric(PREFIX + name, "gauge", labels, text))
    return Gauge(PREFIX + name, text, labels, registry=REGISTRY)


def _histogram(name: str, text: str, buckets: Sequence[float]) -> Histogram:
    METRICS.append(Metric(PREFIX + name, "histogram", (), text))
    return Histogram(PREFIX + name, text, registry=REGISTRY, buckets=buckets)


LEADING = _gauge("leading", "1 while this replica is the active one of the role.", "role")
CYCLE_SECONDS = _histogram(
    "cycle_seconds", "Duration of a scheduling cycle.", (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10)
)
OUTCOMES = _counter("outcomes", "Decisions about pods, by kind of outcome.", "outcome")
QUEUE = _gauge("queue_pods", "Pending pods in the scheduling queue, by state.", "state")
PENDING = _gauge("pending_pods", "Pending pods, by the first reason of their last refusal.", "reason")
IN_FLIGHT = _gauge("decided_pods", "Pods that are decided and whose BindRequest has not been seen yet.")
DEVICES = _gauge(
    "devices",
    "Devices in use. allocated: in the status of claims; reserved: in the scheduler's ledger, where BindRequests and "
    "decisions count, too.",
    "state",
)
BINDS = _counter("binds", "BindRequests carried out, by result.", "result")
BINDING = _gauge("binding_pods", "Pods that are being bound.")
BIND_SECONDS = _histogram(
    "bind_seconds", "Duration of an attempt to carry out a BindRequest.", (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
)
PLAN_SECONDS = _histogram(
    "plan_seconds",
    "Duration of planning nodes for a batch of unschedulable pods.",
    (0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30),
)
NODECLAIMS_WRITTEN = _counter(
    "nodeclaims_written", "NodeClaims that were created or extended by further pods, by result.", "result"
)
NOMINATED_PODS = _counter("nominated_pods", "Pods that a NodeClaim was created or extended for.")
NODECLAIM_STEPS = _counter("nodeclaim_steps", "Steps in the life cycle of NodeClaims, by kind of step.", "step")
DISRUPTIONS = _counter("disruptions", "Nodes that were chosen for disruption, by reason.", "reason")
DISRUPTION_SECONDS = _histogram(
    "disruption_seconds", "Duration of a search for nodes to disrupt.", (0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
)
API_REQUESTS = _counter(
    "api_requests",
    "Requests to the API server without watches; code is none if no answer came.",
    "verb",
    "resource",
    "code",
)
WATCH_EVENTS = _counter("watch_events", "Watch events, by what was new about them.", "resource", "novelty")
WATCH_VERSION = _gauge("watch_version", "Resource version up to which every change has been observed.", "resource")
REPAIRS = _counter("watch_repairs", "Objects of which a watch had missed a change.", "resource")
INVALID_OBJECTS = _counter("invalid_objects", "Objects that were ignored because they are invalid.", "resource")
EVENTS = _counter("events", "Kubernetes Events, by reason and by whether they were written.", "reason", "fate")
