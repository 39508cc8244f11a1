import msgspec
import pytest

from dra_builders.values import pod
from dra_kube.errors import ApiError, ConflictError, ThrottledError, UnclearError
from dra_operating.api import ApiInMemory, Fault
from dra_operating.objects import at, bind_request, raw
from dra_operator.roles.scheduler.bindrequest_writer import BindRequestWriter, Reports
from dra_operator.watch.cache import Cache
from dra_scheduling.model.bindrequests import FAILED, BindRequest
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.wire import read_as

COLLECTION = "/apis/scheduling.run.ai/v1alpha2/namespaces/default/bindrequests"
PATH = f"{COLLECTION}/p"


class World:
    def __init__(self) -> None:
        self.api = ApiInMemory()
        self.cache = Cache()
        self.may_write = True
        self.told: list[str] = []
        self.refusals: list[str] = []
        reports = Reports(
            ended=lambda _, result: self.told.append(result.value),
            refused=lambda _, message: self.refusals.append(message),
        )
        self.writer = BindRequestWriter(
            self.api, self.cache, reports, backoff_limit=3, may_write=lambda: self.may_write
        )
        self.cache.put(at(pod("p"), 1))

    def there_is(self, request: BindRequest) -> None:
        """The server has this BindRequest, and the cache knows."""
        found = self.api.put(PATH, raw(request))
        found["metadata"]["generation"] = request.metadata.generation
        self.cache.put(read_as(BindRequest, found))

    async def decide(self, node: str = "n1", value: Pod | None = None) -> None:
        await self.writer.write(Assignment(pod=value or pod("p"), node=node))

    def request(self) -> BindRequest:
        return read_as(BindRequest, self.api.objects[PATH])


@pytest.fixture
def world() -> World:
    return World()


async def test_a_decision_becomes_a_bind_request_of_its_pod(world: World) -> None:
    await world.decide()

    assert world.told == ["Done"]
    request = world.request()
    assert (request.spec.pod_uid, request.spec.selected_node, request.spec.backoff_limit) == ("uid-default-p", "n1", 3)
    assert request.metadata.labels == {"selected-node": "n1"}
    assert [(owner.kind, owner.uid, owner.controller) for owner in request.metadata.owner_references] == [
        ("Pod", "uid-default-p", False)
    ]


async def test_a_failed_bind_request_gets_the_new_decision(world: World) -> None:
    world.there_is(bind_request(pod("p"), phase=FAILED, attempts=3))

    await world.decide("n2")

    assert world.told == ["Done"]
    assert world.api.verbs() == ["replace"]
    assert world.request().spec.selected_node == "n2"
    assert world.request().metadata.generation == 2
    assert world.request().phase == ""


async def test_a_bind_request_of_a_former_pod_is_deleted_first(world: World) -> None:
    world.there_is(bind_request(at(pod("p"), 1, uid="former")))

    await world.decide()

    assert world.told == ["Done"]
    assert world.api.verbs() == ["delete", "create"]
    assert world.request().spec.pod_uid == "uid-default-p"


async def test_only_the_bind_request_that_was_seen_is_deleted(world: World) -> None:
    world.there_is(bind_request(at(pod("p"), 1, uid="former")))
    world.api.put(PATH, raw(bind_request(pod("p"), node="n9"), uid="written-by-another-replica"))

    await world.decide()

    assert world.told == ["Done"]
    assert world.request().spec.selected_node == "n9"


async def test_a_bind_request_that_the_cache_does_not_show_yet_is_adopted(world: World) -> None:
    world.api.put(PATH, raw(bind_request(pod("p"), node="n9")))

    await world.decide("n1")

    assert world.told == ["Done"]
    assert world.request().spec.selected_node == "n9"


async def test_a_failed_bind_request_that_changed_meanwhile_is_read_again(world: World) -> None:
    world.there_is(bind_request(pod("p"), phase=FAILED))
    world.api.put(PATH, raw(bind_request(pod("p"), phase=FAILED, attempts=1)))

    await world.decide("n2")

    assert world.told == ["Done"]
    assert world.request().spec.selected_node == "n2"


async def test_a_bind_request_that_is_gone_by_now_is_written_anew(world: World) -> None:
    world.there_is(bind_request(pod("p"), phase=FAILED))
    del world.api.objects[PATH]

    await world.decide()

    assert world.told == ["Done"]
    assert world.api.verbs() == ["replace", "create"]


async def test_an_unclear_answer_to_a_write_that_was_applied_is_no_second_write(world: World) -> None:
    world.api.faults.append(Fault(verb="create", path="", error=UnclearError("create", 500), is_applied=True))

    await world.decide()

    assert world.told == ["Done"]
    assert world.api.verbs() == ["create"]


async def test_an_unclear_answer_to_a_write_that_was_lost_is_written_again(world: World) -> None:
    world.api.faults.append(Fault(verb="create", path="", error=UnclearError("create", 0, reason="reset")))

    await world.decide()

    assert world.told == ["Done"]
    assert world.api.verbs() == ["create", "create"]


async def test_a_busy_server_is_asked_again(world: World) -> None:
    world.api.faults.append(Fault(verb="create", path="", error=ThrottledError("create", 429)))

    await world.decide()

    assert world.told == ["Done"]


async def test_a_refusal_is_told_to_the_pod_and_the_decision_does_not_hold(world: World) -> None:
    world.api.faults.append(Fault(verb="create", path="", error=ApiError("create bindrequests default/p", 403)))

    await world.decide()

    assert world.told == ["Refused"]
    assert world.refusals == ["could not create bindrequests default/p (403)"]


async def test_an_object_of_that_name_that_cannot_be_read_is_named(world: World) -> None:
    world.api.objects[PATH] = {"metadata": {"name": "p", "namespace": "default", "uid": "x"}, "spec": {"podName": 7}}

    await world.decide()

    assert world.told == ["Refused"]
    assert "use bindrequest default/p" in world.refusals[0]
    assert "$.spec.podName" in world.refusals[0]


async def test_conflicts_without_end_are_given_up(world: World) -> None:
    world.api.faults += [Fault(verb="create", path="", error=ConflictError("create", 409)) for _ in range(9)]

    await world.decide()

    assert world.told == ["Conflict"]


@pytest.mark.parametrize("fate", ["gone", "another", "bound"])
async def test_nothing_is_written_for_a_pod_that_does_not_wait_any_more(world: World, fate: str) -> None:
    world.cache.drop(Pod, pod("p").key, "uid-default-p")
    if fate == "another":
        world.cache.put(at(pod("p"), 2, uid="another"))
    elif fate == "bound":
        world.cache.put(at(pod("p", node_name="n1"), 2))

    await world.decide()

    assert world.told == ["Dropped"]
    assert world.api.calls == []


async def test_a_replica_that_has_lost_its_lease_writes_nothing(world: World) -> None:
    world.may_write = False

    await world.decide()

    assert world.told == ["Dropped"]
    assert world.api.calls == []


async def test_what_others_put_on_a_failed_bind_request_stays(world: World) -> None:
    request = bind_request(pod("p"), phase=FAILED)
    metadata = msgspec.structs.replace(request.metadata, labels={"team": "a"}, annotations={"note": "b"})
    world.there_is(msgspec.structs.replace(request, metadata=metadata))

    await world.decide("n2")

    assert world.request().metadata.labels == {"team": "a", "selected-node": "n2"}
    assert world.request().metadata.annotations == {"note": "b"}
