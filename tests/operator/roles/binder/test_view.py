from typing import Any

import msgspec
import pytest

from dra_binder.ports import Presence
from dra_builders.values import (
    GPU_CLASS,
    NAMESPACE,
    NIC_DRIVER,
    claim,
    claim_spec,
    container,
    devices,
    driver_class,
    labelled,
    node,
    on_node,
    pod,
    request,
    resource_slice,
    templated_pod,
)
from dra_builders.values import pool as pool_of
from dra_operating.clock import ManualClock
from dra_operating.objects import at, bind_request, device, held_claim
from dra_operator.roles.binder.view import CONTENDED_SECONDS, ClusterView
from dra_operator.watch.cache import Cache
from dra_scheduling.extended_resources.resource_names import implicit_name
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.bindrequests import FAILED, SUCCEEDED
from dra_scheduling.model.claims import ResourceClaimTemplate, ResourceClaimTemplateSpec
from dra_scheduling.model.pods import Container, Pod
from dra_scheduling.wire import KubernetesObject, key_of

OURS = "dra-scheduler"


class World:
    """A view with the cache behind it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.cache = Cache()
        self.view = ClusterView(self.cache, scheduler_name=OURS, progress=lambda: 7, clock=self.clock)
        self._version = 0

    def add(self, *values: KubernetesObject) -> None:
        for value in values:
            self._version += 1
            current = at(value, self._version)
            self.cache.put(current)
            self.view.changed(current)

    def remove(self, value: KubernetesObject) -> None:
        gone = self.cache.drop(type(value), key_of(value), at(value, 0).metadata.uid)
        assert gone is not None
        self.view.removed(gone)


@pytest.fixture
def world() -> World:
    return World()


def foreign(name: str, *containers: Container, **rest: Any) -> Pod:  # noqa: ANN401
    value = pod(name, *containers, **rest)
    return msgspec.structs.replace(value, spec=msgspec.structs.replace(value.spec, scheduler_name="default-scheduler"))


def test_a_device_leads_to_the_claims_that_hold_it(world: World) -> None:
    world.add(held_claim("a", "gpu-0"), held_claim("b", "gpu-0", "gpu-1"), held_claim("c", "gpu-2"))

    assert [claim.key.name for claim in world.view.claims_holding(device("gpu-0"))] == ["a", "b"]
    assert list(world.view.claims_holding(device("gpu-0", pool="n2"))) == []


def test_a_claim_that_lost_its_devices_holds_none(world: World) -> None:
    world.add(held_claim("a", "gpu-0"), held_claim("b", "gpu-1"))
    world.add(held_claim("a"))
    world.remove(held_claim("b"))

    assert list(world.view.claims_holding(device("gpu-0"))) == []
    assert list(world.view.claims_holding(device("gpu-1"))) == []
    assert world.view.devices_taken() == 0


def test_a_pod_leads_to_its_claims(world: World) -> None:
    one = pod("one")
    world.add(held_claim("a", "gpu-0", pods=(one,)), held_claim("b", "gpu-1", pods=(pod("two"), one)))

    assert [claim.key.name for claim in world.view.claims_of_pod(one.metadata.uid)] == ["a", "b"]
    assert world.view.pods_of_claim(held_claim("b").key) == {"uid-default-one", "uid-default-two"}


@pytest.mark.parametrize(("phase", "holding"), [("", 1), (SUCCEEDED, 0), (FAILED, 0)])
def test_only_an_unfinished_bind_request_holds_devices(world: World, phase: str, holding: int) -> None:
    world.add(bind_request(pod("p"), "gpu-0", phase=phase))

    assert len(list(world.view.bind_requests_holding(device("gpu-0")))) == holding
    assert len(list(world.view.bind_requests_of_pod("uid-default-p"))) == 1


def test_a_published_device_is_reachable_from_its_node_only(world: World) -> None:
    world.add(node("n1"), node("n2"), resource_slice("s", devices(2), node="n1"))

    assert world.view.presence(device("gpu-0"), "n1") is Presence.REACHABLE
    assert world.view.presence(device("gpu-0"), "n2") is Presence.ELSEWHERE
    assert world.view.presence(device("gpu-0"), "unknown") is Presence.ELSEWHERE
    assert world.view.presence(device("gpu-7"), "n1") is Presence.ABSENT


def test_a_device_of_an_incomplete_pool_may_be_on_its_way(world: World) -> None:
    world.add(node("n1"), resource_slice("s", devices(2), node="n1", pool=pool_of("n1", slices=2)))

    assert world.view.presence(device("gpu-7"), "n1") is Presence.UPDATING


def test_reach_follows_the_labels_of_a_node(world: World) -> None:
    zone = resource_slice("s", devices(1), pool="n1", selector=labelled(zone="a"))
    world.add(node("n1"), zone)
    assert world.view.presence(device("gpu-0"), "n1") is Presence.ELSEWHERE

    world.add(node("n1", labels={"zone": "a"}))

    assert world.view.presence(device("gpu-0"), "n1") is Presence.REACHABLE


def test_a_slice_that_is_gone_publishes_nothing(world: World) -> None:
    world.add(node("n1"), resource_slice("s", devices(1), node="n1"))
    world.remove(resource_slice("s", node="n1"))

    assert world.view.presence(device("gpu-0"), "n1") is Presence.ABSENT


def test_a_node_has_to_be_known_to_match_a_selector(world: World) -> None:
    world.add(node("n1"))

    assert world.view.matches(on_node("n1"), "n1")
    assert not world.view.matches(on_node("n1"), "n2")
    assert not world.view.matches(on_node("n2"), "n2")


def contended(world: World, *classes: str) -> bool:
    return world.view.is_contended([device("gpu-0").pool_key], classes)


def test_a_pool_is_contended_for_some_time_after_another_scheduler_took_from_it(world: World) -> None:
    world.add(foreign("theirs"), held_claim("a", "gpu-0", pods=(foreign("theirs"),)))
    assert contended(world)

    world.clock.advance(CONTENDED_SECONDS)

    assert not contended(world)


def test_our_own_claims_do_not_make_a_pool_contended(world: World) -> None:
    # The claim is seen first: watches of different kinds do not keep step.
    world.add(held_claim("a", "gpu-0", pods=(pod("ours"),)), pod("ours"))

    assert not contended(world)


def test_a_claim_of_an_unknown_pod_makes_a_pool_contended(world: World) -> None:
    world.add(held_claim("a", "gpu-0", pods=(pod("unknown"),)))

    assert contended(world)


def test_a_claim_that_loses_a_pod_of_ours_has_taken_nothing_new(world: World) -> None:
    world.add(pod("ours"), held_claim("a", "gpu-0", pods=(pod("ours"),)))
    assert not contended(world)
    world.remove(pod("ours"))
    world.add(held_claim("a", "gpu-0", pods=(pod("ours"), pod("gone"))))

    assert not contended(world)


def test_a_claim_that_outlives_its_pod_of_ours_is_no_other_schedulers(world: World) -> None:
    world.add(pod("ours"), held_claim("a", "gpu-0", pods=(pod("ours"),)))
    world.remove(pod("ours"))

    assert not contended(world)


def test_other_pools_are_not_contended(world: World) -> None:
    world.add(held_claim("a", "gpu-0", pods=(pod("unknown"),)))

    assert not world.view.is_contended([device("nic-0", pool=NIC_DRIVER).pool_key], ())


def test_a_class_is_contended_while_a_pod_of_another_scheduler_waits_for_it(world: World) -> None:
    value = foreign("theirs", claims={"gpu": "a"})
    world.add(value, claim("a", request()), claim("ours", request("nic", "nic")))
    assert contended(world, GPU_CLASS)
    assert not contended(world, "nic")

    world.remove(value)

    assert not contended(world, GPU_CLASS)


def test_a_class_is_contended_before_the_claim_of_another_schedulers_pod_is_made(world: World) -> None:
    spec = ResourceClaimTemplateSpec(spec=claim_spec(request()))
    template = ResourceClaimTemplate(metadata=ObjectMeta(name="gpu", namespace=NAMESPACE), spec=spec)
    ours = templated_pod("theirs", claims={"gpu": None})
    theirs = msgspec.structs.replace(ours, spec=msgspec.structs.replace(ours.spec, scheduler_name="default-scheduler"))
    world.add(template, ours)
    assert not contended(world, GPU_CLASS)

    world.add(theirs)

    assert contended(world, GPU_CLASS)


@pytest.mark.parametrize("name", ["example.com/gpu", implicit_name(GPU_CLASS)])
def test_a_class_is_contended_while_another_schedulers_pod_waits_for_its_resource(world: World, name: str) -> None:
    world.add(driver_class(extended_resource_name="example.com/gpu"))
    world.add(foreign("theirs", container(limits={name: "1"})))
    assert contended(world, GPU_CLASS)

    world.add(foreign("theirs", container(limits={name: "1"}), node_name="n1"))

    assert not contended(world, GPU_CLASS)


def test_pods_of_ours_that_wait_contend_with_nobody(world: World) -> None:
    world.add(pod("ours", claims={"gpu": "a"}), claim("a", request()))

    assert not contended(world, GPU_CLASS)


def test_a_claim_that_has_its_devices_already_is_waited_for_by_nobody(world: World) -> None:
    world.add(foreign("theirs", claims={"gpu": "a"}), held_claim("a", "gpu-0", pods=(pod("ours"),)), pod("ours"))

    assert not contended(world, GPU_CLASS)
