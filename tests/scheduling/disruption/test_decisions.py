"""Which nodes are to go, and which are not."""

import pytest
from msgspec.structs import replace

from dra_cases.fleet import BORN, DRIVER, NOW, Fleet, Json, claim
from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.basics.times import seconds_of
from dra_scheduling.disruption import (
    Decision,
    DisruptionView,
    Ineligible,
    NodeActivity,
    WhatIfOptions,
    next_decision,
    survey,
)
from dra_scheduling.model.ids import DeviceID

OPTIONS = WhatIfOptions(now=NOW)
CALM = NodeActivity()


def of_types(*names: str) -> Json:
    return {"requirements": [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": list(names)}]}


def test_all_empty_nodes_go_together() -> None:
    fleet = Fleet()
    for name in ("a", "b", "c"):
        fleet.node(name)
    fleet.pod("agent", "a", owner="DaemonSet")
    fleet.pod("trainer", "b", gpus=1)

    decision = decide(fleet)

    assert decision is not None
    assert (decision.reason, gone(decision), decision.created) == ("Empty", ["a", "c"], ())


def test_a_node_goes_if_its_pods_have_room_elsewhere() -> None:
    fleet = Fleet()
    fleet.node("a", "gpu-2")
    fleet.node("b", "gpu-2")
    fleet.pod("one", "a", gpus=1)
    fleet.pod("two", "b", gpus=1)
    fleet.pod("three", "b", cpu="2")

    decision = decide(fleet)

    assert decision is not None
    assert (decision.reason, gone(decision)) == ("Underutilized", ["a"])
    assert decision.message == "its pods have room on b"


def test_a_node_that_costs_less_takes_the_place_of_one_that_is_too_large() -> None:
    fleet = Fleet()
    fleet.node("a", "gpu-4")
    fleet.pod("one", "a", gpus=1)

    decision = decide(fleet)

    assert decision is not None
    assert (gone(decision), len(decision.created)) == (["a"], 1)
    types = next(one.values for one in decision.created[0].spec.requirements if one.key.endswith("instance-type"))
    assert types == ("gpu-1", "gpu-2")
    assert "for 1 instead of 3.5 an hour" in decision.message


def test_a_node_of_the_right_size_stays() -> None:
    fleet = Fleet()
    fleet.node("a", "gpu-1")
    fleet.pod("one", "a", gpus=1)

    assert decide(fleet) is None


def test_several_nodes_become_one_that_costs_less() -> None:
    fleet = Fleet()
    for name in ("a", "b"):
        fleet.node(name, "gpu-1")
        fleet.pod(f"of-{name}", name, gpus=1)

    decision = decide(fleet)

    assert decision is not None
    assert (gone(decision), len(decision.created)) == (["a", "b"], 1)
    assert "for 1.8 instead of 2 an hour" in decision.message


def test_pods_that_would_need_two_new_nodes_keep_theirs() -> None:
    fleet = Fleet({"gpu-1": {"price": "0.1", "gpus": 1}, "big": {"price": "9", "gpus": 2}})
    fleet.node("a", "big")
    fleet.pod("one", "a", gpus=1)
    fleet.pod("two", "a", gpus=1)

    assert decide(fleet) is None


def test_spot_is_not_replaced_by_spot() -> None:
    kinds = {"gpu-1": {"price": "1", "gpus": 1, "spot": "0.3"}, "gpu-2": {"price": "2", "gpus": 2, "spot": "0.6"}}
    fleet = Fleet(kinds)
    fleet.node("a", "gpu-2", capacity_type="spot")
    fleet.pod("one", "a", gpus=1)

    assert decide(fleet) is None


def test_a_replacement_cannot_come_out_dearer_under_another_capacity_type() -> None:
    kinds = {"gpu-1": {"price": "1.5", "gpus": 1, "spot": "0.3"}, "gpu-2": {"price": "1.2", "gpus": 2}}
    fleet = Fleet(kinds)
    fleet.node("a", "gpu-2")
    fleet.pod("one", "a", gpus=1)

    decision = decide(fleet)

    assert decision is not None
    kept = {one.key: one.values for one in decision.created[0].spec.requirements}
    assert kept["karpenter.sh/capacity-type"] == ("spot",)
    assert kept["node.kubernetes.io/instance-type"] == ("gpu-1",)


@pytest.mark.parametrize(
    ("disruption", "reason"),
    [
        ({"consolidationPolicy": "WhenEmpty"}, None),
        ({"consolidateAfter": "Never"}, None),
        ({"consolidateAfter": "25h"}, None),
        ({"consolidateAfter": "23h"}, "Underutilized"),
        ({"budgets": [{"nodes": "0"}]}, None),
        ({"budgets": [{"nodes": "0", "reasons": ["Drifted", "Empty"]}, {"nodes": "1"}]}, "Underutilized"),
        ({"budgets": [{"nodes": "0", "schedule": "@daily", "duration": "10m"}]}, None),
        ({"budgets": [{"nodes": "0", "schedule": "0 12 * * *", "duration": "10m"}]}, "Underutilized"),
    ],
)
def test_the_pool_says_when_its_nodes_may_go(disruption: Json, reason: str | None) -> None:
    fleet = Fleet(disruption=disruption)
    fleet.node("a", "gpu-2")
    fleet.node("b", "gpu-2")
    fleet.pod("one", "a", gpus=1)
    fleet.pod("two", "b", gpus=1)

    decision = decide(fleet)

    assert (decision.reason if decision is not None else None) == reason


def test_budgets_hold_back_all_but_so_many_empty_nodes() -> None:
    fleet = Fleet(disruption={"budgets": [{"nodes": "50%"}]})
    for name in ("a", "b", "c"):
        fleet.node(name)

    decision = decide(fleet)

    assert decision is not None
    assert gone(decision) == ["a", "b"]


@pytest.mark.parametrize(
    ("notes", "text"),
    [
        ({"karpenter.sh/do-not-disrupt": "true"}, "it has the annotation karpenter.sh/do-not-disrupt"),
        ({"dra-scheduler.dev/disruption-retry-after": "2026-01-02T00:01:00Z"}, "given up"),
    ],
)
def test_a_node_may_forbid_to_be_taken_away(notes: Json, text: str) -> None:
    fleet = Fleet()
    fleet.node("a", notes=notes)

    (found,) = survey(DisruptionView(fleet.cluster), seconds_of(NOW), CALM)

    assert isinstance(found, Ineligible)
    assert text in found.message
    assert decide(fleet) is None


@pytest.mark.parametrize(
    ("pod", "text"),
    [
        ({"notes": {"karpenter.sh/do-not-disrupt": "true"}}, "pod default/one has the annotation"),
        ({"notes": {"karpenter.sh/do-not-disrupt": "25h"}}, "pod default/one has the annotation"),
        ({"notes": {"karpenter.sh/do-not-disrupt": "23h"}}, ""),
        ({"notes": {"karpenter.sh/do-not-disrupt": "true"}, "phase": "Succeeded"}, ""),
        ({"labels": {"app": "db"}}, "PodDisruptionBudget default/db allows no eviction of pod default/one"),
        ({"labels": {"app": "other"}}, ""),
        ({"labels": {"app": "twice"}}, "several PodDisruptionBudgets (all, more)"),
    ],
)
def test_pods_may_forbid_that_their_node_is_taken_away(pod: Json, text: str) -> None:
    fleet = Fleet()
    fleet.show(
        budget("db", {"matchLabels": {"app": "db"}}, 0),
        budget("all", {"matchExpressions": [{"key": "app", "operator": "In", "values": ["twice"]}]}, 1),
        budget("more", {"matchLabels": {"app": "twice"}}, 1),
    )
    fleet.node("a", "gpu-2")
    fleet.node("b", "gpu-2")
    fleet.pod("one", "a", **pod)
    fleet.pod("two", "b", gpus=2, cpu="14", notes={"karpenter.sh/do-not-disrupt": "true"})

    found = {one.claim.name: one for one in survey(DisruptionView(fleet.cluster), seconds_of(NOW), CALM)}

    protection = getattr(found["claim-a"], "protection", None)
    assert protection is not None
    assert (text in protection) if text else not protection
    assert (decide(fleet) is None) == bool(text)


def test_nodes_of_others_static_pools_and_nodes_coming_up_are_left_alone() -> None:
    fleet = Fleet()
    fleet.pool("fixed", spec={"replicas": 1})
    fleet.node("foreign", group="karpenter.k8s.aws")
    fleet.node("of-fixed", pool="fixed")
    fleet.node("coming", is_coming=True)

    assert list(survey(DisruptionView(fleet.cluster), seconds_of(NOW), CALM)) == []


def test_a_node_that_pods_wait_for_stays() -> None:
    fleet = Fleet()
    fleet.node("a", notes={"dra-scheduler.dev/nominated-pods": '["default/late/uid-late"]'})
    fleet.pod("late")

    assert decide(fleet) is None


@pytest.mark.parametrize(
    ("users", "goes"),
    [
        ([{"apiGroup": "example.com", "resource": "jobs", "name": "j", "uid": "j"}], False),
        (["late"], False),
        (["unknown"], False),
        ([], False),
        (["ended"], True),
        (["agent"], True),
        (["agent", "late"], False),
    ],
    ids=str,
)
def test_a_node_whose_devices_somebody_has_who_is_not_on_it_stays(users: list[str | Json], goes: bool) -> None:  # noqa: FBT001
    fleet = Fleet()
    fleet.node("a")
    fleet.show(claim("held", [DeviceID(DRIVER, "a", "gpu-0")], users=users))
    fleet.pod("late", claims={"gpu": "held"}, spec={"schedulerName": "other"})
    fleet.pod("ended", "a", claims={"gpu": "held"}, phase="Succeeded")
    fleet.pod("agent", "a", claims={"gpu": "held"}, owner="DaemonSet")

    (found,) = survey(DisruptionView(fleet.cluster), seconds_of(NOW), CALM)

    assert (decide(fleet) is not None) is goes
    assert goes or (isinstance(found, Ineligible) and "claim default/held holds devices of it" in found.message)


@pytest.mark.parametrize(
    ("template", "is_drifted"),
    [
        ({}, False),
        ({"startupTaints": [{"key": "new", "effect": "NoSchedule"}]}, True),
        ({"expireAfter": "1h"}, True),
        (of_types("gpu-1", "gpu-2"), False),
        (of_types("gpu-2", "gpu-4"), True),
    ],
)
def test_a_node_drifts_from_a_pool_that_changed(template: Json, is_drifted: bool) -> None:  # noqa: FBT001
    fleet = Fleet(disruption={"consolidateAfter": "Never"})
    fleet.node("a", "gpu-1")
    fleet.pod("one", "a", gpus=1)
    fleet.pool("pool", template=template, disruption={"consolidateAfter": "Never"})

    decision = decide(fleet)

    assert (decision is not None and decision.reason == "Drifted") == is_drifted
    assert decision is None or len(decision.created) == 1


def test_a_node_whose_type_is_gone_drifts() -> None:
    fleet = Fleet(disruption={"consolidateAfter": "Never"})
    fleet.node("a", "gpu-1")
    fleet.pod("one", "a")
    fleet.remove_kind("gpu-1")

    decision = decide(fleet)

    assert decision is not None
    assert "there is no InstanceType gpu-1 any more" in decision.message


@pytest.mark.parametrize(("grace", "is_free"), [("", False), ("1h", True)])
def test_a_grace_period_lets_protected_pods_drift(grace: str, is_free: bool) -> None:  # noqa: FBT001
    fleet = Fleet(disruption={"consolidateAfter": "Never"})
    fleet.node("a", claim={"terminationGracePeriod": grace} if grace else {})
    fleet.pod("one", "a", notes={"karpenter.sh/do-not-disrupt": "true"})
    fleet.pool("pool", template={"expireAfter": "1h"})

    assert (decide(fleet) is not None) == is_free


def test_the_least_disturbing_node_goes_first() -> None:
    fleet = Fleet()
    for name, priority in (("a", 1_000_000_000), ("b", 0)):
        fleet.node(name, "gpu-2", born=BORN)
        fleet.pod(f"of-{name}", name, gpus=1, spec={"priority": priority})

    decision = decide(fleet)

    assert decision is not None
    assert gone(decision) == ["b"]


def decide(fleet: Fleet) -> Decision | None:
    return next_decision(DisruptionView(fleet.cluster), OPTIONS)


def gone(decision: Decision) -> list[str]:
    return [claim.status.node_name for claim in decision.claims]


def budget(name: str, selector: Json, left: int) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": left},
    }


@pytest.mark.parametrize(("now", "goes"), [("2026-01-02T00:00:14Z", False), ("2026-01-02T00:00:15Z", True)])
def test_a_node_that_a_pod_is_just_leaving_is_not_empty_yet(now: str, goes: bool) -> None:  # noqa: FBT001
    fleet = Fleet()
    fleet.node("a")
    fleet.pod("ends", "a", is_deleting=True)

    decision = next_decision(DisruptionView(fleet.cluster), WhatIfOptions(now=now))

    assert (decision is not None) == goes


def with_a_node_that_goes(*others: str) -> Fleet:
    """A node with a pod that goes, and others with room for it."""
    fleet = Fleet()
    for name in ("a", *others):
        fleet.node(name, "gpu-2")
    fleet.pod("one", "a", gpus=1)
    going = fleet.claim_of("a")
    fleet.cluster.apply(replace(going, metadata=replace(going.metadata, deletion_timestamp=BORN)))
    return fleet


def test_an_empty_node_stays_that_a_pod_of_a_node_that_goes_will_need() -> None:
    assert decide(with_a_node_that_goes("b")) is None

    decision = decide(with_a_node_that_goes("b", "c"))
    assert decision is not None
    assert (decision.reason, len(gone(decision))) == ("Empty", 1)


def test_a_node_in_use_stays_that_a_pod_of_a_node_that_goes_will_need() -> None:
    fleet = with_a_node_that_goes("b")
    fleet.pod("two", "b", cpu="2")
    fleet.node("c", "gpu-1")
    fleet.pod("three", "c", gpus=1)
    fleet.mark("c", do_not_disrupt="true")

    assert decide(fleet) is None


def test_a_look_that_takes_too_long_ends_without_a_decision() -> None:
    fleet = Fleet()
    fleet.node("a", "gpu-4")
    fleet.pod("one", "a", gpus=1)
    late = WhatIfOptions(now=NOW, budget=SearchBudget(is_late=lambda: True))

    assert next_decision(DisruptionView(fleet.cluster), late) is None
    assert decide(fleet) is not None
