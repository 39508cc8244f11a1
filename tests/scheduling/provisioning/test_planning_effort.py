"""What plans cost, counted in questions to hosts and in search steps: it may fall, it must not rise."""

from collections.abc import Callable

import pytest

from dra_cases.planning import Json
from dra_cases.turns import Play
from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.provisioning import PlanOptions, ProvisioningResult, plan
from dra_scheduling.state.assignments import OutOfBudget

KINDS: tuple[Json, ...] = ({}, {"a": 8}, {"a": 8, "b": 16}, {"a": 4})
TYPES: Json = {
    f"type-{number:03}": {
        "cpu": 8 * (1 + number % 12),
        "price": 1 + number,
        "zones": ["z1", "z2", "z3"],
        "devices": [
            {"driver": driver, "count": count, "name": f"{driver}-{{index}}", "is": {"model": number % 3}}
            for driver, count in KINDS[number % 4].items()
        ],
    }
    for number in range(400)
}


def shapes(pods: int, zones: tuple[str, ...] = ("",)) -> Json:
    """Half of the pods with devices, of one or two, in four sizes."""
    return {
        f"p{number:04}": {
            "cpu": 1 + number // 2 % 4,
            **({"wants": [{"name": "r", "count": 1 + number // 2 % 2}]} if number % 2 else {}),
            **({"selector": {"zone": zone}} if (zone := zones[number % len(zones)]) else {}),
        }
        for number in range(pods)
    }


def sizes(pods: int) -> Json:
    """Pods of which no two are alike."""
    return {
        "pods": {f"p{n:04}": {"cpu": f"{1000 + n}m", "wants": [{"name": "r", "count": 1 + n % 2}]} for n in range(pods)}
    }


def by_hand(pods: int) -> Json:
    """Pods with claims that somebody made by hand."""
    claims = {f"c{number:04}": [{"name": "r", "count": 1 + number % 2}] for number in range(pods)}
    return {"claims": claims, "pods": {f"p{number:04}": {"claims": [f"c{number:04}"]} for number in range(pods)}}


def alike(pods: int) -> Json:
    return {"pods": shapes(pods)}


def effort(world: Json) -> ProvisioningResult:
    play = Play()
    play.add({"pools": {"default": {}}, **world})
    return plan(play.cluster, play.cluster.pending())


@pytest.mark.parametrize(
    ("world", "node_claims", "questions", "steps"),
    [
        pytest.param({"types": TYPES, "pods": shapes(500)}, 47, 624, 1_309, id="500 pods"),
        pytest.param({"types": TYPES, "pods": shapes(1_000)}, 94, 1_250, 2_624, id="1000 pods"),
        pytest.param(
            {"types": TYPES, "pods": shapes(1_000, ("z1", "z2", "z3"))}, 96, 1_742, 2_620, id="1000 pods in zones"
        ),
        pytest.param(
            {"types": TYPES, "pods": {"p": {"count": 1_000, "wants": [{"name": "r", "count": 9}]}}},
            0,
            1,
            1,
            id="1000 pods that nothing can serve",
        ),
        pytest.param({"types": TYPES, **sizes(500)}, 94, 686, 2_530, id="500 sizes"),
        pytest.param({"types": TYPES, **by_hand(500)}, 94, 686, 2_531, id="500 claims by hand"),
        pytest.param(
            {"types": {"one": {"devices": {"a": 1}}}, "pods": {"p": {"count": 500, "wants": [{"name": "r"}]}}},
            500,
            999,
            1_499,
            id="500 NodeClaims",
        ),
    ],
)
def test_a_plan_takes_no_more_than_it_did(world: Json, node_claims: int, questions: int, steps: int) -> None:
    result = effort(world)

    assert len(result.created) <= node_claims
    assert result.questions <= questions
    assert result.search_steps <= steps


@pytest.mark.parametrize("world", [alike, sizes, by_hand])
def test_twice_the_pods_are_twice_the_questions(world: Callable[[int], Json]) -> None:
    half, whole = (effort({"types": TYPES, **world(pods)}) for pods in (250, 500))

    assert whole.questions <= 2.2 * half.questions
    assert whole.search_steps <= 2.2 * half.search_steps


def test_a_pod_that_takes_too_long_holds_up_no_other() -> None:
    play = Play()
    pairs = [["a/x", ["r0", "r1"]], ["a/y", ["r1", "r2"]], ["a/x", ["r2", "r3"]], ["a/y", ["r3", "r0"]]]
    slow = {"match": pairs, "requests": [f"r{number}" for number in range(4)]}
    many = [{"driver": "a", "name": f"d{n}", "is": {"x": n // 5, "y": n % 5 + n // 5}} for n in range(30)]
    pods = {"slow": {"wants": slow, "priority": 9}, "quick": {"wants": ["r"]}}
    play.add({"pools": {"default": {}}, "types": {"t": {"devices": many}}, "pods": pods})
    result = plan(play.cluster, play.cluster.pending(), PlanOptions(budget=SearchBudget(steps=3, each=3)))

    assert [(type(one), one.pod.metadata.name) for one in result.refused] == [(OutOfBudget, "slow")]
    assert [one.pod.metadata.name for one in result.nominations] == ["quick"]
