"""What an API server would refuse of our own kinds, by the schemas of their CustomResourceDefinitions.

The data file holds the schemas of `crds/` (`python -m dra_operating.pages` writes it); nothing of them is written again
here. Rules in CEL are put to cel-python, those that compare with a former state of the object left out.
"""

import logging
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import celpy
import msgspec
import re2  # type: ignore[import-untyped]
from celpy.adapter import json_to_cel
from celpy.evaluation import CELEvalError

from dra_scheduling.wire import WireFault
from kube_cel.quantity import Quantity

SCHEMAS = Path(__file__).with_name("crd_schemas.json")
FORMER_STATE = "oldSelf"
Json = Any
Schema = Mapping[str, Any]


def refused_by_schema(raw: Mapping[str, object]) -> tuple[WireFault, ...]:
    """Return what the schema of the object's kind refuses; of kinds that are not ours, nothing. Status is left out."""
    schema = _schemas().get(f"{raw.get('apiVersion')} {raw.get('kind')}")
    if schema is None or "spec" not in schema["properties"]:
        return ()
    if raw.get("spec") is None:
        return (WireFault("$.spec", "missing required field spec"),) if "spec" in schema.get("required", ()) else ()
    return tuple(_faults(raw["spec"], schema["properties"]["spec"], "$.spec"))


def _faults(value: Json, schema: Schema, path: str) -> Iterator[WireFault]:
    found = list(_of_kind(value, schema, path))
    yield from found
    if isinstance(value, Mapping):
        found = list(_in_mapping(value, schema, path))
    elif isinstance(value, list):
        found = list(_in_list(value, schema, path))
    else:
        return
    yield from found
    if not found:
        yield from _rules(value, schema, path)


def _of_kind(value: Json, schema: Schema, path: str) -> Iterator[WireFault]:
    """Yield what is wrong with the value by itself; a type that is wrong is told where objects are read."""
    if "enum" in schema and value not in schema["enum"]:
        yield WireFault(path, f"expected one of {', '.join(map(str, schema['enum']))}, got {value}")
    if isinstance(value, str):
        yield from _in_text(value, schema, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if "minimum" in schema and value < schema["minimum"]:
            yield WireFault(path, f"expected at least {schema['minimum']}, got {value}")
        if "maximum" in schema and value > schema["maximum"]:
            yield WireFault(path, f"expected at most {schema['maximum']}, got {value}")
    if not isinstance(value, Mapping | list):
        yield from _rules(value, schema, path)


def _in_text(value: str, schema: Schema, path: str) -> Iterator[WireFault]:
    if len(value) < schema.get("minLength", 0):
        yield WireFault(path, "expected a text, got none" if not value else f"expected more than {value!r}")
    if len(value) > schema.get("maxLength", len(value)):
        yield WireFault(path, f"expected at most {schema['maxLength']} characters, got {len(value)}")
    pattern = schema.get("pattern")
    if pattern is not None and re2.search(pattern, value) is None:
        yield WireFault(path, f"expected a text such as {pattern} describes, got {value!r}")


def _in_mapping(value: Mapping[str, Json], schema: Schema, path: str) -> Iterator[WireFault]:
    properties: Mapping[str, Schema] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if value.get(name) is None:
            yield WireFault(path, f"missing required field {name}")
    if len(value) > schema.get("maxProperties", len(value)):
        yield WireFault(path, f"expected at most {schema['maxProperties']} entries, got {len(value)}")
    if len(value) < schema.get("minProperties", 0):
        yield WireFault(path, f"expected at least {schema['minProperties']} entries, got {len(value)}")
    more = schema.get("additionalProperties")
    for name, item in value.items():
        if item is None:
            continue
        if name in properties:
            yield from _faults(item, properties[name], f"{path}.{name}")
        elif isinstance(more, Mapping):
            yield from _faults(item, more, f'{path}["{name}"]')


def _in_list(value: list[Json], schema: Schema, path: str) -> Iterator[WireFault]:
    if len(value) < schema.get("minItems", 0):
        yield WireFault(path, f"expected at least {schema['minItems']} entries, got {len(value)}")
    if len(value) > schema.get("maxItems", len(value)):
        yield WireFault(path, f"expected at most {schema['maxItems']} entries, got {len(value)}")
    items: Schema = schema.get("items", {})
    keys = schema.get("x-kubernetes-list-map-keys", ())
    is_set = schema.get("x-kubernetes-list-type") == "set"
    seen: dict[object, int] = {}
    for number, item in enumerate(value):
        here = f"{path}[{number}]"
        yield from _faults(item, items, here)
        if is_set or (keys and isinstance(item, Mapping)):
            written = _with_defaults(item, items)
            key = repr(item) if is_set else repr([written.get(name) for name in keys])
            before = seen.setdefault(key, number)
            if before != number:
                yield WireFault(here, f"expected another one than {path}[{before}]")


def _rules(value: Json, schema: Schema, path: str) -> Iterator[WireFault]:
    for rule in schema.get("x-kubernetes-validations", ()):
        if FORMER_STATE not in rule["rule"] and not _holds(rule["rule"], _with_defaults(value, schema)):
            yield WireFault(path + rule.get("fieldPath", ""), f"expected what the schema demands: {rule['message']}")


def _holds(rule: str, value: Json) -> bool:
    try:
        return bool(_program(rule).evaluate({"self": json_to_cel(value)}))
    except (CELEvalError, KeyError, TypeError, ValueError):
        # As on a server, a rule that cannot be answered does not hold.
        return False


@cache
def _program(rule: str) -> celpy.Runner:
    # Its parser logs each rule at a level that people see.
    logging.getLogger("celpy").setLevel(logging.ERROR)
    environment = celpy.Environment()
    return environment.program(environment.compile(rule), functions={"find": _find})


def _find(text: celpy.celtypes.StringType, pattern: celpy.celtypes.StringType) -> celpy.celtypes.StringType:
    """Return the first part of the text that the pattern describes (Kubernetes' own function)."""
    found = re2.search(str(pattern), str(text))
    return celpy.celtypes.StringType(found.group(0) if found is not None else "")


def _with_defaults(value: Json, schema: Schema) -> Json:
    """Return the value as a server holds it against rules: with defaults, and amounts as they are written."""
    if isinstance(value, Mapping):
        properties: Mapping[str, Schema] = schema.get("properties", {})
        more = schema.get("additionalProperties")
        of_others: Schema = more if isinstance(more, Mapping) else {}
        given = {
            name: _with_defaults(item, properties.get(name, of_others))
            for name, item in value.items()
            if item is not None
        }
        return {name: one["default"] for name, one in properties.items() if "default" in one} | given
    if isinstance(value, list):
        return [_with_defaults(item, schema.get("items", {})) for item in value]
    return str(value) if isinstance(value, Quantity) else value


@cache
def _schemas() -> Mapping[str, Schema]:
    found: Mapping[str, Schema] = msgspec.json.decode(SCHEMAS.read_bytes())
    return found
