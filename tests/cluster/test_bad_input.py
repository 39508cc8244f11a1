"""What the API server lets pass although it cannot work: it harms nobody else, and says what is wrong with it."""

from typing import Any

import pytest

from dra_builders import manifests
from dra_builders.manifests import device, from_claim, from_template, request
from dra_cluster.etcd import overwrite
from dra_cluster.world import World, devices
from dra_controlplane.client import Json
from dra_controlplane.server import ControlPlane

COUNTERS = {"consumesCounters": [{"counterSet": "nowhere", "counters": {"memory": {"value": "1"}}}]}
TAINTED = {"taints": [{"key": "example.com/broken", "effect": "NoSchedule"}]}

# What is published, and what a pod that may go nowhere else says.
BAD_SLICES: dict[str, tuple[list[Json], Json, str]] = {
    "no device": ([], {}, "no device matches"),
    "pieces missing": ([device("gpu-0")], {"count": 3}, "updated"),
    "counters of no set": ([{**device("gpu-0"), **COUNTERS}], {}, "counter set nowhere"),
    "a tainted device": ([{**device("gpu-0"), **TAINTED}], {}, "taint"),
}


def victim_and_bystander(world: World) -> None:
    """A pod that may go to the bad node only, and one that may go where it likes."""
    gpu = world.gpu_class()
    world.gpu_claim("wanted", gpu)
    world.gpu_template(gpu)
    world.pod("victim", from_claim("gpu", "wanted"), on=world.named("bad"))
    world.pod("bystander", from_template("gpu", "gpus"))


@pytest.mark.parametrize("case", BAD_SLICES)
def test_a_bad_slice_spoils_its_own_pool_only(world: World, case: str) -> None:
    found, pool, text = BAD_SLICES[case]
    world.publish(world.node("bad"), found, **pool)
    good = world.gpu_node("good", 1)
    victim_and_bystander(world)

    assert world.bound("bystander") == good
    world.pending("victim", "wanted", text)


def test_slices_that_contradict_each_other_spoil_their_pool_only(world: World) -> None:
    bad, good = world.node("bad"), world.gpu_node("good", 1)
    world.publish(bad, [device("gpu-0")], stem="a", count=2)
    world.publish(bad, [device("gpu-0"), device("gpu-1")], stem="b", count=2)
    victim_and_bystander(world)

    assert world.bound("bystander") == good
    world.pending("victim", "wanted", "gpu-0")
    assert world.told(f"{bad}-b-1", "PoolInvalid", "gpu-0")


ODD_CAPACITIES = ["-1", "1n", "1e18", "12345678901234567890123456789Ki"]


@pytest.mark.parametrize("value", ODD_CAPACITIES)
def test_odd_quantities_are_numbers_like_any_other(world: World, value: str) -> None:
    node = world.node("n1")
    world.publish(node, [{**device("gpu-0"), "capacity": {"memory": {"value": value}}}])
    same = f"device.capacity['{world.driver}'].memory.compareTo(quantity('{value}')) == 0"
    world.gpu_template(world.gpu_class(), same)
    world.pod("trainer", from_template("gpu", "gpus"))

    assert world.bound("trainer") == node


BAD_EXPRESSIONS = {
    "no such domain": ("device.attributes['nobody.example.com'].size > 5", "no such key"),
    "a wrong type": ("dyn(device.driver) + 1 == 2", "no such overload"),
    "a bad pattern": ("device.driver.matches(device.driver + '(')", "regex"),
    "a bad quantity": ("quantity('many').isGreaterThan(quantity('1'))", "quantity"),
    "a division by nothing": ("1 / 0 == 1", "divi"),
    "a place beyond the end": ("[1, 2][5] == 1", "index"),
    "too large a number": ("9223372036854775807 + 1 > 0", "overflow"),
}


@pytest.mark.parametrize("case", BAD_EXPRESSIONS)
def test_a_class_that_fails_on_every_device_fails_its_users_only(world: World, case: str) -> None:
    expression, error = BAD_EXPRESSIONS[case]
    node = world.gpu_node("n1", 3)
    bad = world.gpu_class(expression, stem="bad", extended=world.resource)
    world.gpu_claim("wanted", bad)
    world.gpu_template(world.gpu_class())
    world.pod("victim", from_claim("gpu", "wanted"))
    world.pod("also", limits={world.resource: 1})
    world.pod("bystander", from_template("gpu", "gpus"))

    assert world.bound("bystander") == node
    assert error in world.pending("victim", "wanted", f"selector 2 of class {bad}")
    assert error in world.pending("also", world.resource, f"selector 2 of class {bad}")


def test_a_stored_class_that_does_not_compile_fails_its_users_only(world: World, control_plane: ControlPlane) -> None:
    world.gpu_node("n1", 2)
    bad = world.gpu_class("device.driver == 'xyz'", stem="bad", extended=world.resource)
    overwrite(control_plane.etcd_url, f"deviceclasses/{bad}", "device.driver == 'xyz'", "device.driver =+ 'xyz'")
    world.gpu_claim("wanted", bad)
    world.gpu_template(world.gpu_class())
    world.pod("victim", from_claim("gpu", "wanted"))
    world.pod("also", limits={world.resource: 1})
    world.pod("bystander", from_template("gpu", "gpus"))

    assert world.bound("bystander") == world.named("n1")
    world.pending("victim", "wanted", f"selector 2 of class {bad}")
    world.pending("also", world.resource, f"selector 2 of class {bad}")
    assert world.told(bad, "InvalidSelector", "spec.selectors[1].cel.expression does not compile")


def test_a_stored_claim_that_does_not_compile_fails_its_pod_only(world: World, control_plane: ControlPlane) -> None:
    world.gpu_node("n1", 1)
    gpu = world.gpu_class()
    world.gpu_claim("wanted", gpu, "device.driver == 'xyz'")
    key = f"resourceclaims/{world.namespace}/wanted"
    overwrite(control_plane.etcd_url, key, "device.driver == 'xyz'", "device.driver =+ 'xyz'")
    world.gpu_template(gpu)
    world.pod("victim", from_claim("gpu", "wanted"))
    world.pod("bystander", from_template("gpu", "gpus"))

    assert world.bound("bystander") == world.named("n1")
    world.pending("victim", "wanted", "selector 1 of the request")


BAD_CLAIMS: dict[str, tuple[Any, Json, str]] = {
    "too many devices": ({"count": 33}, {}, "32"),
    "more devices than can be counted": ({"count": 2**63 - 1}, {}, "32"),
    "an attribute that no device has": ({}, {"constraints": [{"matchAttribute": "example.com/nothing"}]}, "nothing"),
}


@pytest.mark.parametrize("case", BAD_CLAIMS)
def test_a_bad_claim_fails_its_pod_only(world: World, case: str) -> None:
    fields, rest, text = BAD_CLAIMS[case]
    node = world.gpu_node("n1", 3)
    gpu = world.gpu_class()
    world.create(manifests.claim("wanted", request("gpu", gpu, **fields), **rest))
    world.gpu_template(gpu)
    world.pod("victim", from_claim("gpu", "wanted"))
    world.pod("bystander", from_template("gpu", "gpus"))

    assert world.bound("bystander") == node
    world.pending("victim", "wanted", text)


def test_a_claim_for_a_class_that_nobody_has_made_names_it(world: World) -> None:
    world.gpu_node("n1", 1)
    world.gpu_claim("wanted", "nobody.example.com")
    world.pod("victim", from_claim("gpu", "wanted"))

    world.pending("victim", "wanted", "nobody.example.com")


BAD_PODS: dict[str, tuple[Json, str]] = {
    "more cpu than there can be": ({"limits": {"cpu": "12345678901234567890"}}, "cpu"),
    "more devices than there can be": ({"limits": {"example.com/gpu": "1E"}}, "example.com/gpu"),
    "a class that nobody has made": ({"limits": {"deviceclass.resource.kubernetes.io/none": "1"}}, "none"),
    "a node that does not exist": ({"on": "nowhere"}, "nowhere"),
}


@pytest.mark.parametrize("case", BAD_PODS)
def test_a_bad_pod_waits_alone(world: World, case: str) -> None:
    fields, text = BAD_PODS[case]
    node = world.gpu_node("n1", 1)
    world.gpu_template(world.gpu_class())
    world.pod("victim", **fields)
    world.pod("bystander", from_template("gpu", "gpus"))

    assert world.bound("bystander") == node
    world.pending("victim", text)


def test_one_claim_under_two_names_is_one_claim(world: World) -> None:
    world.gpu_node("n1", 1)
    world.gpu_claim("wanted", world.gpu_class())
    world.pod("double", from_claim("a", "wanted"), from_claim("b", "wanted"))

    world.bound("double")
    assert devices(world.claim("wanted")) == ["gpu-0"]
