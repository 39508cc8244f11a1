import pytest

from dra_cluster.binds import DECISION, POD, WRITES, again, begin_bind_with_named_claim
from dra_cluster.faults import Hold, Match
from dra_cluster.mirror import BIND_REQUESTS, PODS
from dra_cluster.proxy import Proxy
from dra_cluster.world import World, consumers, devices

STEPS = {
    "decide": DECISION,
    **WRITES,
    "protect named claim": Match(method="PATCH", path="/resourceclaims/named$"),
    "reserve named claim": Match(path="/resourceclaims/named/status"),
}


def is_free(world: World) -> bool:
    """Whether nothing is left of the bind: no claim of the pod, no device and no consumer in the one that stays."""
    status = world.claim("named").get("status") or {}
    return not (
        world.special_claims() or world.claim_of(POD, "made") or status.get("allocation") or status.get("reservedFor")
    )


@pytest.mark.parametrize("step", STEPS)
def test_nothing_is_left_of_the_bind_of_a_pod_that_vanished(world: World, proxy: Proxy, step: str) -> None:
    hold = Hold()
    proxy.disturb(STEPS[step], hold.after())
    pod = begin_bind_with_named_claim(world)
    hold.reached()
    world.remove(PODS, POD)
    hold.release()

    world.mirror.until(lambda: is_free(world), "everything to be undone")
    world.mirror.until(lambda: not world.mirror.items(BIND_REQUESTS, world.namespace), "the BindRequest to go")
    late = [
        event for event in world.events(POD, "BindFailed") if event["involvedObject"]["uid"] == pod["metadata"]["uid"]
    ]
    assert late == []


@pytest.mark.parametrize("step", ["create special claim", "reserve named claim", "show special claim"])
def test_a_new_pod_of_the_same_name_starts_clean(world: World, proxy: Proxy, step: str) -> None:
    hold = Hold()
    proxy.disturb(STEPS[step], hold.after())
    begin_bind_with_named_claim(world)
    hold.reached()
    world.remove(PODS, POD)
    pod = again(world)
    hold.release()

    assert world.bound(POD) == world.named("n1")
    assert world.find_pod(POD)["metadata"]["uid"] == pod["metadata"]["uid"]
    claims = [world.special_claim(POD), world.claim_of(POD, "made"), world.claim("named")]
    assert [consumers(claim) for claim in claims] == [[POD]] * 3
    assert sorted(name for claim in claims for name in devices(claim)) == ["gpu-0", "gpu-1", "gpu-2"]


def test_a_claim_that_others_use_keeps_its_devices(world: World, proxy: Proxy) -> None:
    hold = Hold()
    begin_bind_with_named_claim(world)
    world.ended(POD)
    rule = proxy.disturb(Match(path="/pods/second/binding"), hold.before())
    world.pod("second", {"name": "named", "resourceClaimName": "named"})
    hold.reached()
    world.remove(PODS, "second")
    hold.release()

    world.mirror.until(lambda: consumers(world.claim("named")) == [POD], "the pod that vanished to be taken out")
    assert rule.hits == 1
    assert len(devices(world.claim("named"))) == 1
