"""What keeps pods from types that have their devices: those are their daemons', or take too much of the node."""

import json

import pytest

from dra_cases.command import dra
from dra_cases.planning import Json
from dra_cases.worlds import manifests, standard_classes

GATE = "DRANodeAllocatableResources=true"
TAKING: Json = {"driver": "a", "of_node": {"cpu": {"mapping": {"deviceMultiplier": "6"}}}}


def reasons(world: Json) -> list[str]:
    """What the only type of the world has against the pod."""
    items = [*standard_classes(), *manifests({"pools": {"default": {}}, **world})]
    text = json.dumps({"kind": "List", "items": items})
    ended = dra("simulate", "-", "-o", "json", "--explain", "p", "--feature-gates", GATE, text=text)
    (group,) = json.loads(ended.out)["explanation"]["supply"]["instanceTypes"]
    return [reason["message"] for reason in group["reasons"]]


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        (
            {
                "types": {"t": {"devices": {"a": 2}}},
                "daemons": {"one": {"wants": ["r"]}, "two": {"wants": [{"name": "r", "count": 2}]}},
            },
            ["its DaemonSets ask for more devices than there are"],
        ),
        ({"types": {"t": {"cpu": 8, "devices": [TAKING]}}}, ["insufficient cpu, needs 9 and has 8 for pods"]),
        ({"types": {"t": {"cpu": 9, "devices": [TAKING]}}}, []),
    ],
    ids=["taken by daemons", "too much of the node", "enough"],
)
def test_a_type_says_what_it_has_against_the_pod(world: Json, expected: list[str]) -> None:
    assert reasons({**world, "pods": {"p": {"cpu": 3, "wants": ["r"]}}}) == expected
