import time

from dra_builders import manifests
from dra_builders.manifests import container
from dra_cluster.mirror import BIND_REQUESTS, CLAIMS, PODS
from dra_cluster.operators import RunningOperator
from dra_cluster.witness import SPECIAL, promised_devices
from dra_cluster.world import CLASSES, World, devices

IMPLICIT = "deviceclass.resource.kubernetes.io/{}"


def mappings(world: World, pod: str) -> list[tuple[str, str, str]]:
    """Container, resource and request of each mapping in the pod's status."""
    status = world.find_pod(pod)["status"]["extendedResourceClaimStatus"]
    return [
        (one["containerName"], one["resourceName"], one["requestName"]) for one in status.get("requestMappings") or ()
    ]


def requested(claim: dict[str, object]) -> dict[str, int]:
    """How many devices each request of a claim asks for."""
    spec: dict[str, dict[str, list[dict[str, dict[str, int]]]]] = claim["spec"]  # type: ignore[assignment]
    return {str(one["name"]): one["exactly"].get("count", 1) for one in spec["devices"]["requests"]}


def test_an_extended_resource_becomes_one_claim_of_the_pod(world: World) -> None:
    node = world.gpu_node("n1", 4)
    world.gpu_class(extended=world.resource)
    pod = world.pod("trainer", limits={world.resource: 2})

    assert world.bound("trainer") == node
    claim = world.special_claim("trainer")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "trainer", "uid": pod["metadata"]["uid"], "controller": True}
    assert claim["metadata"]["annotations"][SPECIAL] == "true"
    assert claim["metadata"]["ownerReferences"] == [owner]
    assert claim["metadata"]["name"].startswith("trainer-extended-resources-")
    assert requested(claim) == {"container-0-request-0": 2}
    assert len(devices(claim)) == 2
    assert claim["status"]["reservedFor"] == [manifests.consumer(pod)]
    assert mappings(world, "trainer") == [("main", world.resource, "container-0-request-0")]


def test_nothing_is_written_before_the_decision_is(world: World) -> None:
    world.gpu_node("n1", 1)
    world.gpu_class(extended=world.resource)
    world.pod("trainer", limits={world.resource: 1})
    request = world.ended("trainer")

    def first(kind: str) -> int:
        return int(world.mirror.history(kind, world.namespace)[0][1]["metadata"]["resourceVersion"])

    assert first(BIND_REQUESTS) < first(CLAIMS)
    assert list(promised_devices(request)) == [(world.driver, world.named("n1"), "gpu-0")]
    assert request["spec"]["extendedResourceClaimAllocation"]["deviceRequests"][0]["name"] == "container-0-request-0"


def test_the_special_claim_is_in_the_pod_before_the_pod_is_bound(world: World) -> None:
    world.gpu_node("n1", 1)
    world.gpu_class(extended=world.resource)
    world.pod("trainer", limits={world.resource: 1})
    world.bound("trainer")

    versions = [pod for _, pod in world.mirror.history(PODS, world.namespace)]
    bound = [pod for pod in versions if pod["spec"].get("nodeName")]
    assert bound
    assert all("extendedResourceClaimStatus" in pod["status"] for pod in bound)


def test_every_class_can_be_asked_for_by_its_implicit_name(world: World) -> None:
    world.gpu_node("n1", 1)
    gpu = world.gpu_class()
    world.pod("trainer", limits={IMPLICIT.format(gpu): 1})

    world.bound("trainer")
    assert mappings(world, "trainer") == [("main", IMPLICIT.format(gpu), "container-0-request-0")]


def test_a_pod_waits_for_the_class_that_it_names_and_goes_on_by_itself(world: World) -> None:
    node = world.gpu_node("n1", 1)
    gpu = f"{world.named('gpu')}.example.com"
    world.pod("trainer", limits={IMPLICIT.format(gpu): 1})
    world.pending("trainer", gpu)

    world.gpu_class()

    assert world.bound("trainer") == node


def test_plugin_and_dra_nodes_serve_the_same_resource_side_by_side(world: World) -> None:
    plugin = world.node("plugin", resources={world.resource: "4"})
    dra = world.gpu_node("dra", 4)
    world.gpu_class(extended=world.resource)
    names = [f"p{number}" for number in range(8)]
    for name in names:
        world.pod(name, limits={world.resource: 1})

    nodes = {name: world.bound(name) for name in names}
    assert sorted(nodes.values()) == [dra] * 4 + [plugin] * 4
    owners = {claim["metadata"]["ownerReferences"][0]["name"] for claim in world.special_claims()}
    assert owners == {name for name, node in nodes.items() if node == dra}


def test_one_pod_never_mixes_plugin_and_dra(world: World) -> None:
    world.node("plugin", resources={world.resource: "4"})
    world.gpu_node("dra", 4)
    world.gpu_class(extended=world.resource)
    world.pod("six", limits={world.resource: 6})

    world.pending("six", world.resource, "0/2 nodes fit")


def test_cpu_still_counts_on_a_dra_node(world: World) -> None:
    world.gpu_node("n1", 4)
    world.gpu_class(extended=world.resource)
    world.pod("hungry", limits={world.resource: 1, "cpu": "17"})
    world.pending("hungry", "cpu")

    world.pod("modest", limits={world.resource: 1, "cpu": "2"})

    world.bound("modest")


def two_generations(world: World, scheduler: RunningOperator) -> tuple[str, str]:
    """An older class of A100s and a newer one of H100s of the same extended name, and a node with one device each.

    The scheduler knows both.
    """
    node = world.node("n1")
    world.publish(node, [manifests.device("old", model="A100"), manifests.device("new", model="H100")])
    attribute = f"device.attributes['{world.driver}'].model"
    older = world.gpu_class(f"{attribute} == 'A100'", stem="a100", extended=world.resource)
    # Kubernetes tells ages to the second.
    time.sleep(1.1)
    newer = world.gpu_class(f"{attribute} == 'H100'", stem="h100", extended=world.resource)
    scheduler.wait_seen(world.api.get(CLASSES, newer))
    return older, newer


def test_the_newest_class_serves_a_name_and_no_other_helps_out(world: World, scheduler: RunningOperator) -> None:
    _, newer = two_generations(world, scheduler)
    world.pod("first", limits={world.resource: 1})
    world.bound("first")
    assert devices(world.special_claim("first")) == ["new"]
    world.pod("second", limits={world.resource: 1})
    world.pending("second", newer)

    world.remove(CLASSES, newer)

    world.bound("second")
    assert devices(world.special_claim("second")) == ["old"]


def test_a_decision_is_carried_out_as_a_whole_when_its_class_has_gone(world: World, binder: RunningOperator) -> None:
    world.gpu_node("n1", 2)
    gpu = world.gpu_class(extended=world.resource)
    binder.pause()
    world.pod("trainer", limits={world.resource: 2})
    decided = world.mirror.until(lambda: world.request("trainer"), "the decision")
    world.remove(CLASSES, gpu)
    binder.resume()

    world.bound("trainer")
    claim = world.special_claim("trainer")
    assert devices(claim) == ["gpu-0", "gpu-1"]
    requests = decided["spec"]["extendedResourceClaimAllocation"]["deviceRequests"]
    assert [one["name"] for one in requests] == list(requested(claim))


def test_implicit_names_tell_classes_of_one_extended_name_apart(world: World, scheduler: RunningOperator) -> None:
    older, newer = two_generations(world, scheduler)
    world.pod("old", limits={IMPLICIT.format(older): 1})
    world.pod("new", limits={IMPLICIT.format(newer): 1})

    world.bound("old")
    world.bound("new")
    assert (devices(world.special_claim("old")), devices(world.special_claim("new"))) == (["old"], ["new"])


def test_init_containers_leave_their_devices_to_those_that_come_later(world: World) -> None:
    node = world.gpu_node("n1", 3)
    world.gpu_class(extended=world.resource)
    init = [
        container("prepare", limits={world.resource: 1}),
        container("log", limits={world.resource: 1}, restartPolicy="Always"),
        container("load", limits={world.resource: 2}),
    ]
    world.pod("staged", limits={world.resource: 1}, initContainers=init)

    assert world.bound("staged") == node
    claim = world.special_claim("staged")
    assert len(devices(claim)) == 3
    assert {name for name, _, _ in mappings(world, "staged")} == {"prepare", "log", "load", "main"}
    assert {request for _, _, request in mappings(world, "staged")} == set(requested(claim))


def test_each_container_has_devices_of_its_own(world: World) -> None:
    world.gpu_node("n1", 2)
    world.gpu_class(extended=world.resource)
    limits = {world.resource: 1}
    idle = container("idle", limits={world.resource: 0})
    world.pod("pair", containers=[container("one", limits=limits), container("two", limits=limits), idle])

    world.bound("pair")
    assert requested(world.special_claim("pair")) == {"container-0-request-0": 1, "container-1-request-0": 1}
    assert [name for name, _, _ in mappings(world, "pair")] == ["one", "two"]


def test_a_claim_and_an_extended_resource_in_one_pod_get_different_devices(world: World) -> None:
    world.gpu_node("n1", 2)
    gpu = world.gpu_class(extended=world.resource)
    world.gpu_template(gpu)
    world.pod("both", manifests.from_template("gpu", "gpus"), limits={world.resource: 1})

    world.bound("both")
    both = devices(world.claim_of("both")) + devices(world.special_claim("both"))
    assert sorted(both) == ["gpu-0", "gpu-1"]
