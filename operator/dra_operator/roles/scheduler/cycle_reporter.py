"""Metrics and log lines about the scheduling loop's work."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

from dra_operator.logs import log
from dra_operator.metrics import (
    CYCLE_SECONDS,
    DEVICES,
    DISRUPTION_SECONDS,
    DISRUPTIONS,
    IN_FLIGHT,
    NOMINATED_PODS,
    OUTCOMES,
    PLAN_SECONDS,
    QUEUE,
)
from dra_scheduling.cycle.events import Event
from dra_scheduling.cycle.loop import Backlog
from dra_scheduling.cycle.reporter import Phase, SilentReporter
from dra_scheduling.disruption.methods import Decision
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Nominated, Outcome

SECONDS = {Phase.ALLOCATE: CYCLE_SECONDS, Phase.PLAN: PLAN_SECONDS, Phase.DISRUPT: DISRUPTION_SECONDS}
SHOWN = 20
LONGEST_EVENT = 1_000

_log = log("cycle")


class MetricsReporter(SilentReporter):
    """Counts and measures what the loop does, and logs what goes wrong."""

    def timed(self, phase: Phase) -> AbstractContextManager[object]:
        """Return a context that measures its time."""
        return SECONDS[phase].time()

    def decided(self, outcome: Outcome | Nominated) -> None:
        """Count a decision about a pod."""
        OUTCOMES.labels(type(outcome).__name__.lower()).inc()

    def nominated(self, pods: int) -> None:
        """Count pods that have a NodeClaim now."""
        NOMINATED_PODS.inc(pods)

    def disrupting(self, decision: Decision) -> None:
        """Count and log the nodes that were chosen to be removed."""
        DISRUPTIONS.labels(decision.reason).inc(len(decision.claims))
        names = [claim.name for claim in decision.claims]
        _log.info("disrupting nodes", reason=decision.reason, nodeclaims=names[:SHOWN], why=decision.message)

    def failed(self, phase: Phase, error: Exception, pods: Sequence[Pod]) -> None:
        """Log a defect with its traceback."""
        names = [str(pod.key) for pod in pods][:SHOWN]
        _log.error("a part of the cycle failed", phase=phase.value, pods=names, exc_info=error)

    def not_observed(self, event: Event, error: Exception) -> None:
        """Log a defect with its traceback, and the event."""
        _log.error("an event could not be taken in", scheduling_event=repr(event)[:LONGEST_EVENT], exc_info=error)


def measure(backlog: Backlog) -> None:
    """Set the figures of /metrics to what is true now."""
    DEVICES.labels("reserved").set(backlog.devices)
    QUEUE.labels("ready").set(backlog.ready)
    QUEUE.labels("waiting").set(backlog.waiting)
    QUEUE.labels("held").set(backlog.held)
    QUEUE.labels("planned").set(backlog.planned)
    IN_FLIGHT.set(backlog.in_flight)
