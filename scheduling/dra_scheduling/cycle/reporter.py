"""Who watches the loop at work: metrics, logs, traces. The loop itself writes none of them."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from typing import Protocol

from dra_scheduling.cycle.events import Event
from dra_scheduling.disruption.methods import Decision
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning import ProvisioningResult
from dra_scheduling.state.assignments import Nominated, Outcome


class Phase(Enum):
    """The parts of the loop's work."""

    ALLOCATE = "allocate"
    PLAN = "plan"
    DISRUPT = "disrupt"


class CycleReporter(Protocol):
    """Is called while decisions are made; must not change anything that they depend on."""

    def timed(self, phase: Phase) -> AbstractContextManager[object]:
        """Return a context that lasts as long as one piece of work of this phase."""

    def allocating(self, pod: Pod) -> None:
        """Take note that the pod is the next one to be decided."""

    def allocated(self, outcome: Outcome, steps: int) -> None:
        """Take note of what the nodes say to the pod, and how many search steps that took."""

    def decided(self, outcome: Outcome | Nominated) -> None:
        """Take note of a decision about a pod."""

    def planning(self, pods: Sequence[Pod], now: str) -> None:
        """Take note that nodes are going to be planned for these pods, at this time (RFC 3339)."""

    def planned(self, result: ProvisioningResult) -> None:
        """Take note of the result of a plan."""

    def nominated(self, pods: int) -> None:
        """Take note that the API server has a NodeClaim for so many more pods."""

    def disrupting(self, decision: Decision) -> None:
        """Take note that nodes were chosen to be removed."""

    def failed(self, phase: Phase, error: Exception, pods: Sequence[Pod]) -> None:
        """Take note of a defect; the pods, if any, are tried one by one, and then later."""

    def not_observed(self, event: Event, error: Exception) -> None:
        """Take note of a defect that kept an event from being taken in."""


class SilentReporter:
    """For whoever reports nothing. A base for reporters that are interested in some things only."""

    def timed(self, phase: Phase) -> AbstractContextManager[object]:
        """Return a context that does nothing."""
        return nullcontext(phase)

    def allocating(self, pod: Pod) -> None:
        """Do nothing."""

    def allocated(self, outcome: Outcome, steps: int) -> None:
        """Do nothing."""

    def decided(self, outcome: Outcome | Nominated) -> None:
        """Do nothing."""

    def planning(self, pods: Sequence[Pod], now: str) -> None:
        """Do nothing."""

    def planned(self, result: ProvisioningResult) -> None:
        """Do nothing."""

    def nominated(self, pods: int) -> None:
        """Do nothing."""

    def disrupting(self, decision: Decision) -> None:
        """Do nothing."""

    def failed(self, phase: Phase, error: Exception, pods: Sequence[Pod]) -> None:
        """Do nothing."""

    def not_observed(self, event: Event, error: Exception) -> None:
        """Do nothing."""


SILENT = SilentReporter()
