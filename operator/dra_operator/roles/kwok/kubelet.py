"""The kubelets of made-up nodes: pods run, end after the time that they say, and go when they are deleted."""

from dra_operator.api.events import EventMessage, EventType, Recorder, Regarding
from dra_operator.roles.kwok.behaviour import RUNS_FOR, Behaviour, Pauses, seconds_in
from dra_operator.roles.kwok.objects import running_status, succeeded_status
from dra_operator.roles.kwok.writer import KwokWriter
from dra_scheduling.model.pods import Node, Pod

BAD_ANNOTATION = "BadAnnotation"


class Kubelet:
    """`look` returns after how many seconds to look again, 0 if only news can change anything.

    `usual_seconds` is how long pods run that do not say it; 0 is for ever.
    """

    __slots__ = ("_pauses", "_recorder", "_usual_seconds", "_writer")

    def __init__(self, writer: KwokWriter, *, pauses: Pauses, recorder: Recorder, usual_seconds: float) -> None:
        self._writer = writer
        self._pauses = pauses
        self._recorder = recorder
        self._usual_seconds = usual_seconds

    async def look(self, pod: Pod, node: Node, behaviour: Behaviour) -> float:
        """Take the next step for a pod on a node. Raises `ApiError`."""
        if "heartbeat" in behaviour.never:
            return 0.0
        if pod.metadata.is_deleting:
            await self._writer.end_pod(pod)
            return 0.0
        if pod.is_finished:
            return 0.0
        if pod.status.phase != "Running":
            await self._writer.show_pod(pod, running_status(pod, node))
            return 0.0
        seconds = self._seconds(pod)
        if seconds is None:
            return 0.0
        left = self._pauses.left(pod.metadata.uid, seconds)
        if not left:
            await self._writer.show_pod(pod, succeeded_status(pod))
        return left

    def forget(self, pod: Pod) -> None:
        """Wait for nothing of a pod any more."""
        self._pauses.end(pod.metadata.uid)

    def _seconds(self, pod: Pod) -> float | None:
        text = pod.metadata.annotations.get(RUNS_FOR)
        if text is None:
            return self._usual_seconds or None
        try:
            return seconds_in(text)
        except ValueError as error:
            message = f"{RUNS_FOR}={text}: {error}"
            regarding = Regarding.of(pod)
            self._recorder.tell(
                EventMessage(regarding=regarding, severity=EventType.WARNING, reason=BAD_ANNOTATION, message=message)
            )
            return None
