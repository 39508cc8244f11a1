import msgspec
import pytest

from dra_builders.values import pod
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.fit.pod_rules import gate_refusal, unsupported_refusal
from dra_scheduling.model.pods import PodSchedulingGate, PodSpec
from dra_scheduling.wire.objects import read_as

RULE = [{"topologyKey": "zone"}]


def spec(**content: object) -> PodSpec:
    return read_as(PodSpec, content)


def test_a_gated_pod_waits_for_its_gates() -> None:
    gates = (PodSchedulingGate(name="example.com/quota"), PodSchedulingGate(name="example.com/data"))
    refusal = gate_refusal(msgspec.structs.replace(pod("p"), spec=PodSpec(scheduling_gates=gates)))

    assert refusal is not None
    assert refusal.message == "waits for its scheduling gates: example.com/quota, example.com/data"
    assert refusal.wake == ClusterEvent.POD


def test_a_pod_without_gates_waits_for_none() -> None:
    assert gate_refusal(pod("p")) is None


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (
            {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": RULE}}},
            "required pod affinity",
        ),
        (
            {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": RULE}}},
            "required pod anti-affinity",
        ),
        (
            {"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]},
            "topology spread with DoNotSchedule",
        ),
        ({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}, "PersistentVolumeClaim"),
        ({"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}]}, "PersistentVolumeClaim"),
    ],
)
def test_a_binding_rule_that_is_not_supported_is_refused_by_name(content: dict[str, object], rule: str) -> None:
    refusal = unsupported_refusal(msgspec.structs.replace(pod("p"), spec=spec(**content)))

    assert refusal is not None
    assert rule in refusal.message


@pytest.mark.parametrize(
    "content",
    [
        {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": RULE}}},
        {"topologySpreadConstraints": [{"topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]},
        {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}]},
        {"affinity": {"podAffinity": None}},
    ],
)
def test_preferences_and_other_volumes_are_no_obstacle(content: dict[str, object]) -> None:
    assert unsupported_refusal(msgspec.structs.replace(pod("p"), spec=spec(**content))) is None
