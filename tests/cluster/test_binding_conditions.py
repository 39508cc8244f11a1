"""Devices that their driver has to make ready (KEP-5007). The tests play it: they say so in the status of claims."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from dra_builders.manifests import device, from_claim, from_template
from dra_cluster.kwok import Kwok
from dra_cluster.mirror import BIND_REQUESTS, CLAIMS, PODS
from dra_cluster.operators import Operators, RunningOperator
from dra_cluster.world import World, consumers, devices
from dra_controlplane.client import Json

ATTACHED, BROKEN = "example.com/attached", "example.com/broken"
TIMES = {"lastTransitionTime": "2026-01-01T00:00:00Z", "message": "says the test"}
PENDING_EVENT = "BindingConditionsPending"
IMPATIENT_SECONDS = "3"


def prepared(name: str) -> Json:
    """A device of a fabric, which is attached to the node of its pod."""
    return {
        **device(name),
        "bindsToNode": True,
        "bindingConditions": [ATTACHED],
        "bindingFailureConditions": [BROKEN],
    }


def fabric(world: World, count: int = 1) -> str:
    """A node with devices that have to be attached, a class of them, and a template; returns the class."""
    world.publish(world.node("n1"), [prepared(f"gpu-{number}") for number in range(count)])
    gpu = world.gpu_class(extended=world.resource)
    world.gpu_template(gpu)
    return gpu


def waiting(world: World, pod: str, text: str = ATTACHED) -> Json:
    """Waits until the BindRequest of a pod says that it waits for a device, and returns it."""

    def found() -> Json | None:
        status = world.request(pod).get("status") or {}
        is_so = status.get("phase") == "Pending" and text in status.get("reason", "")
        return world.request(pod) if is_so else None

    return world.mirror.until(found, f"the BindRequest of {pod} to wait for {text}")


def allocated(world: World, pod: str, entry: str = "gpu") -> Json:
    """Waits until the claim of a pod has devices, and returns it."""

    def found() -> Json | None:
        claim = world.claim_of(pod, entry)
        return claim if devices(claim) else None

    return world.mirror.until(found, f"the claim of {pod} to be allocated")


def say(world: World, claim: Json, condition: str, status: str = "True") -> None:
    """Says this of every device of a claim, as its driver."""
    said = {"type": condition, "status": status, "reason": "Said", **TIMES}
    results = claim["status"]["allocation"]["devices"]["results"]
    entries = [
        {"driver": one["driver"], "pool": one["pool"], "device": one["device"], "conditions": [said]} for one in results
    ]
    world.patch_status(CLAIMS, claim["metadata"]["name"], {"devices": entries})


def free(world: World, claim: str) -> Json:
    """Waits until nothing was left of an allocation, perhaps for a moment, and returns the claim as it was then."""

    def found() -> Json | None:
        history = (one for _, one in world.mirror.history(CLAIMS, world.namespace) if one["metadata"]["name"] == claim)
        return next((after for before, after in pairwise(history) if devices(before) and not devices(after)), None)

    return world.mirror.until(found, f"claim {claim} to be free")


def special(world: World, pod: str, *, but: str = "") -> Json:
    """Waits until one special claim of a pod is left and has devices, another one than that UID, and returns it."""

    def found() -> Json | None:
        claims = world.special_claims(pod)
        is_so = len(claims) == 1 and devices(claims[0]) and claims[0]["metadata"]["uid"] != but
        return claims[0] if is_so else None

    return world.mirror.until(found, f"the special claim of {pod}")


def decided_again(world: World, pod: str, number: int = 1) -> Json:
    """Waits until a pod has been decided about anew, and its claim is allocated once more."""

    def found() -> Json | None:
        request = world.request(pod)
        return request if (request.get("spec") or {}).get("decision", 0) >= number else None

    return world.mirror.until(found, f"{pod} to be decided anew")


@pytest.fixture
def impatient(world: World, operators: Operators, binder: RunningOperator) -> Iterator[RunningOperator]:
    """A binder that gives drivers little time, in the place of the usual one."""
    binder.kill()
    operator = operators.add(
        "impatient", roles="binder", account="dra-binder", binding_timeout_seconds=IMPATIENT_SECONDS
    )
    operator.run()
    yield operator
    operator.kill()


def test_a_pod_is_bound_when_its_device_is_ready(world: World) -> None:
    fabric(world)
    world.pod("trainer", from_template("gpu", "gpus"))
    request = waiting(world, "trainer")
    claim = allocated(world, "trainer")

    assert f"device {world.driver}/{world.named('n1')}/gpu-0" in request["status"]["reason"]
    assert claim["status"]["allocation"]["allocationTimestamp"]
    assert consumers(claim) == ["trainer"]
    assert world.node_of("trainer") == ""
    say(world, claim, ATTACHED, "False")
    say(world, claim, ATTACHED)
    assert world.bound("trainer") == world.named("n1")
    assert ATTACHED in world.told("trainer", PENDING_EVENT)
    world.ended("trainer")


def test_waiting_keeps_no_other_pod_from_being_bound(world: World) -> None:
    gpu = fabric(world, 1)
    world.gpu_node("n2", 1)
    world.pod("trainer", from_template("gpu", "gpus"), on=world.named("n1"))
    waiting(world, "trainer")
    world.gpu_claim("other", gpu)
    world.pod("other", from_claim("gpu", "other"))

    assert world.bound("other") == world.named("n2")
    say(world, allocated(world, "trainer"), ATTACHED)
    world.bound("trainer")


def test_a_broken_device_is_given_back_and_the_pod_decided_anew(world: World) -> None:
    gpu = fabric(world)
    world.gpu_claim("named", gpu)
    world.pod("trainer", from_claim("gpu", "named"))
    waiting(world, "trainer")
    say(world, allocated(world, "trainer"), BROKEN)
    left = free(world, "named")

    assert "devices" not in (left.get("status") or {})
    assert BROKEN in world.told("trainer", "BindFailed", "could not be made ready")
    decided_again(world, "trainer")
    waiting(world, "trainer")
    say(world, allocated(world, "trainer"), ATTACHED)
    assert world.bound("trainer") == world.named("n1")


def test_a_device_that_is_not_ready_in_time_is_given_back(world: World, impatient: RunningOperator) -> None:
    gpu = fabric(world)
    world.gpu_claim("named", gpu)
    world.pod("trainer", from_claim("gpu", "named"))
    waiting(world, "trainer")

    assert ATTACHED in world.told("trainer", "BindFailed", f"not ready {IMPATIENT_SECONDS} s after the allocation")
    world.remove(PODS, "trainer")
    free(world, "named")


def test_a_binder_that_is_killed_while_it_waits_leaves_the_rest_to_the_next(
    world: World, binder: RunningOperator
) -> None:
    fabric(world)
    world.pod("trainer", from_template("gpu", "gpus"))
    waiting(world, "trainer")
    world.told("trainer", PENDING_EVENT)
    claim = allocated(world, "trainer")
    binder.kill()
    binder.run()
    assert world.node_of("trainer") == ""
    say(world, claim, ATTACHED)

    assert world.bound("trainer") == world.named("n1")
    world.ended("trainer")
    times = {
        one["status"]["allocation"]["allocationTimestamp"]
        for _, one in world.mirror.history(CLAIMS, world.namespace)
        if "allocation" in (one.get("status") or {})
    }
    assert len(times) == 1
    assert [event.get("count", 1) for event in world.events("trainer", PENDING_EVENT)] == [1]


def test_a_device_that_gets_ready_while_no_binder_is_there_is_ready(world: World, binder: RunningOperator) -> None:
    fabric(world)
    world.pod("trainer", from_template("gpu", "gpus"))
    waiting(world, "trainer")
    binder.kill()
    say(world, allocated(world, "trainer"), ATTACHED)
    binder.run()

    assert world.bound("trainer") == world.named("n1")


def test_a_restart_gives_the_driver_no_more_time(world: World, impatient: RunningOperator) -> None:
    fabric(world)
    world.pod("trainer", from_template("gpu", "gpus"))
    waiting(world, "trainer")
    impatient.kill()
    impatient.run()
    decided_again(world, "trainer")

    first = next(
        one
        for _, one in world.mirror.history(BIND_REQUESTS, world.namespace)
        if (one.get("status") or {}).get("phase") == "Failed"
    )
    assert f"not ready {IMPATIENT_SECONDS} s after the allocation" in first["status"]["reason"]
    world.remove(PODS, "trainer")


def test_a_pod_that_is_deleted_while_it_waits_gives_its_devices_back(world: World) -> None:
    gpu = fabric(world)
    world.gpu_claim("named", gpu)
    world.pod("trainer", from_claim("gpu", "named"))
    waiting(world, "trainer")
    world.remove(PODS, "trainer")
    free(world, "named")
    world.pod("next", from_template("gpu", "gpus"))
    waiting(world, "next")
    say(world, allocated(world, "next"), ATTACHED)

    assert world.bound("next") == world.named("n1")


def test_the_claim_for_an_extended_resource_waits_as_well(world: World) -> None:
    fabric(world)
    world.pod("trainer", limits={world.resource: 1})
    waiting(world, "trainer")
    say(world, special(world, "trainer"), ATTACHED)

    assert world.bound("trainer") == world.named("n1")
    assert devices(world.special_claim("trainer")) == ["gpu-0"]


def test_a_broken_device_takes_the_claim_for_an_extended_resource_with_it(world: World) -> None:
    fabric(world)
    world.pod("trainer", limits={world.resource: 1})
    waiting(world, "trainer")
    broken = special(world, "trainer")
    say(world, broken, BROKEN)
    decided_again(world, "trainer")
    waiting(world, "trainer")
    say(world, special(world, "trainer", but=broken["metadata"]["uid"]), ATTACHED)

    assert world.bound("trainer") == world.named("n1")


def test_pods_that_share_a_claim_wait_for_it_together(world: World) -> None:
    gpu = fabric(world)
    world.gpu_claim("shared", gpu)
    for name in ("first", "second"):
        world.pod(name, from_claim("gpu", "shared"))
    for name in ("first", "second"):
        waiting(world, name)
    say(world, allocated(world, "first"), ATTACHED)

    assert [world.bound(name) for name in ("first", "second")] == [world.named("n1")] * 2


def test_a_broken_claim_that_pods_share_is_given_back_by_the_last(world: World) -> None:
    gpu = fabric(world)
    world.gpu_claim("shared", gpu)
    for name in ("first", "second"):
        world.pod(name, from_claim("gpu", "shared"))
    for name in ("first", "second"):
        waiting(world, name)
    say(world, allocated(world, "first"), BROKEN)
    free(world, "shared")
    for name in ("first", "second"):
        decided_again(world, name)
        waiting(world, name)
    say(world, allocated(world, "first"), ATTACHED)

    assert [world.bound(name) for name in ("first", "second")] == [world.named("n1")] * 2


def test_a_node_that_comes_up_publishes_what_its_pods_wait_for(world: World, kwok: Kwok) -> None:
    kwok.machines.instance_type(devices={"groups": [{**prepared("gpu-0"), "driver": world.driver}]})
    world.gpu_template(world.gpu_class())
    name = kwok.claim("n")
    kwok.machines.until(name, "DevicesAsPromised", "True")
    world.pod("trainer", from_template("gpu", "gpus"))
    waiting(world, "trainer")

    say(world, allocated(world, "trainer"), ATTACHED)

    assert world.bound("trainer") == name
    world.ended("trainer")
