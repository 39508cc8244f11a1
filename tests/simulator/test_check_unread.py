"""What `dra check` says of objects that cannot be read, and of fields that nobody reads."""

import json

import pytest

from dra_cases.command import dra

TYPE = """
apiVersion: dra-scheduler.dev/v1alpha1
kind: InstanceType
metadata: {name: t}
spec: {capacity: {cpu: 8, memory: 8Gi}, offerings: [{zone: z, %s: 1}]%s}
"""
POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: p}
spec: {template: {spec: {nodeClassRef: {group: dra-scheduler.dev, kind: NodeClass, name: n}, requirements: []}}, %s: 1}
"""


def test_every_fault_of_an_object_that_cannot_be_read_is_told() -> None:
    ended = dra("check", "-", text=TYPE % ("cost", ", capacities: {}"))
    assert ended.code == 2
    assert ended.problems == [
        "-: InstanceType t: $.spec.capacities: unknown field, expected capacity",
        "-: InstanceType t: $.spec.offerings[0]: missing required field price",
        (
            "-: InstanceType t: $.spec.offerings[0].cost: "
            "unknown field, expected one of price, available, capacity, capacityType"
        ),
    ]


def test_the_figures_count_what_cannot_be_read() -> None:
    ended = dra("check", "-", "-o", "table", text=TYPE % ("cost", ""))
    assert ended.out == "2 errors (2 of what cannot be used, told on standard error), 0 warnings\n"


@pytest.mark.parametrize(
    ("text", "severity", "code"),
    [(TYPE % ("price", ", overheads: {}"), "error", 1), (POOL % "wieght", "warning", 0)],
)
def test_an_object_with_a_field_that_nobody_knows_is_read_all_the_same(text: str, severity: str, code: int) -> None:
    ended = dra("check", "-", "-o", "json", text=text)
    (found,) = (one for one in json.loads(ended.out) if one["message"].startswith("unknown field"))
    assert (found["severity"], ended.code) == (severity, code)


def test_what_is_known_is_no_finding() -> None:
    assert json.loads(dra("check", "-", "-o", "json", text=TYPE % ("price", ", overhead: {}")).out) == []
