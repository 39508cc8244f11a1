"""Special claims that an earlier attempt has left behind, in whatever state."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dra_builders import manifests
from dra_cluster.mirror import CLAIMS, PODS
from dra_cluster.operators import RunningOperator
from dra_cluster.witness import SPECIAL
from dra_cluster.world import World, devices
from dra_controlplane.client import Json, path_of

REQUEST = "container-0-request-0"
FOREIGN = "example.com/keeps-it"


@contextmanager
def asleep(world: World, *operators: RunningOperator) -> Iterator[None]:
    """Nobody acts on what happens meanwhile; the last wakes first, and has seen all claims before the next wakes."""
    for operator in operators:
        operator.pause()
    yield
    claims = [{**one, "kind": "ResourceClaim"} for one in world.api.items(CLAIMS, namespace=world.namespace)]
    for operator in reversed(operators):
        operator.resume()
        operator.wait_seen(*claims)


def waiting_pod(world: World) -> tuple[Json, str]:
    """A pod that needs the only device of its node, and the class that serves it."""
    world.gpu_node("n1", 1)
    gpu = world.gpu_class(extended=world.resource)
    return world.pod("trainer", limits={world.resource: 1}), gpu


def leave_behind(world: World, pod: Json, gpu: str, *, suffix: str = "aaaaa", finalizers: tuple[str, ...] = ()) -> str:
    """Creates a special claim of a pod and returns its name."""
    metadata = pod["metadata"]
    claim = manifests.claim(f"trainer-extended-resources-{suffix}", manifests.request(REQUEST, gpu))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "trainer", "uid": metadata["uid"], "controller": True}
    claim["metadata"] |= {
        "annotations": {SPECIAL: "true"},
        "ownerReferences": [owner],
        "finalizers": ["resource.kubernetes.io/delete-protection", *finalizers],
    }
    return str(world.create(claim)["metadata"]["name"])


def fill(world: World, claim: str, pod: Json) -> None:
    """Gives the only device to a claim, for the pod."""
    node = world.named("n1")
    result = manifests.result(REQUEST, driver=world.driver, pool_name=node, device_name="gpu-0")
    world.allocate(claim, manifests.allocation(node, result), pod)


def show_in_pod(world: World, claim: str) -> None:
    """Names a claim in the status of the pod."""
    mapping = {"containerName": "main", "resourceName": world.resource, "requestName": REQUEST}
    world.patch_status(
        PODS, "trainer", {"extendedResourceClaimStatus": {"resourceClaimName": claim, "requestMappings": [mapping]}}
    )


def assert_bound_with_one_claim(world: World) -> None:
    assert world.bound("trainer") == world.named("n1")
    assert devices(world.special_claim("trainer")) == ["gpu-0"]
    until_one_is_left(world)


def until_one_is_left(world: World) -> None:
    """Waits until the claim that the pod names is the only special one."""
    named = world.special_claim("trainer")["metadata"]["uid"]
    world.mirror.until(
        lambda: [one["metadata"]["uid"] for one in world.special_claims()] == [named], "one special claim to be left"
    )


def test_a_claim_that_is_seen_only_after_the_bind_does_not_stay(
    world: World, scheduler: RunningOperator, binder: RunningOperator
) -> None:
    pod, gpu = waiting_pod(world)
    world.bound("trainer")

    leave_behind(world, pod, gpu)

    assert_bound_with_one_claim(world)


@pytest.mark.parametrize("state", ["empty", "allocated", "shown in the pod"])
def test_a_pod_is_bound_with_one_claim_whatever_was_left_behind(
    world: World, scheduler: RunningOperator, binder: RunningOperator, state: str
) -> None:
    with asleep(world, scheduler, binder):
        pod, gpu = waiting_pod(world)
        claim = leave_behind(world, pod, gpu)
        if state != "empty":
            fill(world, claim, pod)
        if state == "shown in the pod":
            show_in_pod(world, claim)

    assert_bound_with_one_claim(world)


def test_the_name_that_the_pod_shows_already_is_used_again(
    world: World, scheduler: RunningOperator, binder: RunningOperator
) -> None:
    with asleep(world, scheduler, binder):
        pod, gpu = waiting_pod(world)
        claim = leave_behind(world, pod, gpu)
        fill(world, claim, pod)
        show_in_pod(world, claim)

    world.bound("trainer")
    assert world.special_claim("trainer")["metadata"]["name"] == claim


def test_a_claim_of_a_former_pod_of_that_name_is_not_ours(
    world: World, scheduler: RunningOperator, binder: RunningOperator
) -> None:
    with asleep(world, scheduler, binder):
        pod, gpu = waiting_pod(world)
        former = {"metadata": {"name": "trainer", "uid": "00000000-0000-4000-8000-000000000001"}}
        leave_behind(world, former, gpu)

    world.bound("trainer")
    owners = world.special_claim("trainer")["metadata"]["ownerReferences"]
    assert [owner["uid"] for owner in owners] == [pod["metadata"]["uid"]]


def test_of_two_claims_left_behind_neither_stays_beside_the_new_one(
    world: World, scheduler: RunningOperator, binder: RunningOperator
) -> None:
    with asleep(world, scheduler, binder):
        pod, gpu = waiting_pod(world)
        fill(world, leave_behind(world, pod, gpu), pod)
        leave_behind(world, pod, gpu, suffix="bbbbb")

    assert_bound_with_one_claim(world)


def test_a_pod_waits_until_a_claim_that_is_being_deleted_is_gone(
    world: World, scheduler: RunningOperator, binder: RunningOperator
) -> None:
    with asleep(world, scheduler, binder):
        pod, gpu = waiting_pod(world)
        claim = leave_behind(world, pod, gpu, finalizers=(FOREIGN,))
        fill(world, claim, pod)
        world.remove(CLAIMS, claim)
    world.pending("trainer", claim)

    world.api.patch(path_of(CLAIMS, claim, namespace=world.namespace), {"metadata": {"finalizers": None}})

    assert_bound_with_one_claim(world)


def test_a_claim_that_its_bind_request_wants_is_finished_and_not_made_again(
    world: World, scheduler: RunningOperator, binder: RunningOperator
) -> None:
    with asleep(world, binder):
        pod, gpu = waiting_pod(world)
        world.mirror.until(lambda: world.request("trainer"), "the decision")
        with asleep(world, scheduler):
            claim = leave_behind(world, pod, gpu)
            fill(world, claim, pod)

    world.bound("trainer")
    assert world.special_claim("trainer")["metadata"]["name"] == claim
    until_one_is_left(world)
