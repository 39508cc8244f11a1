from collections.abc import Iterator

import pytest

from dra_builders import manifests
from dra_builders.manifests import HOSTNAME, container, from_claim, from_template
from dra_cluster.mirror import PODS
from dra_cluster.operators import Operators, RunningOperator
from dra_cluster.world import World, consumers, devices
from dra_controlplane.client import path_of

FINALIZER = "resource.kubernetes.io/delete-protection"
PROFILE = "device.attributes['{}'].profile == 'small'"


@pytest.fixture
def cautious(world: World, operators: Operators, scheduler: RunningOperator) -> Iterator[RunningOperator]:
    """A scheduler that lets devices cool down, in the place of the usual one."""
    scheduler.kill()
    operator = operators.add("cautious", roles="scheduler", account="dra-scheduler", cooldown_seconds="600")
    operator.run()
    yield operator
    operator.kill()


def test_a_pod_gets_a_device_of_its_template_claim(world: World) -> None:
    node = world.gpu_node("n1", 8)
    world.gpu_template(world.gpu_class())
    pod = world.pod("trainer", from_template("gpu", "gpus"))

    assert world.bound("trainer") == node
    claim = world.claim_of("trainer")
    assert FINALIZER in claim["metadata"]["finalizers"]
    assert len(devices(claim)) == 1
    assert claim["status"]["reservedFor"] == [manifests.consumer(pod)]
    terms = claim["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]
    assert terms == [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]


def test_what_a_pod_was_forced_to_leave_is_given_out_after_what_nobody_had(
    world: World, cautious: RunningOperator
) -> None:
    world.gpu_node("n1", 2)
    world.gpu_template(world.gpu_class())
    before = cautious.metric('dra_scheduler_devices{state="reserved"}')
    world.pod("old", from_template("gpu", "gpus"))
    world.ended("old")
    left = devices(world.claim_of("old"))
    world.remove(PODS, "old")
    world.mirror.until(
        lambda: cautious.metric('dra_scheduler_devices{state="reserved"}') <= before, "the scheduler to see it free"
    )
    for pod in ("next", "third"):
        world.pod(pod, from_template("gpu", "gpus"))
        world.ended(pod)

    assert left == ["gpu-0"]
    assert [devices(world.claim_of(pod)) for pod in ("next", "third")] == [["gpu-1"], ["gpu-0"]]


def test_the_bind_request_names_the_claim_as_the_pod_does(world: World) -> None:
    node = world.gpu_node("n1", 2)
    world.gpu_template(world.gpu_class())
    pod = world.pod("trainer", from_template("mine", "gpus"))

    spec = world.ended("trainer")["spec"]
    assert (spec["podName"], spec["podUID"], spec["selectedNode"]) == ("trainer", pod["metadata"]["uid"], node)
    assert [entry["name"] for entry in spec["resourceClaimAllocations"]] == ["mine"]
    allocation = world.claim_of("trainer", "mine")["status"]["allocation"]
    assert spec["resourceClaimAllocations"][0]["allocation"]["devices"] == allocation["devices"]


def test_a_bind_request_belongs_to_its_pod(world: World) -> None:
    world.gpu_node("n1", 1)
    world.gpu_template(world.gpu_class())
    uid = world.pod("trainer", from_template("gpu", "gpus"))["metadata"]["uid"]

    owners = world.ended("trainer")["metadata"]["ownerReferences"]
    assert [(owner["kind"], owner["name"], owner["uid"]) for owner in owners] == [("Pod", "trainer", uid)]


def test_a_pod_that_comes_before_its_template_waits_for_it(world: World) -> None:
    node = world.gpu_node("n1", 1)
    gpu = world.gpu_class()
    world.pod("early", from_template("gpu", "gpus"))
    world.pending("early", "gpu")

    world.gpu_template(gpu)

    # The claim controller retries with pauses of its own.
    assert world.bound("early", seconds=120) == node


def test_a_pod_that_comes_before_its_claim_waits_for_it(world: World) -> None:
    node = world.gpu_node("n1", 1)
    gpu = world.gpu_class()
    world.pod("early", from_claim("gpu", "later"))
    world.pending("early", "later")

    world.gpu_claim("later", gpu)

    assert world.bound("early") == node


def test_a_gated_pod_is_placed_when_its_gates_are_gone(world: World) -> None:
    node = world.gpu_node("n1", 1)
    world.gpu_template(world.gpu_class())
    world.pod("gated", from_template("gpu", "gpus"), schedulingGates=[{"name": "example.com/quota"}])
    world.pending("gated", "gates")

    path = path_of(PODS, "gated", namespace=world.namespace)
    world.api.patch(path, {"spec": {"schedulingGates": None}})

    assert world.bound("gated") == node


def test_containers_and_pods_share_one_device_of_one_claim(world: World) -> None:
    node = world.gpu_node("n1", 2)
    gpu = world.gpu_class()
    world.gpu_claim("shared", gpu)
    two = [container("one", "gpu"), container("two", "gpu")]
    for name in ("first", "second"):
        world.pod(name, from_claim("gpu", "shared"), containers=two)

    assert {world.bound("first"), world.bound("second")} == {node}
    assert len(devices(world.claim("shared"))) == 1
    assert consumers(world.claim("shared")) == ["first", "second"]
    world.gpu_template(gpu)
    world.pod("third", from_template("gpu", "gpus"))
    assert world.bound("third") == node


def test_a_shared_claim_is_held_until_its_last_pod_ends(world: World) -> None:
    world.gpu_node("n1", 1)
    gpu = world.gpu_class()
    world.gpu_claim("shared", gpu)
    for name in ("first", "second"):
        world.pod(name, from_claim("gpu", "shared"))
        world.ended(name)
    world.gpu_template(gpu)
    world.pod("next", from_template("gpu", "gpus"))

    world.remove(PODS, "first")
    world.mirror.until(lambda: consumers(world.claim("shared")) == ["second"], "the first pod to be taken out")
    world.pending("next", "gpu")
    world.remove(PODS, "second")

    assert world.bound("next") == world.named("n1")


def test_a_pod_without_devices_fits_beside_them(world: World) -> None:
    node = world.gpu_node("n1", 1)
    world.gpu_template(world.gpu_class())
    world.pod("trainer", from_template("gpu", "gpus"))
    world.pod("plain", containers=[{**container("main"), "resources": {"requests": {"cpu": "2"}}}])

    assert (world.bound("trainer"), world.bound("plain")) == (node, node)
    assert world.request("plain")["spec"].get("resourceClaimAllocations") is None


def three_drivers(world: World) -> tuple[str, str, str]:
    """Nodes with devices that have a profile, with another vendor's, and with those of a driver without profiles."""
    profiled, foreign, old = world.node("n1"), world.node("n2"), world.node("n3")
    world.publish(profiled, [manifests.device("gpu-0", profile="small")])
    pool = manifests.pool(foreign)
    by_other = {"driver": f"amd-{world.id}.example.com", "pool": pool, "devices": manifests.numbered(2)}
    world.create(manifests.resource_slice(f"{foreign}-gpus", **by_other, nodeName=foreign))  # type: ignore[arg-type]
    world.publish(old, manifests.numbered(2))
    return profiled, foreign, old


def test_a_selector_that_fails_on_one_node_does_not_disturb_another(world: World) -> None:
    profiled, _, _ = three_drivers(world)
    world.gpu_template(world.gpu_class(), PROFILE.format(world.driver))
    world.pod("trainer", from_template("gpu", "gpus"))

    assert world.bound("trainer") == profiled


def test_a_selector_that_fails_is_named_with_its_error(world: World) -> None:
    _, _, old = three_drivers(world)
    gpu = world.gpu_class()
    world.gpu_claim("picky", gpu, PROFILE.format(world.driver))
    world.pod("trainer", from_claim("gpu", "picky"), on=old)

    message = world.pending("trainer", 'claim "picky" request "gpu"', gpu)
    assert "selector 1 of the request failed on 2 devices: no such key: profile" in message


def test_a_guarded_selector_works_on_every_driver(world: World) -> None:
    profiled, _, old = three_drivers(world)
    guarded = f"!has(device.attributes['{world.driver}'].profile) || {PROFILE.format(world.driver)}"
    world.gpu_template(world.gpu_class(), guarded)
    for name in ("a", "b", "c"):
        world.pod(name, from_template("gpu", "gpus"))

    assert sorted(world.bound(name) for name in ("a", "b", "c")) == [profiled, old, old]


def test_selectors_compare_quantities_versions_and_text(world: World) -> None:
    node = world.node("n1")
    ours = world.driver
    big = {**manifests.device("big", model="H100"), "capacity": {"memory": {"value": "80Gi"}}}
    big["attributes"]["firmware"] = {"version": "1.10.0"}
    small = {**manifests.device("small", model="H100"), "capacity": {"memory": {"value": "40Gi"}}}
    small["attributes"]["firmware"] = {"version": "1.9.0"}
    world.publish(node, [small, big])
    expressions = (
        f"device.capacity['{ours}'].memory.compareTo(quantity('64Gi')) > 0",
        f"device.attributes['{ours}'].firmware.isGreaterThan(semver('1.9.5'))",
        f"cel.bind(d, device.attributes['{ours}'], d.model.lowerAscii() == 'h100')",
    )
    world.gpu_template(world.gpu_class(), *expressions)
    world.pod("trainer", from_template("gpu", "gpus"), nodeSelector={HOSTNAME: node})

    world.bound("trainer")
    assert devices(world.claim_of("trainer")) == ["big"]
