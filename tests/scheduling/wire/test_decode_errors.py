from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import yaml

from dra_scheduling.wire import KINDS, InvalidObjectError, WireFault, faults_of, read, unknown_fields_of

CRDS = Path(__file__).parents[3] / "crds"
TYPE = """
apiVersion: dra-scheduler.dev/v1alpha1
kind: InstanceType
metadata: {name: t}
spec: {capacity: {cpu: 8, memory: 8Gi}, offerings: [{zone: z, price: 1}]}
"""
POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: p}
spec: {template: {spec: {nodeClassRef: {group: g, kind: k, name: n}, requirements: []}}}
"""
# Kubernetes' own types say a little more than the kinds that use them.
OF_KUBERNETES = {"$.spec.requirements[].minValues", "$.spec.devices.groups[].taints[].timeAdded"}


def with_spec(text: str, **spec: object) -> dict[str, Any]:
    raw: dict[str, Any] = yaml.safe_load(text)
    return {**raw, "spec": {**raw["spec"], **spec}}


def all_of(raw: object) -> list[str]:
    with pytest.raises(InvalidObjectError) as refused:
        read(raw)
    return [f"{path}: {problem}" for path, problem in faults_of(refused.value, raw)]


def test_all_that_is_wrong_is_told_with_its_path() -> None:
    offerings = [{"price": 1}, None, {"zone": "z", "price": "free"}]
    told = all_of(with_spec(TYPE, capacity={"cpu": 8, "x.org/a b": "much"}, offerings=offerings))

    assert sorted(one.split(": expected")[0] for one in told) == [
        "$.spec.capacity[\"x.org/a b\"]: invalid quantity 'much'",
        "$.spec.offerings[0]: missing required field zone",
        "$.spec.offerings[2].price: invalid quantity 'free'",
    ]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (with_spec(POOL, weight="much"), ["$.spec.weight: expected a whole number, got a string"]),
        (with_spec(POOL, limits=[1]), ["$.spec.limits: expected an object, got a list"]),
        (
            {"apiVersion": "v1", "kind": "Pod", "spec": 3},
            ["$: missing required field metadata", "$.spec: expected an object, got a whole number"],
        ),
        ({"apiVersion": "v1", "kind": "Node", "metadata": {}}, ["$.metadata.name: expected a name"]),
        ({"kind": "Pod"}, ["$: expected an object with apiVersion and kind"]),
    ],
)
def test_nothing_else_is_told(raw: object, told: list[str]) -> None:
    assert all_of(raw) == told


ODD_VALUES: tuple[object, ...] = ("x", 3, 2.5, True, [1], [[]], [{}], ["x"], {}, {"a": 1}, {"a": {}}, {1: 2})


@pytest.mark.parametrize("api", KINDS, ids=lambda api: api[1])
def test_no_text_of_the_decoder_is_told(api: tuple[str, str]) -> None:
    base: dict[str, Any] = {"apiVersion": api[0], "kind": api[1], "metadata": {"name": "n"}}
    told = [fault.problem for raw in spoiled(base, KINDS[api]) for fault in refusals(raw)]

    assert len(told) > len(ODD_VALUES)
    assert [problem for problem in told if "`" in problem or problem.startswith(("Expected", "Object", "Inv"))] == []


def spoiled(base: dict[str, Any], kind: type) -> Iterator[dict[str, Any]]:
    """Yield the object with odd values in each field, and in each field of its spec and status."""
    for field in msgspec.structs.fields(kind):
        yield from ({**base, field.encode_name: value} for value in ODD_VALUES)
        inner = next((one for one in (field.type, *get_args(field.type)) if hasattr(one, "__struct_fields__")), None)
        for below in msgspec.structs.fields(inner) if inner is not None else ():
            yield from ({**base, field.encode_name: {below.encode_name: value}} for value in ODD_VALUES)


def refusals(raw: dict[str, Any]) -> tuple[WireFault, ...]:
    try:
        read(raw)
    except InvalidObjectError as error:
        return faults_of(error, raw)
    return ()


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (with_spec(TYPE), []),
        (with_spec(TYPE, overheads={}), ["$.spec.overheads: unknown field, expected overhead"]),
        (
            with_spec(TYPE, offerings=[{"zone": "z", "cost": 1}]),
            ["$.spec.offerings[0].cost: unknown field, expected one of price, available, capacity, capacityType"],
        ),
        (
            with_spec(POOL, disruption={"budgets": [{"node": "1"}]}),
            ["$.spec.disruption.budgets[0].node: unknown field, expected nodes"],
        ),
        (
            with_spec(TYPE, requirements=[{"key": "a", "operator": "Exists", "minValues": 2}]),
            ["$.spec.requirements[0].minValues: unknown field, expected values"],
        ),
        (
            with_spec(TYPE, devices={"groups": [{"taints": [{"key": "a", "timeAdded": "2026-01-01T00:00:00Z"}]}]}),
            ["$.spec.devices.groups[0].taints[0].timeAdded: unknown field, expected one of effect, value"],
        ),
        ({**with_spec(POOL), "status": {}, "stati": {}}, ["$.stati: unknown field, expected status"]),
        ({**with_spec(POOL), "status": {"of": "another release"}}, []),
        ({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"unread": 1}}, []),
    ],
)
def test_a_field_that_nobody_knows_is_told_of_our_kinds(raw: object, told: list[str]) -> None:
    assert [f"{path}: {problem}" for path, problem in unknown_fields_of(raw)] == told


@pytest.mark.parametrize(
    ("name", "api"),
    [
        ("dra-scheduler.dev_instancetypes", ("dra-scheduler.dev/v1alpha1", "InstanceType")),
        ("karpenter.sh_nodepools", ("karpenter.sh/v1", "NodePool")),
        ("karpenter.sh_nodeclaims", ("karpenter.sh/v1", "NodeClaim")),
    ],
)
def test_the_fields_that_are_known_are_those_of_the_schema(name: str, api: tuple[str, str]) -> None:
    crd = yaml.safe_load((CRDS / f"{name}.yaml").read_text())
    (version,) = crd["spec"]["versions"]
    root = msgspec.inspect.type_info(KINDS[api])

    assert differing(version["schema"]["openAPIV3Schema"], root, "$") <= OF_KUBERNETES


def differing(schema: dict[str, Any], kind: msgspec.inspect.Type, path: str) -> set[str]:
    """Return the fields that only one of the two has; what all objects have is not looked at."""
    match kind:
        case msgspec.inspect.UnionType(types=types):
            return set().union(*(differing(schema, one, path) for one in types))
        case msgspec.inspect.StructType(fields=fields):
            known = {field.encode_name: field.type for field in fields}
            written = schema.get("properties", {})
            if path == "$":
                known = {name: known[name] for name in ("spec", "status")}
                written = {name: written[name] for name in known}
            apart = {f"{path}.{name}" for name in known.keys() ^ written.keys()}
            both = known.keys() & written.keys()
            return apart.union(*(differing(written[name], known[name], f"{path}.{name}") for name in both))
        case msgspec.inspect.VarTupleType(item_type=item):
            return differing(schema.get("items", {}), item, f"{path}[]")
        case msgspec.inspect.DictType(value_type=value):
            more = schema.get("additionalProperties")
            return differing(more, value, f"{path}{{}}") if isinstance(more, dict) else set()
        case _:
            return {path} if "properties" in schema and not isinstance(kind, msgspec.inspect.NoneType) else set()
