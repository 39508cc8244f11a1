import copy
from pathlib import Path

import msgspec
import pytest
import yaml

from dra_controlplane.client import Json
from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.bindrequests import BindRequest

CRD = Path(__file__).parents[2] / "crds/scheduling.run.ai_bindrequests.yaml"


@pytest.fixture(scope="module")
def schema() -> Json:
    definition = yaml.safe_load(CRD.read_text())
    (version,) = definition["spec"]["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1alpha2", True, True)
    top: Json = version["schema"]["openAPIV3Schema"]
    return top


def below(schema: Json, *path: str) -> Json:
    for name in path:
        schema = schema["items"] if name == "[]" else schema["properties"][name]
    return schema


def test_both_kinds_of_claim_have_the_same_allocation(schema: Json) -> None:
    regular = below(schema, "spec", "resourceClaimAllocations", "[]", "allocation")
    special = copy.deepcopy(below(schema, "spec", "extendedResourceClaimAllocation", "allocation"))

    # Only a claim that somebody wrote may ask for nothing and get nothing.
    assert special.pop("required") == ["devices"]
    assert special["properties"]["devices"].pop("required") == ["results"]
    assert special["properties"]["devices"]["properties"]["results"].pop("minItems") == 1
    assert special == regular


def test_the_schema_knows_every_field_that_decisions_have(schema: Json) -> None:
    assert unknown(BindRequest, schema) == []


def unknown(kind: type[Value], schema: Json, path: str = "") -> list[str]:
    """The paths of the model's fields that the schema lacks: the server would drop them."""
    found = []
    for field in msgspec.structs.fields(kind):
        here = f"{path}.{field.encode_name}"
        if field.encode_name not in schema.get("properties", {}):
            found.append(here)
            continue
        for inner in structs_in(field.type):
            if inner is not ObjectMeta:
                part = schema["properties"][field.encode_name]
                found += unknown(inner, part.get("items", part), here)
    return found


def structs_in(annotation: object) -> list[type[Value]]:
    if isinstance(annotation, type) and issubclass(annotation, Value):
        return [annotation]
    return [found for argument in getattr(annotation, "__args__", ()) for found in structs_in(argument)]


def test_every_list_that_a_rule_looks_into_has_an_end(schema: Json) -> None:
    special = below(schema, "spec", "extendedResourceClaimAllocation")

    lists = [
        below(special, "deviceRequests"),
        below(special, "containerMappings"),
        below(special, "allocation", "devices", "results"),
    ]
    assert all("maxItems" in one for one in lists)
