"""Writes which fields the API servers of both Kubernetes versions know, from the schemas in their Go modules.

Run `python -m dra_controlplane.schema_fields` after a change of a version in `v1.36/go.mod` or `v1.37/go.mod`.
"""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parents[2] / "controlplane"
TARGET = HERE.parent.parent / "scheduling" / "dra_simulator" / "schema_fields.json"
VERSIONS = ("1.36", "1.37")
GROUPS = ("api__v1", "apis__apps__v1", "apis__batch__v1", "apis__policy__v1", "apis__resource.k8s.io__v1")
REF = "#/components/schemas/"
SHARED = "io.k8s.apimachinery.pkg."
Types = dict[str, dict[str, str]]


def module_folder(version: str) -> Path:
    """Return the folder of the Kubernetes module of a version, downloaded if it is not there."""
    command = ["go", "mod", "download", "-json", "k8s.io/kubernetes"]
    told = subprocess.run(command, cwd=HERE / f"v{version}", check=True, capture_output=True, text=True)
    return Path(json.loads(told.stdout)["Dir"])


def fields_of(module: Path) -> tuple[dict[str, str], Types]:
    """Return the type of each kind, and of each type the fields with the types of what is in them."""
    kinds: dict[str, str] = {}
    types: Types = {}
    for group in GROUPS:
        document = json.loads((module / "api" / "openapi-spec" / "v3" / f"{group}_openapi.json").read_text())
        for name, schema in document["components"]["schemas"].items():
            # An object without properties is open, and quantities and times are no objects.
            if schema.get("properties"):
                types[name] = {field: _inner(value) for field, value in sorted(schema["properties"].items())}
            for kind in schema.get("x-kubernetes-group-version-kind", ()):
                if not name.startswith(SHARED):
                    kinds["/".join(filter(None, (kind["group"], kind["version"]))) + f" {kind['kind']}"] = name
    return kinds, types


def _inner(schema: Mapping[str, object]) -> str:
    """Return the type behind a field: `[]` before it for each list, `{}` for each map; nothing for plain values."""
    for key, sign in (("items", "[]"), ("additionalProperties", "{}")):
        inner = schema.get(key)
        if isinstance(inner, Mapping):
            found = _inner(inner)
            return sign + found if found else ""
    every = schema.get("allOf")
    reference = every[0] if isinstance(every, list) else schema
    return str(reference.get("$ref", "")).removeprefix(REF)


def rendered() -> str:
    """Return the text of the data file: the fields that either version knows."""
    kinds: dict[str, str] = {}
    types: Types = {}
    for version in VERSIONS:
        of_version = fields_of(module_folder(version))
        kinds |= of_version[0]
        for name, fields in of_version[1].items():
            types[name] = types.get(name, {}) | fields
    known = {kind: name for kind, name in kinds.items() if name in types}
    types = {
        name: {field: inner if inner.lstrip("[]{}") in types else "" for field, inner in fields.items()}
        for name, fields in types.items()
    }
    used = _reached(set(known.values()), types)
    shown = {name: types[name] for name in used}
    return json.dumps({"kinds": known, "types": shown}, indent=0, separators=(",", ":"), sort_keys=True) + "\n"


def _reached(names: set[str], types: Types) -> set[str]:
    found: set[str] = set()
    while names:
        found |= names
        names = {inner.lstrip("[]{}") for name in names for inner in types[name].values() if inner} - found
    return found


if __name__ == "__main__":
    TARGET.write_text(rendered())
