"""What a pod is told of the node that was made for it and does not take it."""

import pytest

from dra_cases.planning import Json
from dra_cases.turns import Play

MADE = {"pods": ["p"], "node": "n1", "conditions": {"Launched": True, "Initialized": True}}
READY = {"pool": "default", "type": "t", "karpenter.sh/initialized": "true"}
SAID = "no new node: node n1 was made for it, stands empty, and does not take it: "
DEVICES = 'claim "gpu" request "r" (class a): no device matches: compare what its drivers publish with InstanceType t'


@pytest.mark.parametrize(
    ("kind", "pod", "labels", "why"),
    [
        ({}, {"selector": {"zone": "z1"}}, {"zone": "z2"}, "outside of the pod's node selector or affinity"),
        ({}, {"cpu": 4}, {}, "insufficient cpu, needs 4 (2 free at most)"),
        ({"devices": {"a": 1}}, {"wants": ["r"]}, {}, DEVICES),
    ],
    ids=["a label", "room", "devices"],
)
def test_the_reason_is_that_of_the_node_and_drivers_are_looked_at_for_devices_only(
    kind: Json, pod: Json, labels: Json, why: str
) -> None:
    world = {
        "types": {"t": kind},
        "nodeclaims": {"old": {**MADE, "is": {"type": "t", "zone": "z1"}}},
        "nodes": {"n1": {"cpu": 2, "labels": {**READY, "zone": "z1", **labels}}},
        "pods": {"p": pod},
    }
    play = Play()
    play.add({"pools": {"default": {}}, **world})

    assert play.turn().refuses == {"p": SAID + why}
