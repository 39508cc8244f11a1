"""Kubernetes JSON to values: a refusal says where in the object the problem is."""

import pytest

from dra_scheduling.wire import InvalidObjectError, read

DEVICES: list[dict[str, object]] = [
    {"name": "fine", "attributes": {"model": {"string": "A"}}},
    {
        "name": "odd",
        "attributes": {"a": {"int": 1}, "b": {"bool": False}, "vendor.io/c": {"int": 1, "string": "1"}, "d": {}},
    },
    {"name": "odder", "consumesCounters": [{"counterSet": "s", "counters": {"m": {"value": "1"}, "n.o": {}}}]},
    {"name": "oddest", "capacity": {"memory": {"value": "4GGi"}}},
]


@pytest.mark.parametrize(
    ("number", "path"),
    [
        (1, '$.spec.devices[1].attributes["vendor.io/c"]'),
        (2, '$.spec.devices[1].consumesCounters[0].counters["n.o"]'),
        (3, '$.spec.devices[1].capacity["memory"].value'),
    ],
)
def test_a_path_names_the_key_that_holds_the_problem(number: int, path: str) -> None:
    spec = {"driver": "d", "pool": {"name": "p"}, "nodeName": "n", "devices": [DEVICES[0], DEVICES[number]]}
    with pytest.raises(InvalidObjectError) as caught:
        read({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec})
    assert caught.value.path == path


def test_a_path_names_the_one_wrong_label_among_many() -> None:
    labels: dict[str, object] = {f"key-{number}": "value" for number in range(1_000)} | {"wrong": 7, "later": 8}
    with pytest.raises(InvalidObjectError) as caught:
        read({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels}})
    assert caught.value.path == '$.metadata.labels["wrong"]'


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"labels": {1: "x"}}, "$.metadata.labels: a key is wrong: expected a string, got a whole number"),
        ({3: "x"}, "$.metadata: a key is wrong: expected a string"),
    ],
)
def test_a_key_that_is_no_string_is_told_at_its_mapping(metadata: dict[object, object], told: str) -> None:
    with pytest.raises(InvalidObjectError) as caught:
        read({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", **metadata}})
    assert str(caught.value) == f"Node n: {told}"


def test_a_value_that_reads_like_a_path_is_told_as_it_is() -> None:
    amounts = {"cpu": "x - at `$.y`"}
    raw = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": amounts}}
    with pytest.raises(InvalidObjectError) as caught:
        read(raw)
    assert caught.value.path == '$.status.allocatable["cpu"]'
    assert caught.value.problem.startswith("invalid quantity 'x - at `$.y`': expected a number")
