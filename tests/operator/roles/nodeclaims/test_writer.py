import pytest
from msgspec.structs import replace

from dra_builders.values import pod, quantities
from dra_kube.api import Json
from dra_kube.errors import ApiError, ConflictError, ThrottledError, UnclearError
from dra_operating.clock import ManualClock
from dra_operating.requests import RequestsInMemory
from dra_operator.roles.nodeclaims.writer import Blocked, StepWriter
from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.instancetypes import Failure, InstanceType
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimSpec, NodeClaimStatus, NodeClassRef
from dra_scheduling.model.nodepools import NodePool, NodePoolStatus
from dra_scheduling.nodeclaims import ChangeNode, ChangeStatus, ChangeType
from dra_scheduling.wire import read_as, write

NODE = "/api/v1/nodes/n1"
CLAIM = "/apis/karpenter.sh/v1/nodeclaims/c1"
POD = "/api/v1/namespaces/default/pods/p"
TAINT = {"key": "example.com/kept", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z", "future": 1}
GONE = Taint(key="example.com/gone", effect="NoExecute")
OWNER = OwnerReference(api_version="karpenter.sh/v1", kind="NodeClaim", name="c1", uid="uid-c1")
REGISTRATION = ChangeNode(
    name="n1",
    uid="uid-n1",
    labels={"a": "b"},
    owner=OWNER,
    added=(Taint(key="example.com/new", effect="NoSchedule"),),
    removed=(GONE,),
)


@pytest.fixture
def server() -> RequestsInMemory:
    return RequestsInMemory()


def node(server: RequestsInMemory, **metadata: object) -> None:
    taints = [TAINT, {"key": GONE.key, "value": "x", "effect": GONE.effect}]
    server.put(NODE, {"metadata": {"name": "n1", **metadata}, "spec": {"providerID": "p", "taints": taints}})


def claim(server: RequestsInMemory) -> NodeClaim:
    reference = NodeClassRef("dra-scheduler.dev", "InstanceType", "default")
    value = NodeClaim(
        metadata=ObjectMeta(name="c1", uid="uid-c1", resource_version="1", finalizers=("other",)),
        spec=NodeClaimSpec(node_class_ref=reference, requirements=()),
    )
    server.put(CLAIM, write(value))
    return value


async def test_a_node_keeps_what_others_have_put_on_it(server: RequestsInMemory) -> None:
    node(server, labels={"theirs": "x"}, ownerReferences=[{"uid": "u", "name": "o"}])

    assert await StepWriter(server, ManualClock()).change_node(REGISTRATION)
    after = server.objects[NODE]
    assert after["spec"]["taints"] == [TAINT, {"key": "example.com/new", "effect": "NoSchedule"}]
    assert after["metadata"]["labels"] == {"theirs": "x", "a": "b"}
    assert [one["uid"] for one in after["metadata"]["ownerReferences"]] == ["u", "uid-c1"]


async def test_a_node_that_has_it_all_is_not_written(server: RequestsInMemory) -> None:
    node(server)
    await StepWriter(server, ManualClock()).change_node(REGISTRATION)
    before = len(server.calls)

    assert not await StepWriter(server, ManualClock()).change_node(REGISTRATION)
    assert len(server.calls) == before


async def test_another_node_of_that_name_is_left_alone(server: RequestsInMemory) -> None:
    node(server, uid="another")

    assert not await StepWriter(server, ManualClock()).change_node(REGISTRATION)
    assert server.calls == []


async def test_conditions_are_written_whole_and_under_their_version(server: RequestsInMemory) -> None:
    value = claim(server)
    said = Condition(type="Initialized", reason="R", last_transition_time="2026-01-01T00:00:00Z")
    time = "2026-01-01T00:00:01Z"
    step = ChangeStatus(status=NodeClaimStatus(node_name="n1", conditions=(said,), last_pod_event_time=time))
    await StepWriter(server, ManualClock()).change_status(value, step)

    (shown,) = server.objects[CLAIM]["status"]["conditions"]
    assert (shown["status"], shown["lastTransitionTime"]) == ("Unknown", "2026-01-01T00:00:00Z")
    assert server.objects[CLAIM]["status"]["lastPodEventTime"] == time
    with pytest.raises(ConflictError):
        await StepWriter(server, ManualClock()).change_status(value, step)


@pytest.mark.parametrize(("is_held", "expected"), [(True, ["other", "karpenter.sh/termination"]), (False, ["other"])])
async def test_of_the_finalizers_only_ours_comes_and_goes(
    server: RequestsInMemory,
    is_held: bool,  # noqa: FBT001
    expected: list[str],
) -> None:
    await StepWriter(server, ManualClock()).hold(claim(server), is_held=is_held)

    assert server.objects[CLAIM]["metadata"]["finalizers"] == expected


async def test_a_claim_that_is_gone_need_not_be_deleted(server: RequestsInMemory) -> None:
    value = claim(server)
    await StepWriter(server, ManualClock()).delete(value)
    await StepWriter(server, ManualClock()).delete(value)

    assert server.objects == {}


async def test_a_claim_that_has_changed_meanwhile_is_not_deleted(server: RequestsInMemory) -> None:
    value = claim(server)
    server.put(CLAIM, {**write(value), "metadata": {"name": "c1", "uid": "uid-c1", "resourceVersion": "2"}})

    with pytest.raises(ConflictError):
        await StepWriter(server, ManualClock()).delete(value)
    assert CLAIM in server.objects


async def test_a_pause_that_is_over_is_taken_out(server: RequestsInMemory) -> None:
    path = "/apis/dra-scheduler.dev/v1alpha1/instancetypes/t"
    rests = {"registrationFailures": 1, "registrationRetryAfter": "2026-01-01T00:00:00Z"}
    status = {"deviceFailures": 2, "retryAfter": "2026-01-01T00:00:00Z", **rests}
    spec: Json = {"offerings": [], "capacity": {}}
    server.put(path, {"metadata": {"name": "t"}, "spec": spec, "status": status})
    value = read_as(InstanceType, server.objects[path])

    step = ChangeType(name="t", failure=Failure.DEVICES, failures=0, retry_after="")
    writer = StepWriter(server, ManualClock())

    await writer.change_type(value, step)
    assert server.objects[path]["status"] == {"deviceFailures": 0, **rests}

    value = read_as(InstanceType, server.objects[path])
    await writer.change_type(value, replace(step, failure=Failure.REGISTRATION))
    assert server.objects[path]["status"] == {"deviceFailures": 0, "registrationFailures": 0}


async def test_a_pool_no_longer_shows_what_it_has_no_more(server: RequestsInMemory) -> None:
    path = "/apis/karpenter.sh/v1/nodepools/general"
    template = {"spec": {"nodeClassRef": {"group": "g", "kind": "k", "name": "n"}, "requirements": []}}
    meta = {"name": "general"}
    status = {"resources": {"cpu": "4", "gpu": "2"}}
    server.put(path, {"metadata": meta, "spec": {"template": template}, "status": status})
    value = read_as(NodePool, server.objects[path])

    await StepWriter(server, ManualClock()).show_pool(
        value, NodePoolStatus(resources=quantities({"cpu": "2"}), nodes=1)
    )

    assert server.objects[path]["status"] == {"resources": {"cpu": "2"}, "nodes": 1, "conditions": []}


@pytest.mark.parametrize("error", [ThrottledError("evict", 429), UnclearError("evict", 500)], ids=["budget", "budgets"])
async def test_a_pod_that_may_not_go_is_asked_again_after_a_growing_pause(
    server: RequestsInMemory, error: ApiError
) -> None:
    clock = ManualClock()
    server.put(POD, {"metadata": {"name": "p", "uid": pod("p").metadata.uid}})
    server.refusals[f"{POD}/eviction"] = error
    writer = StepWriter(server, clock)

    def until(found: Blocked | None) -> float:
        return -1.0 if found is None else found.until - 1_000.0

    assert until(await writer.evict(pod("p"))) == 1.0
    assert until(await writer.evict(pod("p"))) == 1.0
    assert len(server.calls) == 1
    clock.advance(1.0)
    assert until(await writer.evict(pod("p"))) == 3.0
    clock.advance(2.0)
    del server.refusals[f"{POD}/eviction"]
    assert await writer.evict(pod("p")) is None
    assert server.objects == {}


async def test_a_pod_of_the_same_name_is_neither_evicted_nor_deleted(server: RequestsInMemory) -> None:
    server.put(POD, {"metadata": {"name": "p", "uid": "another"}})

    assert await StepWriter(server, ManualClock()).evict(pod("p")) is None
    await StepWriter(server, ManualClock()).end(pod("p"))
    assert POD in server.objects
