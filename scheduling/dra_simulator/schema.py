"""Fields that the kinds of Kubernetes do not have; which they have is generated from the API servers' schemas."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

from dra_scheduling.wire import WireFault

FIELDS = Path(__file__).with_name("schema_fields.json")


class _Schema(msgspec.Struct, frozen=True):
    """The type of each kind, and of each type its fields: `[]` before a type for each list, `{}` for each map."""

    kinds: Mapping[str, str]
    types: Mapping[str, Mapping[str, str]]


def fields_that_do_not_exist(raw: Mapping[str, object]) -> tuple[WireFault, ...]:
    """Return the fields that no supported version of Kubernetes knows; of kinds of others, nothing.

    Metadata and status are left out: who wrote them was a server.
    """
    schema = _schema()
    name = schema.kinds.get(f"{raw.get('apiVersion')} {raw.get('kind')}")
    if name is None:
        return ()
    written = {field: value for field, value in raw.items() if field not in {"metadata", "status"}}
    return tuple(_unknown(written, name, "$"))


def _unknown(value: object, type_name: str, path: str) -> Iterator[WireFault]:
    if type_name.startswith("[]") and isinstance(value, list):
        for number, item in enumerate(value):
            yield from _unknown(item, type_name[2:], f"{path}[{number}]")
    elif type_name.startswith("{}") and isinstance(value, Mapping):
        for key, item in value.items():
            yield from _unknown(item, type_name[2:], f'{path}["{key}"]')
    elif type_name and isinstance(value, Mapping):
        known = _schema().types.get(type_name, {})
        for field, item in value.items():
            if field in known:
                yield from _unknown(item, known[field], f"{path}.{field}")
            else:
                yield WireFault(
                    f"{path}.{field}", "expected a field that Kubernetes knows: it drops or refuses this one"
                )


@cache
def _schema() -> _Schema:
    return msgspec.json.decode(FIELDS.read_bytes(), type=_Schema)
