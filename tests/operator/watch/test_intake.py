from collections.abc import Mapping
from typing import Any

import pytest

from dra_builders.values import node, pod, resource_slice
from dra_kube.api import Json
from dra_kube.resources import Kind, Resource
from dra_operating.api import ApiInMemory
from dra_operating.clock import ManualClock
from dra_operating.loop import run_briefly
from dra_operating.objects import held_claim, raw
from dra_operator.api.events import Recorder
from dra_operator.kinds import CLAIMS, NODES, PODS, SLICES, TAINT_RULES
from dra_operator.watch.cache import Cache
from dra_operator.watch.intake import LAST_APPLIED_ANNOTATION, BadInput, Intake
from dra_operator.watch.watches import Watches
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.wire import KubernetesObject

KEY = ObjectKey("default", "p")


class World:
    """An intake with everything behind it, and a listener that remembers."""

    def __init__(self) -> None:
        self.api = ApiInMemory()
        self.cache = Cache()
        self.recorder = Recorder(self.api, "tester", ManualClock())
        self.watches = Watches(ManualClock(), self._listed)
        self.intake = Intake(self.cache, self.watches, BadInput(self.recorder, self._refused), [self])
        self.refused: list[tuple[str, str, str]] = []
        self.told: list[tuple[str, str]] = []
        self.watches.add(TAINT_RULES)
        for resource in (PODS, NODES, CLAIMS, SLICES):
            self.watches[resource.kind].page([], 0, first=True, last=True)

    def changed(self, value: KubernetesObject) -> None:
        self.told.append(("changed", value.metadata.name))

    def removed(self, value: KubernetesObject) -> None:
        self.told.append(("removed", value.metadata.name))

    def see(self, kind: Kind, event: str | None, value: Mapping[str, Any]) -> None:
        self.intake.observe(kind, event, value)

    def _refused(self, pod: Pod, reason: str, message: str) -> None:
        self.refused.append((pod.spec.scheduler_name, reason, message))

    async def events(self) -> list[Json]:
        await run_briefly(self.recorder.run())
        return [body for verb, path, body in self.api.calls if verb == "create" and path.endswith("/events")]

    def _listed(self, resource: Resource, uids: frozenset[str]) -> None:
        if hasattr(self, "intake"):
            self.intake.listed(resource, uids)


@pytest.fixture
def world() -> World:
    return World()


def test_an_object_is_passed_on_as_a_value(world: World) -> None:
    world.see(Pod, "ADDED", raw(pod("p")))

    assert world.told == [("changed", "p")]
    assert world.cache.get(Pod, KEY) is not None


def test_a_node_that_only_breathes_is_not_passed_on(world: World) -> None:
    for version in range(1, 10):
        world.see(NODES.kind, "MODIFIED", {**raw(node("n"), version), "status": {"conditions": [{"beat": version}]}})

    assert world.told == [("changed", "n")]


def test_a_deleted_object_is_gone(world: World) -> None:
    world.see(Pod, "ADDED", raw(pod("p")))
    world.see(Pod, "DELETED", raw(pod("p"), 2))

    assert world.told == [("changed", "p"), ("removed", "p")]
    assert world.cache.get(Pod, KEY) is None


def test_what_went_while_nobody_watched_is_gone_with_the_next_list(world: World) -> None:
    world.see(Pod, "ADDED", raw(pod("p")))
    world.see(Pod, "ADDED", raw(pod("kept"), 2))

    world.watches[Pod].page([("uid-default-kept", 2)], 5, first=True, last=True)

    assert world.told[2:] == [("removed", "p")]


def test_a_pod_of_the_same_name_takes_the_place_of_the_former(world: World) -> None:
    world.see(Pod, "ADDED", raw(pod("p"), 1, uid="first"))
    world.see(Pod, "ADDED", raw(pod("p"), 3, uid="second"))
    world.see(Pod, "DELETED", raw(pod("p"), 2, uid="first"))

    current = world.cache.get(Pod, KEY)
    assert current is not None
    assert current.metadata.uid == "second"
    assert world.told == [("changed", "p"), ("changed", "p")]


def test_the_copy_that_kubectl_keeps_is_not_kept_again(world: World) -> None:
    value = raw(pod("p"))
    value["metadata"]["annotations"] = {LAST_APPLIED_ANNOTATION: "x" * 10_000, "other": "y"}
    world.see(Pod, "ADDED", value)

    current = world.cache.get(Pod, KEY)
    assert current is not None
    assert current.metadata.annotations == {"other": "y"}


def broken_slice(version: int = 1) -> dict[str, Any]:
    value = raw(resource_slice("s", node="n1"), version)
    value["spec"]["allNodes"] = True
    return value


async def test_an_unusable_object_counts_as_absent_and_says_why(world: World) -> None:
    world.see(ResourceSlice, "ADDED", raw(resource_slice("s", node="n1")))
    world.see(ResourceSlice, "MODIFIED", broken_slice(2))

    assert world.told == [("changed", "s"), ("removed", "s")]
    (event,) = await world.events()
    assert event["reason"] == "InvalidObject"
    assert (
        event["message"] == "$.spec: expected exactly one of nodeName, nodeSelector, allNodes, perDeviceNodeSelection"
    )
    assert event["involvedObject"]["name"] == "s"


async def test_a_problem_is_told_once(world: World) -> None:
    for version in range(1, 6):
        world.see(ResourceSlice, "MODIFIED", broken_slice(version))

    assert len(await world.events()) == 1


async def test_an_unusable_object_does_not_harm_the_next(world: World) -> None:
    world.see(ResourceSlice, "ADDED", broken_slice(1))
    world.see(ResourceSlice, "ADDED", raw(resource_slice("good", node="n1"), 2))

    assert world.told == [("changed", "good")]


async def test_an_unusable_claim_keeps_the_devices_that_it_holds(world: World) -> None:
    value = raw(held_claim("c", "gpu-0"))
    value["spec"] = {"devices": {"requests": [{"name": "both", "exactly": {}, "firstAvailable": [{"name": "x"}]}]}}

    world.see(ResourceClaim, "ADDED", value)

    kept = world.cache.get(ResourceClaim, ObjectKey("default", "c"))
    assert kept is not None
    assert kept.status.allocation == held_claim("c", "gpu-0").status.allocation
    assert len(await world.events()) == 1


async def test_an_unusable_claim_without_devices_is_absent(world: World) -> None:
    value = raw(held_claim("c"))
    del value["status"]["allocation"]
    value["spec"] = {"devices": {"requests": [{"name": "neither"}]}}

    world.see(ResourceClaim, "ADDED", value)

    assert world.cache.get(ResourceClaim, ObjectKey("default", "c")) is None


async def test_an_unusable_pod_keeps_its_room(world: World) -> None:
    value = raw(pod("p", node_name="n1"))
    value["spec"]["tolerations"] = [{"tolerationSeconds": "soon"}]

    world.see(Pod, "ADDED", value)

    kept = world.cache.get(Pod, KEY)
    assert kept is not None
    assert kept.spec.node_name == "n1"
    assert kept.spec.containers == pod("p").spec.containers


async def test_an_unusable_pod_that_waits_is_absent_and_says_why(world: World) -> None:
    value = raw(pod("p"))
    value["spec"]["tolerations"] = [{"tolerationSeconds": "soon"}]

    world.see(Pod, "ADDED", value)

    assert world.cache.get(Pod, KEY) is None
    assert world.refused == [
        (
            "dra-scheduler",
            "InvalidObject",
            "$.spec.tolerations[0].tolerationSeconds: expected a whole number, got a string",
        )
    ]


def test_the_answer_to_an_own_write_is_taken_in_at_once(world: World) -> None:
    world.intake.learn(raw(pod("p"), 7))

    assert world.told == [("changed", "p")]


def test_an_answer_that_comes_after_its_object_has_gone_is_too_late(world: World) -> None:
    world.watches[Pod].changed(9)
    world.see(Pod, "DELETED", raw(pod("p"), 9))

    world.intake.learn(raw(pod("p"), 7))

    assert world.cache.get(Pod, KEY) is None


def test_an_event_that_was_on_its_way_before_an_own_write_does_not_undo_it(world: World) -> None:
    world.watches[Pod].changed(6)
    world.intake.learn(raw(pod("p", node_name="n1"), 7))

    world.see(Pod, "MODIFIED", raw(pod("p"), 6))

    current = world.cache.get(Pod, KEY)
    assert current is not None
    assert current.spec.node_name == "n1"


def test_answers_about_other_kinds_and_dying_objects_teach_nothing(world: World) -> None:
    dying = raw(pod("p"), 7)
    dying["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    world.intake.learn(dying)
    world.intake.learn({"kind": "Status", "apiVersion": "v1", "metadata": {}})

    assert world.told == []


def test_a_listener_that_fails_harms_no_other(world: World) -> None:
    class Broken(World):
        def changed(self, value: KubernetesObject) -> None:
            raise RuntimeError(value.metadata.name)

        def removed(self, value: KubernetesObject) -> None:
            raise RuntimeError(value.metadata.name)

    intake = Intake(world.cache, world.watches, BadInput(world.recorder), [Broken(), world])
    intake.observe(Pod, "ADDED", raw(pod("p")))
    intake.observe(Pod, "DELETED", raw(pod("p"), 2))

    assert world.told == [("changed", "p"), ("removed", "p")]


async def test_a_rule_that_cannot_be_used_is_told_so_and_taints_nothing(world: World) -> None:
    metadata = {"name": "maintenance", "uid": "uid-of-rule", "resourceVersion": "1"}
    world.see(TAINT_RULES.kind, "ADDED", {"metadata": metadata, "spec": {"deviceSelector": {"driver": 7}}})

    (event,) = await world.events()
    assert (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == ("DeviceTaintRule", "maintenance")
    assert event["message"].startswith("$.spec")
    assert world.told == []
