"""The role `kwok` on a real server: from a NodeClaim to a ready node with complete pools, and away again."""

import pytest

from dra_builders import manifests
from dra_cluster.kwok import Kwok
from dra_cluster.machines import NODE_CLAIMS
from dra_cluster.mirror import PODS
from dra_cluster.world import NODES
from dra_controlplane.client import Json

NOT_PUBLISHED = "DRADriverPoolsNotPublished"
UNKNOWN, TRUE, FALSE = "Unknown", "True", "False"


def test_a_node_claim_becomes_a_ready_node_with_complete_pools(kwok: Kwok) -> None:
    kwok.machines.instance_type(count=200)
    name = kwok.claim("n")

    kwok.machines.until(name, "Ready", TRUE)
    kwok.machines.until(name, "DevicesAsPromised", TRUE)
    assert kwok.published(name) == {1: [128, 72]}
    node = kwok.node(name)
    assert node["spec"]["providerID"] == f"kwok://{name}"
    assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == kwok.machines.type
    assert {one["type"]: one["status"] for one in node["status"]["conditions"]}["Ready"] == TRUE


def test_a_node_says_that_it_is_alive(kwok: Kwok) -> None:
    kwok.machines.instance_type()
    name = kwok.claim("n")
    kwok.machines.until(name, "Ready", TRUE)

    lease = kwok.machines.world.mirror.until(lambda: kwok.lease(name), "the Lease of the node")
    assert lease["metadata"]["ownerReferences"][0]["uid"] == kwok.node(name)["metadata"]["uid"]


@pytest.mark.parametrize(
    ("fault", "reason", "text"),
    [
        ({"unpublished": "*"}, NOT_PUBLISHED, ""),
        ({"incomplete": "*"}, NOT_PUBLISHED, "has 1 of 2 slices"),
        ({"empty": "*"}, "DRADriverPoolsEmpty", "is complete and empty"),
        ({"contradicting_counts": "*"}, NOT_PUBLISHED, "say that there are 2 and 3 of them"),
        ({"duplicate_names": "*"}, NOT_PUBLISHED, "has device gpu-0 twice"),
        ({"slice_delay": "1h"}, NOT_PUBLISHED, ""),
        ({"never": "ready"}, "NodeNotReady", ""),
        ({"ready_delay": "1h"}, "NodeNotReady", ""),
    ],
    ids=str,
)
def test_a_fault_keeps_the_gate_shut_until_it_is_mended(
    kwok: Kwok, fault: dict[str, str], reason: str, text: str
) -> None:
    kwok.machines.instance_type(count=130)
    name = kwok.claim("n", **fault)
    kwok.machines.until(name, "Initialized", UNKNOWN, reason, text)
    kwok.annotate(name, **dict.fromkeys(fault))

    kwok.machines.until(name, "DevicesAsPromised", TRUE)


@pytest.mark.parametrize(
    ("fault", "condition", "has_launched"),
    [
        ({"never": "launch"}, "Launched", False),
        ({"launch_delay": "1h"}, "Launched", False),
        ({"never": "register"}, "Registered", True),
        ({"registration_delay": "1h"}, "Registered", True),
    ],
    ids=str,
)
def test_a_node_claim_waits_for_a_machine_that_does_not_come(
    kwok: Kwok, fault: dict[str, str], condition: str, *, has_launched: bool
) -> None:
    kwok.machines.instance_type()
    name = kwok.claim("n", **fault)
    other = kwok.claim("other")
    kwok.machines.until(other, "Ready", TRUE)
    if has_launched:
        kwok.machines.until(name, "Launched", TRUE)

    assert kwok.machines.condition(name, condition).get("status", UNKNOWN) == UNKNOWN
    assert kwok.node(name) == {}


def test_devices_that_are_missing_show_after_the_gate(kwok: Kwok) -> None:
    kwok.machines.instance_type(count=130)
    name = kwok.claim("n", fewer_devices=f"{kwok.driver}=1")

    kwok.machines.until(name, "DevicesAsPromised", FALSE, "DevicesMissing", "gpu-129")


def test_a_driver_that_restarts_publishes_a_new_generation(kwok: Kwok) -> None:
    kwok.machines.instance_type(count=130)
    name = kwok.claim("n")
    kwok.machines.until(name, "Ready", TRUE)
    kwok.annotate(name, restarts="*=again")

    kwok.until_published(name, {2: [128, 2]})


def test_a_driver_that_withdraws_its_slices_brings_new_ones(kwok: Kwok) -> None:
    kwok.machines.instance_type(count=130)
    name = kwok.claim("n")
    kwok.machines.until(name, "Ready", TRUE)
    before = {one["metadata"]["uid"] for one in kwok.slices(name)}
    kwok.annotate(name, withdrawals="*=again")

    def after() -> bool:
        uids = {one["metadata"]["uid"] for one in kwok.slices(name)}
        return len(uids) == len(before) and not uids & before

    kwok.machines.world.mirror.until(after, "new slices")
    assert kwok.published(name) == {1: [128, 2]}


def test_a_changed_type_reaches_the_nodes_that_are_there(kwok: Kwok) -> None:
    kwok.machines.instance_type(count=200)
    name = kwok.claim("n")
    kwok.machines.until(name, "Ready", TRUE)
    kwok.change_type(count=3)

    kwok.until_published(name, {2: [3]})


def test_a_node_claim_without_capacity_is_given_up_and_says_why(kwok: Kwok) -> None:
    kwok.machines.instance_type(offerings=[{"zone": "a", "price": 1, "available": False}])
    name = kwok.claim("n")

    kwok.machines.world.told(name, "InsufficientCapacity", "no instance type")
    kwok.machines.gone(name)


def test_pods_run_succeed_and_go(kwok: Kwok) -> None:
    world = kwok.machines.world
    kwok.machines.instance_type()
    node = kwok.claim("n")
    kwok.machines.until(node, "Ready", TRUE)
    for name, notes in (("lasting", {}), ("short", {"kwok.dra-scheduler.dev/runs-for": "100ms"})):
        body = manifests.pod(name, nodeName=node, terminationGracePeriodSeconds=30)
        body["metadata"]["annotations"] = notes
        world.create(body)
    world.mirror.until(lambda: kwok.phase("short") == "Succeeded", "the short pod to succeed")
    world.mirror.until(lambda: kwok.phase("lasting") == "Running", "the other one to run")
    kwok.api.delete(PODS, "lasting", namespace=world.namespace)

    world.mirror.until(lambda: not world.find_pod("lasting"), "the other one to be gone")


def test_pods_of_other_nodes_are_left_alone(kwok: Kwok) -> None:
    world = kwok.machines.world
    kwok.machines.instance_type()
    ours = kwok.claim("n")
    kwok.machines.until(ours, "Ready", TRUE)
    body = manifests.node(world.named("theirs"))
    body["spec"] = {"providerID": f"kwok://{world.named('theirs')}"}
    theirs = world.create(body)["metadata"]["name"]
    world.create(manifests.pod("theirs", nodeName=theirs))
    world.create(manifests.pod("ours", nodeName=ours))
    world.mirror.until(lambda: kwok.phase("ours") == "Running", "our pod to run")

    assert kwok.phase("theirs") == "Pending"
    assert kwok.lease(theirs) == {}


def test_a_machine_is_removed_with_all_that_it_had(kwok: Kwok) -> None:
    world = kwok.machines.world
    kwok.machines.instance_type(count=130)
    name = kwok.claim("n")
    kwok.machines.until(name, "Ready", TRUE)
    world.mirror.until(lambda: kwok.lease(name), "the Lease of the node")
    world.create(manifests.pod("evicted", nodeName=name))
    world.create(manifests.pod("tied", nodeName=name, tolerations=[{"operator": "Exists"}]))
    world.mirror.until(lambda: kwok.phase("tied") == "Running", "the pods to run")
    kwok.end(name)

    kwok.machines.gone(name)
    assert (kwok.node(name), kwok.slices(name), kwok.lease(name)) == ({}, [], {})
    world.mirror.until(lambda: not (world.find_pod("evicted") or world.find_pod("tied")), "the pods to be gone")


def test_pods_go_with_a_node_that_somebody_deletes(kwok: Kwok) -> None:
    world = kwok.machines.world
    kwok.machines.instance_type()
    name = kwok.claim("n")
    kwok.machines.until(name, "Ready", TRUE)
    world.create(manifests.pod("left", nodeName=name))
    world.mirror.until(lambda: kwok.phase("left") == "Running", "the pod to run")
    kwok.machines.api.delete(NODES, name)

    kwok.machines.gone(name)
    world.mirror.until(lambda: not world.find_pod("left"), "the pod to be gone")


def test_fifty_node_claims_at_once_become_nodes(kwok: Kwok) -> None:
    kwok.machines.instance_type(count=130)
    names = {kwok.claim(f"n{number}") for number in range(50)}

    def is_ready(claim: Json) -> bool:
        conditions = (claim.get("status") or {}).get("conditions") or ()
        return any(one["type"] == "Ready" and one["status"] == TRUE for one in conditions)

    def ready() -> set[str]:
        return {one["metadata"]["name"] for one in kwok.api.items(NODE_CLAIMS) if is_ready(one)}

    kwok.machines.world.mirror.until(lambda: names <= ready(), "fifty nodes", seconds=180)
    assert names <= {one["metadata"]["name"] for one in kwok.api.items(NODES)}
