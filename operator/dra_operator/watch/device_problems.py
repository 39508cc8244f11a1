"""Events on ResourceSlices and DeviceClasses: that a pool hands out nothing, or that a class can match nothing.

Nobody who publishes slices or classes looks at the pods that fail because of them.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator

from dra_operator.api.events import EventMessage, EventType, Recorder, Regarding
from dra_scheduling.devices import INVALID, PoolProblem
from dra_scheduling.model.ids import PoolKey
from dra_scheduling.model.slices import DeviceClass, ResourceSlice
from dra_scheduling.wire import KubernetesObject
from kube_cel import CompileError, compile_selector

INVALID_SELECTOR = "InvalidSelector"
MAX_REMEMBERED = 10_000


class DeviceProblems:
    """Says each problem once, as an Event of the object.

    `problem_of` returns why a pool hands out nothing. An incomplete one is left alone: its driver is at work on it.
    """

    def __init__(self, recorder: Recorder, problem_of: Callable[[PoolKey], PoolProblem | None]) -> None:
        self._recorder = recorder
        self._problem_of = problem_of
        self._told: OrderedDict[str, str] = OrderedDict()

    def changed(self, value: KubernetesObject) -> None:
        """Look at an object that is new or different."""
        match value:
            case ResourceSlice():
                key = PoolKey(value.spec.driver, value.spec.pool.name)
                problem = self._problem_of(key)
                if problem is not None and problem.reason == INVALID:
                    self._tell(value, INVALID, f"pool {key} hands out no devices: {problem.text}")
            case DeviceClass():
                problems = tuple(_selector_problems(value))
                if problems:
                    self._tell(value, INVALID_SELECTOR, "; ".join(problems))
            case _:
                pass

    def removed(self, value: KubernetesObject) -> None:
        """Forget an object that is gone."""
        self._told.pop(value.metadata.uid, None)

    def _tell(self, value: KubernetesObject, reason: str, message: str) -> None:
        uid = value.metadata.uid
        if self._told.get(uid) == message:
            return
        self._told[uid] = message
        if len(self._told) > MAX_REMEMBERED:
            self._told.popitem(last=False)
        self._recorder.tell(
            EventMessage(regarding=Regarding.of(value), severity=EventType.WARNING, reason=reason, message=message)
        )


def _selector_problems(value: DeviceClass) -> Iterator[str]:
    for number, selector in enumerate(value.spec.selectors):
        if selector.cel is None:
            continue
        try:
            compile_selector(selector.cel.expression)
        except CompileError as error:
            place = f"line {error.line}, column {error.column}"
            yield f"spec.selectors[{number}].cel.expression does not compile: {error.problem} ({place})"
