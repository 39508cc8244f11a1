"""An offering that says how many machines there are is planned on no further; then the next one is taken."""

from typing import Any

import pytest

from dra_cases.turns import NOW, Play
from dra_scheduling.disruption.simulate_scheduling import simulate_without
from dra_scheduling.instancetypes import Expanded, expand
from dra_scheduling.inventory.reservations import machines_in_use
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.nodeclaims.launching import chosen
from dra_scheduling.wire import read_as
from dra_simulator.explain.explain_pod import explain_with_supply

RESERVED = {"zone": "z1", "kind": "reserved", "price": 0}
ON_DEMAND = {"zone": "z1", "kind": "on-demand", "price": 4}


def world(capacity: int, *others: dict[str, Any], pods: int = 1) -> dict[str, Any]:
    offers = [{**RESERVED, "capacity": capacity}, *others]
    wanted = {f"p{number}": {"cpu": 5} for number in range(pods)}
    return {"pools": {"np": {}}, "types": {"t": {"offers": offers}}, "pods": wanted}


def taken(play: Play) -> dict[tuple[str, str, str], int]:
    nodes = (state.node for state in play.cluster.nodes.values())
    return dict(machines_in_use(play.cluster.inventory.claims.values(), nodes))


def test_a_plan_makes_no_more_nodes_than_the_reservation_has_machines() -> None:
    play = Play()
    play.add(world(2, pods=3))

    turn = play.turn()

    assert [one["pods"] for one in turn.makes] == [["p0"], ["p1"]]
    assert "all 2 of t in z1 (reserved) are in use" in turn.refuses["p2"]


def test_the_next_offering_is_taken_once_the_reservation_is_used_up() -> None:
    play = Play()
    play.add(world(1, ON_DEMAND, pods=3))

    turn = play.turn()

    # The first one may still have either machine; the others may not have the one that it may take.
    assert [(one["pods"], one["needs"].get("capacity")) for one in turn.makes] == [
        (["p0"], None),
        (["p1"], ["on-demand"]),
        (["p2"], ["on-demand"]),
    ]
    assert turn.refuses == {}


@pytest.mark.parametrize(("launched", "made"), [("reserved", []), ("on-demand", ["p1"])])
def test_machines_that_there_are_count_and_those_of_other_offerings_do_not(launched: str, made: list[str]) -> None:
    play = Play()
    play.add(world(1, ON_DEMAND, pods=1))
    assert len(play.turn().makes) == 1
    play.launch("p0", {"type": "t", "capacity": launched})
    play.add({"pods": {"p1": {"cpu": 5, "selector": {"karpenter.sh/capacity-type": "reserved"}}}})

    turn = play.turn()

    assert [pod for one in turn.makes for pod in one["pods"]] == made


def test_a_machine_counts_until_it_is_gone() -> None:
    play = Play()
    play.add(world(1, pods=1))
    play.turn()
    play.launch("p0", {"type": "t", "capacity": "reserved", "node": "n"})
    assert taken(play) == {("t", "z1", "reserved"): 1}
    claim = play.claim_for("p0")

    play.cluster.remove(NodeClaim, ObjectKey("", claim.name))

    assert taken(play) == {("t", "z1", "reserved"): 1}
    play.cluster.remove(type(play.cluster.nodes["n"].node), ObjectKey("", "n"))
    assert taken(play) == {}


def test_a_node_that_is_to_be_replaced_still_has_its_machine() -> None:
    play = Play()
    play.add(world(1, pods=1))
    play.turn()
    play.launch("p0", {"type": "t", "capacity": "reserved", "node": "n", "ready": True})
    assert play.turn().binds == {"p0": "n"}

    found = simulate_without(play.cluster, ["n"])

    (stuck,) = found.stuck
    assert "all 1 of t in z1 (reserved) are in use" in stuck.message


def test_explain_says_that_the_type_cannot_be_had() -> None:
    play = Play()
    play.add(world(0, pods=1))
    pod = play.cluster.pod(ObjectKey("default", "p0"))
    assert pod is not None

    story = explain_with_supply(play.cluster, pod, NOW)

    assert story.supply is not None
    (types,) = story.supply.groups
    assert [one.reason for one in types.view.refusals] == ["NoOffering"]


def test_a_provider_makes_no_more_machines_than_there_are() -> None:
    play = Play()
    play.add(world(1, ON_DEMAND, pods=1))
    play.turn()
    claim, expanded = play.claim_for("p0"), play.cluster.inventory.expanded("t")
    assert expanded is not None

    first, second = chosen(claim, [expanded]), chosen(claim, [expanded], {("t", "z1", "reserved"): 1})

    assert (first and first.offering.capacity_type, second and second.offering.capacity_type) == (
        "reserved",
        "on-demand",
    )


def test_a_capacity_below_nothing_is_refused() -> None:
    spec = {"offerings": [{"zone": "z1", "price": "1", "capacity": -1}], "capacity": {"cpu": 4}}
    found = expand(read_as(InstanceType, {"metadata": {"name": "t"}, "spec": spec}))

    assert not isinstance(found, Expanded)
    assert [str(one) for one in found] == ["spec.offerings[0]: capacity is -1, expected 0 or more"]
