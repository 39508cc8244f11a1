from dra_builders import manifests
from dra_builders.manifests import HOSTNAME, from_claim, from_template, numbered
from dra_cluster.operators import RunningOperator
from dra_cluster.world import World, consumers, devices

ZONE = "topology.kubernetes.io/zone"
PODS = ("a", "b", "c")


def preferring(node: str) -> dict[str, object]:
    """A preference for a node."""
    term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}
    wish = {"weight": 100, "preference": term}
    return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}}


def published_for(world: World, devices_for: dict[str, object], *, pool: str = "fabric", count: int = 1) -> None:
    """Devices that more than one node can use."""
    name = world.named(pool)
    piece = manifests.resource_slice(
        name, driver=world.driver, pool=manifests.pool(name), devices=numbered(count), **devices_for
    )
    world.create(piece)


def zone(name: str) -> dict[str, object]:
    """The nodes of a zone."""
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [name]}]}
    return {"nodeSelector": {"nodeSelectorTerms": [term]}}


def test_pods_follow_the_device_of_their_claim_whatever_they_prefer(world: World) -> None:
    nodes = [world.gpu_node("n1", 1), world.node("n2"), world.node("n3")]
    world.gpu_claim("shared", world.gpu_class())
    for name, node in zip(PODS, nodes, strict=True):
        world.pod(name, from_claim("gpu", "shared"), **preferring(node))

    assert {world.bound(name) for name in PODS} == {nodes[0]}
    assert consumers(world.claim("shared")) == list(PODS)


def test_a_pod_that_may_not_go_where_its_claim_is_waits(world: World) -> None:
    home, elsewhere = world.gpu_node("n1", 1), world.node("n2")
    world.gpu_claim("shared", world.gpu_class())
    world.pod("a", from_claim("gpu", "shared"))
    assert world.bound("a") == home
    world.pod("b", from_claim("gpu", "shared"), on=elsewhere)

    world.pending("b", "shared")
    assert consumers(world.claim("shared")) == ["a"]


def test_a_device_of_a_zone_serves_its_zone_only(world: World) -> None:
    near = [world.node(stem, labels={ZONE: world.named("a")}) for stem in ("n1", "n2")]
    far = world.node("n3", labels={ZONE: world.named("b")})
    published_for(world, zone(world.named("a")))
    world.gpu_claim("shared", world.gpu_class())
    for name, node in zip(PODS, (*near, far), strict=True):
        world.pod(name, from_claim("gpu", "shared"), on=node)

    assert [world.bound("a"), world.bound("b")] == near
    world.pending("c", "shared")


def test_a_device_of_all_nodes_serves_pods_anywhere(world: World) -> None:
    nodes = [world.node(stem) for stem in ("n1", "n2", "n3")]
    published_for(world, {"allNodes": True})
    world.gpu_claim("shared", world.gpu_class())
    for name, node in zip(PODS, nodes, strict=True):
        world.pod(name, from_claim("gpu", "shared"), on=node)

    assert [world.bound(name) for name in PODS] == nodes
    assert len(devices(world.claim("shared"))) == 1
    assert "nodeSelector" not in world.claim("shared")["status"]["allocation"]


def test_pods_of_one_cycle_agree_about_a_claim_that_none_of_them_has_yet(
    world: World, scheduler: RunningOperator
) -> None:
    near = [world.node(stem, labels={ZONE: world.named("a")}) for stem in ("n1", "n2")]
    world.node("n3", labels={ZONE: world.named("b")})
    published_for(world, zone(world.named("a")), count=2)
    world.gpu_claim("shared", world.gpu_class())
    scheduler.pause()
    for name in PODS:
        world.pod(name, from_claim("gpu", "shared"))
    scheduler.resume()

    assert {world.bound(name) for name in PODS} <= set(near)
    assert consumers(world.claim("shared")) == list(PODS)
    assert len(devices(world.claim("shared"))) == 1


def test_claims_that_are_in_two_zones_cannot_meet_in_one_pod(world: World) -> None:
    zones = [world.named("a"), world.named("b")]
    nodes = [world.node(f"n-{name}", labels={ZONE: name}) for name in zones]
    gpu = world.gpu_class()
    for name in zones:
        published_for(world, zone(name), pool=name)
        world.gpu_claim(name, gpu)
    for name, node in zip(zones, nodes, strict=True):
        world.pod(f"in-{name}", from_claim("gpu", name), on=node)
        world.bound(f"in-{name}")
    world.pod("both", *(from_claim(name, name) for name in zones))

    world.pending("both", "0/2 nodes fit", zones[0], zones[1])


def test_a_device_that_may_be_shared_serves_two_claims(world: World) -> None:
    node = world.node("n1")
    world.publish(node, [{**manifests.device("gpu-0"), "allowMultipleAllocations": True}])
    world.gpu_template(world.gpu_class())
    for name in ("a", "b"):
        world.pod(name, from_template("gpu", "gpus"))

    assert (world.bound("a"), world.bound("b")) == (node, node)
    shares = [world.claim_of(name)["status"]["allocation"]["devices"]["results"][0]["shareID"] for name in ("a", "b")]
    assert len(set(shares)) == 2


def test_a_claim_serves_two_pods_that_are_bound_at_the_same_time(world: World, binder: RunningOperator) -> None:
    world.gpu_node("n1", 4)
    gpu = world.gpu_class(extended=world.resource)
    world.gpu_claim("shared", gpu)
    binder.pause()
    for name in ("a", "b"):
        world.pod(name, from_claim("gpu", "shared"), limits={world.resource: 1})
    world.mirror.until(lambda: world.request("a") and world.request("b"), "both decisions")
    binder.resume()

    assert world.bound("a") == world.bound("b")
    assert consumers(world.claim("shared")) == ["a", "b"]
    assert len(world.special_claims()) == 2
