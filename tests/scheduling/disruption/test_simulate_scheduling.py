import pytest

from dra_cases.fleet import DRIVER, NIC, Fleet, Json, claim, network_devices, share_of, shared_device
from dra_scheduling.disruption import WhatIf, simulate_without
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.instancetypes import InstanceType

GPU_OF_A = DeviceID(DRIVER, "a", "gpu-0")


def test_a_pod_moves_to_a_free_device_of_another_node() -> None:
    fleet = Fleet()
    fleet.node("a")
    fleet.node("b")
    fleet.pod("trainer", "a", gpus=1)

    found = simulate_without(fleet.cluster, ["a"])

    assert places(found) == {"trainer": "b"}
    assert found.moves[0].devices == (DeviceID(DRIVER, "b", "gpu-0"),)
    assert found.is_possible
    assert not found.created


def test_a_pod_that_no_node_takes_gets_a_node_with_a_device_of_its_own() -> None:
    """CD-1: the device of the node that goes is freed, and the claim planned onto a template device."""
    fleet = Fleet()
    fleet.node("a")
    fleet.pod("trainer", "a", gpus=1)

    found = simulate_without(fleet.cluster, ["a"])

    assert found.is_possible
    assert [claim.name for claim in found.created] == [found.moves[0].node_claim]
    assert found.price == pytest.approx(1.0)


def test_the_node_that_goes_is_no_place_for_its_own_pods() -> None:
    """CD-2."""
    fleet = Fleet()
    fleet.node("a", "gpu-4")
    fleet.pod("trainer", "a", gpus=1)

    found = simulate_without(fleet.cluster, ["a"])

    assert places(found)["trainer"] != "a"


def test_a_pod_whose_devices_no_type_has_is_stuck() -> None:
    """CD-3."""
    fleet = Fleet({"old": {"price": "1", "gpus": 1}, "cpu-8": {"price": "0.4"}})
    fleet.node("a", "old")
    fleet.pod("trainer", "a", gpus=1)
    fleet.cluster.remove(InstanceType, ObjectKey("", "old"))

    found = simulate_without(fleet.cluster, ["a"])

    assert [one.pod.metadata.name for one in found.stuck] == ["trainer"]
    assert not found.created
    assert not found.is_possible


def test_a_device_that_a_pod_elsewhere_uses_too_stays_where_it_is() -> None:
    """CD-4: two claims name the device, and the pod of one of them stays."""
    fleet = Fleet()
    fleet.node("a")
    fleet.node("b", "cpu-8")
    fleet.pod("stays", "b")
    fleet.show(claim("both", [GPU_OF_A], users=["goes", "stays"]))
    fleet.pod("goes", "a", claims={"gpu": "both"})

    found = simulate_without(fleet.cluster, ["a"])

    assert [one.pod.metadata.name for one in found.stuck] == ["goes"]
    assert "selects nodes by metadata.name" in found.stuck[0].message


def test_pods_of_two_nodes_share_one_new_node() -> None:
    """CD-5."""
    fleet = Fleet({"gpu-1": {"price": "1", "gpus": 1}, "gpu-2": {"price": "1.8", "gpus": 2}})
    for node in ("a", "b"):
        fleet.node(node)
        fleet.pod(f"of-{node}", node, gpus=1)

    found = simulate_without(fleet.cluster, ["a", "b"])

    assert len(found.created) == 1
    assert found.price == pytest.approx(1.8)
    assert set(places(found).values()) == {found.created[0].name}


@pytest.mark.parametrize(("wanted", "is_enough"), [("6", True), ("7", False)])
def test_only_the_share_of_the_pods_that_move_is_free(wanted: str, is_enough: bool) -> None:  # noqa: FBT001
    """CD-6: of 10 the pod that stays has 4."""
    fleet = Fleet()
    fleet.node("a", "cpu-8")
    fleet.node("b", "cpu-8")
    fleet.show(
        shared_device("10"),
        share_of("mine", ["6"], users=["goes"], asked=wanted),
        share_of("theirs", ["4"], users=["stays"]),
    )
    fleet.pod("stays", "b", claims={"net": "theirs"})
    fleet.pod("goes", "a", claims={"net": "mine"})

    found = simulate_without(fleet.cluster, ["a"])

    assert found.is_possible == is_enough


def test_both_shares_of_one_claim_are_free_again() -> None:
    """X22: two shares of one device that one claim has count twice, taken and freed."""
    fleet = Fleet()
    fleet.node("a", "cpu-8")
    fleet.node("b", "cpu-8")
    fleet.show(shared_device("10"), share_of("mine", ["5", "5"], users=["goes"]))
    fleet.pod("goes", "a", claims={"net": "mine"})

    assert places(simulate_without(fleet.cluster, ["a"])) == {"goes": "b"}


@pytest.mark.parametrize(
    "users",
    [
        ["goes", {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "g"}],
        [],
    ],
    ids=["a user that is no pod", "no user known yet"],
)
def test_a_claim_that_somebody_else_may_use_keeps_its_device(users: list[str | Json]) -> None:
    """X21: nothing is freed that is not planned anew, so that the only network device is not given twice."""
    fleet = Fleet()
    fleet.node("a", "cpu-8")
    fleet.node("b", "cpu-8")
    fleet.show(*network_devices(1))
    fleet.show(claim("mine", [DeviceID(NIC, "network", "net-0")], users=users, driver=NIC))
    fleet.show(claim("wanted", [], driver=NIC, owner="other"))
    fleet.pod("goes", "a", claims={"net": "mine"})
    fleet.show(claim("anew", [DeviceID(DRIVER, "x", "gone")], users=["other"], driver=NIC))
    fleet.pod("other", "a", claims={"net": "anew"})

    found = simulate_without(fleet.cluster, ["a"])

    assert places(found) == {"goes": "b"}
    assert [one.pod.metadata.name for one in found.stuck] == ["other"]


def test_a_network_device_goes_with_its_pod() -> None:
    fleet = Fleet()
    fleet.node("a", "cpu-8")
    fleet.node("b", "cpu-8")
    fleet.show(*network_devices(1))
    fleet.show(claim("mine", [DeviceID(NIC, "network", "net-0")], users=["goes"], driver=NIC))
    fleet.pod("goes", "a", claims={"net": "mine"})

    found = simulate_without(fleet.cluster, ["a"])

    assert [(move.node, move.devices) for move in found.moves] == [("b", (DeviceID(NIC, "network", "net-0"),))]


def test_a_claim_that_is_not_made_yet_is_not_forgotten() -> None:
    """X24."""
    fleet = Fleet()
    fleet.node("a")
    fleet.node("b")
    template = [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]
    fleet.pod("goes", "a", spec={"resourceClaims": template})

    found = simulate_without(fleet.cluster, ["a"])

    assert "not yet made" in found.stuck[0].message


def test_the_device_of_a_pod_that_is_being_deleted_is_about_to_be_free() -> None:
    """X25: a pod may be deleted by itself, on a node that stays."""
    fleet = Fleet()
    fleet.node("a")
    fleet.node("b")
    fleet.pod("ends", "b", gpus=1, is_deleting=True)
    fleet.pod("goes", "a", gpus=1)

    found = simulate_without(fleet.cluster, ["a"])

    assert [(move.node, move.devices) for move in found.moves] == [("b", (DeviceID(DRIVER, "b", "gpu-0"),))]


def test_a_node_that_is_not_initialized_is_no_place_to_rely_on() -> None:
    fleet = Fleet()
    fleet.node("a")
    fleet.node("coming", is_coming=True)
    fleet.pod("goes", "a", gpus=1)

    found = simulate_without(fleet.cluster, ["a"])

    assert [move.node_claim for move in found.unsettled] == ["claim-coming"]
    assert not found.is_possible


def test_pods_of_daemonsets_and_ended_pods_stay_behind() -> None:
    fleet = Fleet()
    fleet.node("a")
    fleet.pod("agent", "a", owner="DaemonSet")
    fleet.pod("done", "a", phase="Succeeded")
    fleet.pod("static", "a", notes={"kubernetes.io/config.mirror": "x"})

    found = simulate_without(fleet.cluster, ["a"])

    assert (found.moves, found.stuck, found.created) == ((), (), ())


def test_a_node_that_is_going_already_takes_no_pods_and_its_own_are_placed_first() -> None:
    fleet = Fleet({"gpu-1": {"price": "1", "gpus": 1}})
    for node in ("a", "b", "c"):
        fleet.node(node, notes={"dra-scheduler.dev/disruption": "{}"} if node == "b" else {})
    fleet.pod("of-b", "b", gpus=1)
    fleet.pod("of-a", "a", gpus=1)

    found = simulate_without(fleet.cluster, ["a"])

    assert len(found.created) == 1
    assert places(found) == {"of-a": found.created[0].name}


def test_extended_resources_that_devices_serve_move_as_well() -> None:
    fleet = Fleet()
    fleet.node("a", "gpu-2")
    fleet.node("b", "gpu-2")
    fleet.show(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": DRIVER},
            "spec": {
                "extendedResourceName": "example.com/gpu",
                "selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}],
            },
        }
    )
    limits = {"resources": {"requests": {"example.com/gpu": "2"}, "limits": {"example.com/gpu": "2"}}}
    fleet.pod("goes", "a", spec={"containers": [{"name": "main", **limits}]})

    found = simulate_without(fleet.cluster, ["a"])

    assert found.moves[0].node == "b"
    assert len(found.moves[0].devices) == 2


def places(found: WhatIf) -> dict[str, str]:
    return {move.pod.metadata.name: move.node or move.node_claim for move in found.moves}


def test_of_devices_in_use_only_those_of_pods_that_go_are_free() -> None:
    """S24: a pod that ends, one that has ended, a user that is no pod, no user, and admin access."""
    fleet = Fleet()
    fleet.node("n9", "gpu-2")
    fleet.node("b", "gpu-4")
    group = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "g"}
    users: list[list[str | Json]] = [["ends"], ["ended"], ["ends", group], []]
    for number, of in enumerate(users):
        fleet.show(claim(f"c{number}", [DeviceID(DRIVER, "b", f"gpu-{number}")], users=of))
    fleet.pod("ends", "b", is_deleting=True, claims={"one": "c0", "three": "c2"})
    fleet.pod("ended", "b", phase="Succeeded", claims={"two": "c1"})
    for name in ("x", "y"):
        fleet.pod(name, "n9", gpus=1)

    found = simulate_without(fleet.cluster, ["n9"])

    on_b = [move.devices for move in found.moves if move.node == "b"]
    assert on_b == [(DeviceID(DRIVER, "b", "gpu-0"),)]
    assert len(found.created) == 1
