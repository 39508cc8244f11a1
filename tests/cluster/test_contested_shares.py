"""Two schedulers give out shares of the same devices: for a moment it may be too much, but never for good."""

from collections import Counter
from fractions import Fraction

from dra_builders import manifests
from dra_builders.manifests import device, from_template
from dra_cluster.faults import Hold, Match
from dra_cluster.mirror import CLAIMS, PODS
from dra_cluster.proxy import Proxy
from dra_cluster.world import World, devices
from dra_controlplane.client import Json

NODES, PODS_EACH = 3, 10
UNITS, WANTED = 10, 3
FITTING = NODES * (UNITS // WANTED)


def consumed(world: World) -> Counter[tuple[str, str]]:
    """How many units of each device claims have."""
    units: Counter[tuple[str, str]] = Counter()
    for claim in world.mirror.items(CLAIMS, world.namespace):
        allocation = (claim.get("status") or {}).get("allocation") or {"devices": {"results": []}}
        for result in allocation["devices"]["results"]:
            units[result["pool"], result["device"]] += int(Fraction(result["consumedCapacity"]["units"]))
    return units


def sharing(world: World, name: str, **fields: object) -> str:
    """A node whose one device has some units to share."""
    node = world.node(name)
    capacity: Json = {"units": {"value": str(UNITS), "requestPolicy": {"default": "1", "validRange": {"min": "1"}}}}
    world.publish(node, [{**device("gpu-0"), "allowMultipleAllocations": True, "capacity": capacity, **fields}])
    return node


def wanting(world: World, units: int = WANTED) -> None:
    """A template that wants so many units."""
    request = manifests.request("gpu", world.gpu_class(), capacity={"requests": {"units": str(units)}})
    world.create(manifests.template("gpus", request))


def test_two_schedulers_never_leave_a_device_overdrawn(contest: World) -> None:
    for number in range(NODES):
        sharing(contest, f"n{number}")
    wanting(contest)
    for number in range(PODS_EACH):
        contest.pod(f"theirs-{number}", from_template("gpu", "gpus"), schedulerName="default-scheduler")
        contest.pod(f"ours-{number}", from_template("gpu", "gpus"))

    def is_full() -> bool:
        return len(contest.bound_pods()) == FITTING and sorted(consumed(contest).values()) == [9] * NODES

    contest.mirror.until(is_full, "every device to be full and none overdrawn", seconds=120)


def test_shares_of_another_schedulers_pods_count(contest: World) -> None:
    node = sharing(contest, "n1")
    wanting(contest, 6)
    contest.pod("theirs", from_template("gpu", "gpus"), schedulerName="default-scheduler")
    contest.bound("theirs")
    contest.pod("ours", from_template("gpu", "gpus"))

    contest.pending("ours", "gpu")
    contest.remove(PODS, "theirs")
    assert contest.bound("ours") == node


def take_meanwhile(world: World, proxy: Proxy, template: str = "gpus") -> None:
    """Has the other scheduler bind a pod after ours has looked at all claims and before it writes its own."""
    hold = Hold()
    proxy.disturb(Match(method="PUT", path=f"{world.namespace}/resourceclaims/.*/status"), hold.before())
    world.pod("ours", from_template("gpu", "gpus"))
    hold.reached()
    world.pod("theirs", from_template("gpu", template), schedulerName="default-scheduler")
    world.bound("theirs")
    hold.release()


def test_a_share_that_another_scheduler_has_taken_meanwhile_is_given_back(contest: World, proxy: Proxy) -> None:
    sharing(contest, "n1")
    wanting(contest, 6)
    take_meanwhile(contest, proxy)

    assert "capacity" in contest.told("ours", "BindFailed", "together draw too much of")
    contest.pending("ours", "gpu")
    assert list(consumed(contest).values()) == [6]


def test_a_partition_whose_counters_are_used_up_meanwhile_is_given_back(contest: World, proxy: Proxy) -> None:
    partitions(contest)
    gpu = contest.gpu_class()
    for template, size in (("gpus", 1), ("wholes", 2)):
        contest.gpu_template(gpu, f"device.attributes['{contest.driver}'].size == {size}", stem=template)
    take_meanwhile(contest, proxy, "wholes")

    assert "counter slots" in contest.told("ours", "BindFailed", "together draw too much of")
    contest.pending("ours", "gpu")
    assert devices(contest.claim_of("theirs")) == ["whole"]


def partitions(world: World) -> None:
    """A node with a card of two slots, to be had by half or as a whole."""
    node = world.node("n1")
    pool = manifests.pool(node, count=2)
    parts = [partition("half", 1), partition("whole", 2)]
    world.create(
        manifests.resource_slice(f"{node}-parts", driver=world.driver, pool=pool, devices=parts, nodeName=node)
    )
    slots: Json = {"name": "card", "counters": {"slots": {"value": "2"}}}
    counters = manifests.resource_slice(
        f"{node}-counters", driver=world.driver, pool=pool, devices=(), nodeName=node, sharedCounters=[slots]
    )
    del counters["spec"]["devices"]
    world.create(counters)


def partition(name: str, slots: int) -> Json:
    """A device that draws so many slots of a card."""
    consumption = {"counterSet": "card", "counters": {"slots": {"value": str(slots)}}}
    return {**device(name, size=slots), "consumesCounters": [consumption]}
