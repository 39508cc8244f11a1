import msgspec

from dra_builders.values import pod
from dra_operating.api import ApiInMemory
from dra_operator.kinds import BIND_REQUESTS
from dra_operator.roles.scheduler.bindrequest_writer import BindRequestWriter, Reports
from dra_operator.watch.cache import Cache
from dra_scheduling.cycle.allocate import bind_request
from dra_scheduling.model.bindrequests import FAILED, BindRequest, BindRequestStatus
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.wire import read_as, write

LIMIT = 3


def writer(api: ApiInMemory, cache: Cache, written: list[Pod]) -> BindRequestWriter:
    reports = Reports(ended=lambda pod, _: written.append(pod), refused=lambda _, __: None)
    return BindRequestWriter(api, cache, reports, backoff_limit=LIMIT, may_write=lambda: True)


async def test_a_decision_that_repeats_a_failed_one_is_written_as_a_new_one() -> None:
    api, cache, written = ApiInMemory(), Cache(), list[Pod]()
    assignment = Assignment(pod=pod("trainer"), node="n1")
    path = BIND_REQUESTS.object_path(assignment.pod.key)
    failed = msgspec.structs.replace(bind_request(assignment, LIMIT), status=BindRequestStatus(phase=FAILED))
    cache.put(read_as(BindRequest, api.put(path, write(failed))))
    cache.put(assignment.pod)

    await writer(api, cache, written).write(assignment)

    spec = read_as(BindRequest, api.objects[path]).spec
    # An API server counts a generation only where the spec differs, and a status counts as long as its generation.
    assert spec == msgspec.structs.replace(failed.spec, decision=1)
    assert written == [assignment.pod]
