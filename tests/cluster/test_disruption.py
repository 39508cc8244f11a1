"""Nodes that go on a real server: replaced first, drained by eviction, and whatever is killed, once."""

import pytest

from dra_builders import manifests
from dra_cluster.faults import Hold, Match
from dra_cluster.kwok import PREFIX
from dra_cluster.machines import NODE_CLAIMS
from dra_cluster.mirror import PODS
from dra_cluster.planning import types_of
from dra_cluster.proxy import Proxy
from dra_cluster.stage import BUDGETS, DELETE, EVERY_NODE, REFUSED, STANDS_IN, Course, Stage, looks_twice
from dra_cluster.whole import Whole
from dra_controlplane.client import Json

SETTINGS = {"disruption_interval_seconds": "0.5"}
DRIFT: Json = {"metadata": {"labels": {"example.com/release": "next"}}}


def oversized(stage: Stage) -> str:
    """A pod with one GPU on a node with four, which was all there was to be had; return the node."""
    stage.consolidate()
    stage.scene.machine("large", stage.scene.group("gpu", 4), price=4)
    node = stage.pod("train")
    stage.scene.machine("small", stage.scene.group("gpu", 1), price=1)
    return node


def says_why_it_goes(proxy: Proxy, node: str, reason: str) -> bool:
    """Whether the NodeClaim of a node has said so; by now it may be gone."""
    said = Match(method="PATCH", path=f"/nodeclaims/{node}/status", body=f'"DisruptionReason".*"{reason}"')
    return any(0 < one.status < REFUSED for one in proxy.writes(said))


def test_a_node_is_replaced_by_a_cheaper_one_which_goes_once_it_is_empty(stage: Stage, proxy: Proxy) -> None:
    before = oversized(stage)

    after = stage.leaves("train", before)
    stage.until_gone(before)
    (claim,) = stage.scene.claims()
    stage.scene.remove_pods()

    assert claim["metadata"]["name"] == after
    assert types_of(claim) == [stage.world.named("small")]
    stage.scene.until_nothing_remains()
    assert says_why_it_goes(proxy, before, "Underutilized")
    assert says_why_it_goes(proxy, after, "Empty")


def test_a_node_says_that_it_has_drifted_until_that_is_no_longer_so(stage: Stage, whole: Whole) -> None:
    stage.scene.machine("large", stage.scene.group("gpu", 4))
    before = stage.pod("train")
    stage.change({"nodes": "0"}, **DRIFT)
    stage.scene.until(before, "Drifted", "True", "NodePoolDrifted")
    whole["nodeclaims"].kill()
    stage.change(metadata={"labels": dict.fromkeys(DRIFT["metadata"]["labels"])})
    whole.run()
    stage.until_silent(before, "Drifted")

    stage.change(EVERY_NODE, **DRIFT)
    after = stage.leaves("train", before)
    stage.until_gone(before)
    stage.scene.until(after, "Initialized", "True")
    assert not stage.scene.condition(after, "Drifted")


def test_a_node_says_that_it_may_be_consolidated_until_a_pod_comes(stage: Stage) -> None:
    stage.consolidate({"nodes": "0"})
    stage.scene.machine("large", stage.scene.group("gpu", 4))
    node = stage.pod("first")
    stage.scene.until(node, "Consolidatable", "True")
    quiet = stage.scene.condition(node, "Consolidatable")["lastTransitionTime"]
    assert stage.pod("second") == node

    def noticed() -> bool:
        (claim,) = stage.scene.claims()
        return bool(claim["status"].get("lastPodEventTime", "") > quiet)

    stage.world.mirror.until(noticed, "the NodeClaim to say that a pod came")
    assert stage.scene.condition(node, "Consolidatable").get("lastTransitionTime") != quiet
    stage.change_disruption(consolidateAfter="Never")
    stage.until_silent(node, "Consolidatable")


def test_a_node_goes_if_its_pods_have_room_on_another(stage: Stage) -> None:
    stage.consolidate()
    stage.scene.machine("large", stage.scene.group("gpu", 4))
    big, small = stage.pod("big", cpu=9), stage.pod("small", cpu=8)
    assert big != small
    stage.pod("least", cpu=7)
    stage.world.remove(PODS, "big-0")

    def together() -> str:
        nodes = {stage.node_of(name) for name in ("small", "least")}
        return nodes.pop() if len(nodes) == 1 else ""

    left = stage.world.mirror.until(together, "both pods to be on one node", seconds=150)
    stage.until_gone(big if left == small else small)


def test_a_budget_without_anything_left_keeps_a_node(stage: Stage) -> None:
    stage.consolidate()
    stage.scene.machine("large", stage.scene.group("gpu", 4), price=4)
    stage.budget("kept", 0)
    kept, free = stage.pod("kept", cpu=9), stage.pod("free", cpu=9)
    stage.scene.machine("small", stage.scene.group("gpu", 1), price=1)

    stage.leaves("free", free)
    stage.until_gone(free)
    assert stage.node_of("kept") == kept
    stage.world.told(kept, "Unconsolidatable", "kept allows no eviction of pod")

    stage.world.remove(BUDGETS, "kept")
    stage.leaves("kept", kept)


def test_drifted_nodes_are_replaced_first_and_one_after_the_other_where_the_budget_says_so(
    stage: Stage, proxy: Proxy, whole: Whole
) -> None:
    # Of two types, so that neither pod goes to the node that stands in for that of the other.
    stage.scene.machine("gpus", stage.scene.group("gpu", 4))
    stage.scene.machine("nics", stage.scene.group("nic", 4))
    before = [stage.pod("left", gpu=2), stage.pod("right", nic=3)]
    course = Course(proxy)
    looks_twice(whole["scheduler"], stage.change({"nodes": "0", "reasons": ["Drifted"]}, **DRIFT))
    assert stage.scene.nodes() == sorted(before)
    assert course.methods() == []

    stage.change({"nodes": "1", "reasons": ["Drifted"]})
    after = [stage.leaves("left", *before), stage.leaves("right", *before)]
    stage.until_gone(*before)
    assert [claim["metadata"]["name"] for claim in stage.scene.claims()] == sorted(after)
    assert course.methods() == ["POST", "DELETE", "POST", "DELETE"]
    assert stage.has_devices("left", 2)
    assert stage.has_devices("right", 3)


def test_a_node_waits_for_the_drivers_of_what_replaces_it_and_stays_if_that_is_taken_away(
    stage: Stage, whole: Whole
) -> None:
    stage.scene.machine("large", stage.scene.group("gpu", 4))
    before = stage.pod("train")
    pool = stage.change(metadata={"annotations": {f"{PREFIX}unpublished": "*"}})
    stage.until_closed(before, is_closed=True)
    stage.scene.until(before, "DisruptionReason", "True", "Drifted", "has changed")
    (after,) = {one["metadata"]["name"] for one in stage.scene.claims()} - {before}
    stage.scene.until(after, "Initialized", "Unknown", "DRADriverPoolsNotPublished")
    looks_twice(whole["scheduler"], pool)
    assert stage.node_of("train") == before
    stage.scene.api.delete(NODE_CLAIMS, after)

    stage.world.told(before, "DisruptionGivenUp", f"NodeClaim {after}, which was to replace it, did not come up")
    stage.until_closed(before, is_closed=False)
    stage.until_silent(before, "DisruptionReason")
    stage.until_gone(after)
    assert [claim["metadata"]["name"] for claim in stage.scene.claims()] == [before]
    assert (stage.node_of("train"), stage.moves("train")) == (before, 0)


def test_a_node_that_has_lived_long_enough_goes_whatever_budgets_say(stage: Stage) -> None:
    stage.scene.machine("large", stage.scene.group("gpu", 4))
    stage.change({"nodes": "0"}, spec={"expireAfter": "4s"})
    stage.begin("train", gpu=2)
    mortal = stage.scene.claim_of("train-0")["metadata"]["name"]
    stage.change(spec={"expireAfter": "Never"})

    def lives_on() -> str:
        node = stage.node_of("train")
        return node if stage.life_of(node) == "Never" else ""

    after = stage.world.mirror.until(lives_on, "the pod to run on a node that does not expire", seconds=150)
    stage.until_gone(mortal)
    assert [claim["metadata"]["name"] for claim in stage.scene.claims()] == [after]
    assert stage.has_devices("train", 2)


def test_nodes_become_one_cheaper_node_once_budgets_let_all_of_them_go(stage: Stage, proxy: Proxy) -> None:
    stage.consolidate({"nodes": "1"})
    stage.scene.machine("small", stage.scene.group("gpu", 1), price=3, capacity={"cpu": 6})
    pods = ("a", "b", "c")
    before = [stage.pod(name, cpu=5) for name in pods]
    assert len(set(before)) == len(pods)
    course = Course(proxy)
    large = stage.scene.machine("large", stage.scene.group("gpu", 4), price=5)
    for node in before:
        stage.world.told(node, "Unconsolidatable", "no cheaper node would do")
    assert course.methods() == []

    stage.change(EVERY_NODE)
    (after,) = {stage.leaves(name, *before) for name in pods}
    stage.until_gone(*before)
    (claim,) = stage.scene.claims()
    assert (claim["metadata"]["name"], types_of(claim)) == (after, [large])
    assert course.methods() == ["POST", *["DELETE"] * len(pods)]
    assert all(stage.has_devices(name, 1) for name in pods)


def test_pods_that_share_a_claim_leave_a_node_together_and_share_its_device_on_the_next(stage: Stage) -> None:
    stage.scene.machine("large", stage.scene.group("gpu", 4))
    stage.world.create(manifests.claim("common", stage.scene.wants("gpu", 2)))
    before = stage.user("left", "common")
    assert stage.user("right", "common") == before
    stage.change(**DRIFT)

    after = stage.leaves("left", before)
    assert stage.leaves("right", before) == after
    stage.until_gone(before)
    assert [claim["metadata"]["name"] for claim in stage.scene.claims()] == [after]
    assert stage.has_devices("left", 2)


@pytest.mark.parametrize(
    ("write", "moment", "roles"),
    [
        (STANDS_IN, "before", ["scheduler"]),
        (STANDS_IN, "after", ["scheduler"]),
        (Match(method="PATCH", path="/nodeclaims", body='"dra-scheduler.dev/disruption"'), "after", ["scheduler"]),
        (Match(method="PATCH", path="/nodes/", body="karpenter.sh/disrupted"), "after", ["scheduler"]),
        (DELETE, "before", ["scheduler"]),
        (DELETE, "after", ["scheduler"]),
        (Match(method="POST", path="/eviction$"), "after", ["scheduler", "nodeclaims"]),
    ],
    ids=["create-before", "create-after", "mark-after", "taint-after", "delete-before", "delete-after", "evict-after"],
)
def test_a_kill_at_any_write_makes_no_second_node_loses_none_and_moves_pods_once(
    stage: Stage, proxy: Proxy, whole: Whole, write: Match, moment: str, roles: list[str]
) -> None:
    stage.scene.machine("large", stage.scene.group("gpu", 4))
    before = stage.pod("train", gpu=3)
    assert stage.pod("other") == before
    course = Course(proxy)
    hold = Hold()
    proxy.disturb(write, hold.before() if moment == "before" else hold.after())
    stage.change(**DRIFT)
    hold.reached()
    for role in roles:
        whole[role].kill()
    hold.drop()
    whole.run()

    after = stage.leaves("train", before)
    assert stage.leaves("other", before) == after
    stage.until_gone(before)
    assert [claim["metadata"]["name"] for claim in stage.scene.claims()] == [after]
    assert stage.moves("train") == stage.moves("other") == 1
    assert stage.has_devices("train", 3)
    # Twice at most: once more if the first one never arrived, or nobody knew whether it had.
    assert course.attempts() in {1, 2}
