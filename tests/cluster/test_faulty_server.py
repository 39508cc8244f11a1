from collections.abc import Mapping

import pytest

from dra_builders.manifests import from_claim
from dra_cluster.binds import DECISION, POD, WRITES, assert_bound_once, begin_bind
from dra_cluster.faults import Action, Match, answer, answer_after_applying, reset, reset_after_applying
from dra_cluster.mirror import BIND_REQUESTS, CLAIMS, PODS
from dra_cluster.proxy import Proxy
from dra_cluster.witness import phase_of
from dra_cluster.world import World, consumers

FAULTS: Mapping[str, Action] = {
    "409": answer(409),
    "429": answer(429, retry_after=1),
    "500": answer(500),
    "500 after applying": answer_after_applying(500),
    "reset": reset(),
    "reset after applying": reset_after_applying(),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("write", WRITES)
def test_a_pod_is_bound_once_whatever_a_write_meets(world: World, proxy: Proxy, write: str, fault: str) -> None:
    rule = proxy.disturb(WRITES[write], FAULTS[fault])
    begin_bind(world)

    assert_bound_once(world)
    rule.wait()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_pod_is_decided_once_whatever_the_decision_meets(world: World, proxy: Proxy, fault: str) -> None:
    rule = proxy.disturb(DECISION, FAULTS[fault])
    begin_bind(world)

    assert_bound_once(world)
    rule.wait()
    uids = {request["metadata"]["uid"] for _, request in world.mirror.history(BIND_REQUESTS, world.namespace)}
    assert len(uids) == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_no_consumer_is_lost_when_two_pods_reserve_one_claim(world: World, proxy: Proxy, fault: str) -> None:
    world.gpu_node("n1", 1)
    world.gpu_claim("shared", world.gpu_class())
    rule = proxy.disturb(Match(path="/resourceclaims/shared/status"), FAULTS[fault])
    for name in ("a", "b", "c"):
        world.pod(name, from_claim("gpu", "shared"))

    assert {world.bound(name) for name in ("a", "b", "c")} == {world.named("n1")}
    assert consumers(world.claim("shared")) == ["a", "b", "c"]
    rule.wait()


def test_a_bind_that_keeps_failing_is_undone_and_says_so(world: World, proxy: Proxy) -> None:
    with proxy.disturbed(WRITES["bind"], answer(500)):
        begin_bind(world)
        failed = world.failed(POD)
        world.mirror.until(lambda: "DELETED" in changes_of_claims(world), "the special claim to be deleted")

    assert failed["status"]["failedAttempts"] == failed["spec"]["backoffLimit"]
    assert "injected 500" in failed["status"]["reason"]
    assert world.told(POD, "BindFailed", "injected 500")
    assert world.bound(POD) == world.named("n1")
    assert world.ended(POD)["metadata"]["uid"] == failed["metadata"]["uid"]


def changes_of_claims(world: World) -> list[str]:
    """What has become of claims up to now; of these pods only special ones are ever deleted."""
    return [event for event, _ in world.mirror.history(CLAIMS, world.namespace)]


def test_a_failed_attempt_is_counted_and_explained(world: World, proxy: Proxy) -> None:
    proxy.disturb(WRITES["bind"], answer(500))
    begin_bind(world)
    world.ended(POD)

    tries = [one["status"] for _, one in world.mirror.history(BIND_REQUESTS, world.namespace) if one.get("status")]
    failed = [one for one in tries if not one.get("phase")]
    assert [one["failedAttempts"] for one in failed] == [1]
    assert "injected 500" in failed[0]["reason"]
    assert failed[0]["lastAttemptTime"]


def test_success_is_told_only_when_there_is_one(world: World, proxy: Proxy) -> None:
    proxy.disturb(WRITES["bind"], answer(500))
    begin_bind(world)
    world.bound(POD)
    world.told(POD, "Scheduled")

    phases = [phase_of(request) for _, request in world.mirror.history(BIND_REQUESTS, world.namespace)]
    bound = next(pod for _, pod in world.mirror.history(PODS, world.namespace) if pod["spec"].get("nodeName"))
    (told,) = world.events(POD, "Scheduled")
    assert phases.count("Succeeded") == 1
    assert int(bound["metadata"]["resourceVersion"]) < int(told["metadata"]["resourceVersion"])


def test_the_next_attempt_creates_the_claim_under_the_name_that_the_pod_shows(world: World, proxy: Proxy) -> None:
    with proxy.disturbed(WRITES["bind"], answer(403)):
        begin_bind(world)
        world.failed(POD)
    world.bound(POD)

    special = [
        claim["metadata"]
        for event, claim in world.mirror.history(CLAIMS, world.namespace)
        if event == "ADDED" and "-extended-resources-" in claim["metadata"]["name"]
    ]
    assert len({metadata["uid"] for metadata in special}) > 1
    assert len({metadata["name"] for metadata in special}) == 1
