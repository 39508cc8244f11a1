import pytest

from dra_builders.values import pod
from dra_operating.api import ApiInMemory
from dra_operating.clock import ManualClock
from dra_operating.loop import run_briefly
from dra_operating.objects import bind_request
from dra_operator.api.events import Recorder
from dra_operator.roles.binder.role import EventReport


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("bound", ("Normal", "Scheduled", "Successfully assigned default/p to n1")),
        ("waiting", ("Normal", "BindingConditionsPending", "Binding to n1: why")),
        ("failed", ("Warning", "BindFailed", "Could not bind to n1: why")),
    ],
)
async def test_a_pod_is_told_how_its_bind_goes(ending: str, said: tuple[str, str, str]) -> None:
    api = ApiInMemory()
    recorder = Recorder(api, "tester", ManualClock())
    report = EventReport(recorder)
    request = bind_request(pod("p"), "gpu-0")

    match ending:
        case "bound":
            report.bound(request, pod("p"))
        case "waiting":
            report.waiting(request, pod("p"), "why")
        case _:
            report.failed(request, pod("p"), "why")
    await run_briefly(recorder.run())

    assert [(one["type"], one["reason"], one["message"]) for one in api.objects.values()] == [said]
