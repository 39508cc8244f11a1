from pathlib import Path

import msgspec
import pytest
import yaml

from dra_controlplane.client import Json
from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool

CRDS = Path(__file__).parents[2] / "crds"
KINDS = [
    (NodePool, "karpenter.sh_nodepools.yaml"),
    (NodeClaim, "karpenter.sh_nodeclaims.yaml"),
    (InstanceType, "dra-scheduler.dev_instancetypes.yaml"),
]


def schema_in(file: str) -> Json:
    (version,) = yaml.safe_load((CRDS / file).read_text())["spec"]["versions"]
    schema: Json = version["schema"]["openAPIV3Schema"]
    return schema


def unknown(kind: type[Value], schema: Json, path: str = "") -> list[str]:
    """The paths of the model's fields that the schema lacks: the server would drop them."""
    found = []
    for field in msgspec.structs.fields(kind):
        here = f"{path}.{field.encode_name}"
        part = schema.get("properties", {}).get(field.encode_name)
        if part is None:
            found.append(here)
            continue
        for inner in structs_in(field.type):
            if inner is not ObjectMeta:
                found += unknown(inner, innermost(part), here)
    return found


def innermost(schema: Json) -> Json:
    """The schema of the objects in a list or a map, or in a map of lists."""
    below = schema.get("items") or schema.get("additionalProperties")
    return innermost(below) if isinstance(below, dict) else schema


def structs_in(annotation: object) -> list[type[Value]]:
    if isinstance(annotation, type) and issubclass(annotation, Value):
        return [annotation]
    return [found for argument in getattr(annotation, "__args__", ()) for found in structs_in(argument)]


@pytest.mark.parametrize(("kind", "file"), KINDS)
def test_the_schema_knows_every_field_of_the_kind(kind: type[Value], file: str) -> None:
    assert unknown(kind, schema_in(file)) == []


@pytest.mark.parametrize("place", ["spec", "status"])
def test_node_pools_and_node_claims_write_conditions_and_taints_alike(place: str) -> None:
    pool, claim = (schema_in(file)["properties"] for _, file in KINDS[:2])

    if place == "status":
        assert pool["status"]["properties"]["conditions"] == claim["status"]["properties"]["conditions"]
    else:
        template = pool["spec"]["properties"]["template"]["properties"]["spec"]["properties"]
        assert template["taints"] == claim["spec"]["properties"]["taints"]
