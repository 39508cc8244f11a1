"""What people are told of nodes that stay: only what they can change, and only where consolidation is wanted."""

import pytest

from dra_cases.fleet import NOW, Fleet, Json
from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.disruption import DisruptionView, Ineligible, WhatIfOptions, next_decision

OPTIONS = WhatIfOptions(now=NOW)
HOLD = {"karpenter.sh/do-not-disrupt": "true"}
SHUT = {"budgets": [{"nodes": "0"}]}


def test_an_annotation_of_the_node_is_told() -> None:
    fleet = Fleet()
    fleet.node("a", notes=HOLD)

    assert told(fleet) == {"claim-a": "it has the annotation karpenter.sh/do-not-disrupt"}


def test_a_pod_that_asks_to_stay_is_told() -> None:
    fleet = Fleet()
    fleet.node("a")
    fleet.pod("one", "a", notes=HOLD)

    assert told(fleet) == {"claim-a": "pod default/one has the annotation karpenter.sh/do-not-disrupt"}


def test_a_disruption_budget_of_pods_is_told() -> None:
    fleet = Fleet()
    fleet.show(
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "db", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "db"}}},
            "status": {"disruptionsAllowed": 0},
        }
    )
    fleet.node("a")
    fleet.pod("one", "a", labels={"app": "db"})

    assert told(fleet) == {"claim-a": "PodDisruptionBudget default/db allows no eviction of pod default/one"}


def test_a_pod_that_fits_nowhere_else_is_told() -> None:
    fleet = Fleet()
    fleet.node("a", "gpu-4")
    fleet.pod("one", "a", gpus=4)
    for name in ("gpu-1", "gpu-2", "gpu-4", "cpu-8"):
        fleet.remove_kind(name)

    assert told(fleet)["claim-a"].startswith("pod default/one has no other place: ")


def test_a_node_of_the_cheapest_type_that_would_do_is_told() -> None:
    fleet = Fleet()
    fleet.node("a", "gpu-1")
    fleet.pod("one", "a", gpus=1)

    assert told(fleet) == {"claim-a": "no cheaper node would do"}


@pytest.mark.parametrize(("gpus", "reason"), [(0, "Empty"), (1, "Underutilized")])
def test_a_budget_that_is_shut_is_told(gpus: int, reason: str) -> None:
    fleet = Fleet(disruption=SHUT)
    fleet.node("a", "gpu-4")
    if gpus:
        fleet.pod("one", "a", gpus=gpus)

    assert told(fleet) == {"claim-a": f"the budgets of NodePool pool allow no node to go now ({reason})"}


def test_a_budget_that_nodes_use_up_which_are_not_ready_is_not_told() -> None:
    fleet = Fleet(disruption={"budgets": [{"nodes": "1"}]})
    fleet.node("a", ready="False", notes=HOLD)
    fleet.node("b")

    assert set(told(fleet)) == {"claim-a"}


@pytest.mark.parametrize(
    "disruption",
    [
        {"consolidateAfter": "Never"},
        {"consolidationPolicy": "WhenEmpty"},
        {"consolidateAfter": "25h"},
    ],
    ids=["never", "only empty nodes", "used a moment ago"],
)
@pytest.mark.parametrize("more", [{}, SHUT], ids=["open", "shut"])
@pytest.mark.parametrize("notes", [{}, HOLD], ids=["free", "held"])
def test_nothing_is_told_of_a_node_that_is_not_to_be_consolidated(disruption: Json, more: Json, notes: Json) -> None:
    fleet = Fleet(disruption={**disruption, **more})
    fleet.node("a", "gpu-1", notes=notes)
    fleet.node("b", "gpu-1")
    fleet.pod("one", "a", gpus=1)
    fleet.pod("two", "b", gpus=1, notes=notes)

    assert told(fleet) == {}


@pytest.mark.parametrize(
    "notes",
    [
        {"dra-scheduler.dev/disruption-retry-after": "2026-01-02T00:01:00Z"},
        {"dra-scheduler.dev/nominated-pods": '["default/late/uid-late"]'},
    ],
    ids=["given up", "waited for"],
)
def test_what_passes_by_itself_is_not_told(notes: Json) -> None:
    fleet = Fleet()
    fleet.node("a", notes=notes)
    fleet.pod("late", gpus=1)

    assert told(fleet) == {}


def test_a_pod_that_a_node_which_comes_up_may_take_is_not_told() -> None:
    fleet = Fleet()
    fleet.node("a", "gpu-1")
    fleet.pod("one", "a", gpus=1)
    fleet.node("b", "gpu-2", is_coming=True)

    assert told(fleet) == {}


def test_a_search_that_ran_out_of_time_tells_nothing_of_places() -> None:
    fleet = Fleet()
    fleet.node("a", "gpu-1")
    fleet.pod("one", "a", gpus=1)
    late = WhatIfOptions(now=NOW, budget=SearchBudget(is_late=lambda: True))

    assert told(fleet, late) == {}


def test_nothing_is_told_where_there_is_a_decision() -> None:
    fleet = Fleet()
    fleet.node("a", notes=HOLD)
    fleet.node("b")

    assert told(fleet, is_decided=True) == {}


def told(fleet: Fleet, options: WhatIfOptions = OPTIONS, *, is_decided: bool = False) -> dict[str, str]:
    found: list[Ineligible] = []
    decision = next_decision(DisruptionView(fleet.cluster), options, tell=found.append)
    assert (decision is not None) == is_decided
    assert len({one.claim.name for one in found}) == len(found)
    return {one.claim.name: one.message for one in found}
