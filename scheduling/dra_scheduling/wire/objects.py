"""One reader and one writer for all kinds; msgspec's types carry the description."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from dra_scheduling.model.base import Value
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.kinds import REGISTRY, KubernetesObject
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.wire.decode_errors import WireFault, fault_of, with_keys
from dra_scheduling.wire.interning import share_parts
from dra_scheduling.wire.wire_faults import faults, unknown_fields
from kube_cel.quantity import Quantity

T = TypeVar("T", bound=Value)

KINDS: Mapping[tuple[str, str], type[KubernetesObject]] = {
    (kind.api_versions[0], kind.name): kind.model for kind in REGISTRY
}
STRICT_KINDS = frozenset({InstanceType, NodePool, NodeClaim})
"""Kinds that are read in full, so that a field that is not read is none."""
LEFT_TO_OTHERS = frozenset({"metadata", "status"})
API_OF = {kind: (api_version, name) for (api_version, name), kind in KINDS.items()}
VERSIONS = {(api.rpartition("/")[0], kind): api for api, kind in KINDS}


class InvalidObjectError(ValueError):
    """An object that cannot be used.

    `subject` is `Kind namespace/name`, `path` a JSON path, `problem` what is wrong and what was expected.
    """

    def __init__(self, subject: str, path: str, problem: str) -> None:
        super().__init__(f"{subject}: {path}: {problem}")
        self.subject = subject
        self.path = path
        self.problem = problem


class UnknownKindError(ValueError):
    """A well-formed object of a kind that decisions do not read."""


def read(raw: object) -> KubernetesObject:
    """Return the value of a Kubernetes object given as plain mappings.

    Raises `UnknownKindError` for kinds that nothing here reads, `InvalidObjectError` for everything that is wrong,
    an older API version of a known kind included.
    """
    if (
        not isinstance(raw, Mapping)
        or not isinstance(raw.get("kind"), str)
        or not isinstance(raw.get("apiVersion"), str)
    ):
        raise InvalidObjectError(_subject(raw), "$", "expected an object with apiVersion and kind")
    api_version, kind = raw["apiVersion"], raw["kind"]
    known = KINDS.get((api_version, kind))
    if known is None:
        served = VERSIONS.get((api_version.rpartition("/")[0], kind))
        if served is None:
            msg = f"{api_version} {kind}"
            raise UnknownKindError(msg)
        raise InvalidObjectError(_subject(raw), "$.apiVersion", f"{api_version} is not supported, expected {served}")
    return read_as(known, raw)


def read_as(kind: type[T], raw: object) -> T:
    """Return `raw` as a value of the given type, whatever its `kind` and `apiVersion` say.

    Raises `InvalidObjectError` with the path of the first problem.
    """
    try:
        value = _convert(kind, raw)
    except msgspec.ValidationError:
        # Only then, since copying every object to drop its nulls would double the cost of reading.
        whole = _without_nulls(raw)
        try:
            value = _convert(kind, whole)
        except msgspec.ValidationError as error:
            path, problem = fault_of(error)
            path = with_keys(path, whole, lambda variant: _first_problem(kind, variant))
            raise InvalidObjectError(_subject(raw, kind.__name__), path, problem) from error
    if isinstance(value, ResourceSlice):
        share_parts(value)
    metadata = getattr(value, "metadata", None)
    if kind in API_OF and not getattr(metadata, "name", ""):
        raise InvalidObjectError(_subject(raw, kind.__name__), "$.metadata.name", "expected a name")
    return value


def faults_of(error: InvalidObjectError, raw: object) -> tuple[WireFault, ...]:
    """Return all that is wrong with an object that `read` has refused, the first of which is the error."""
    first = WireFault(error.path, error.problem)
    kind = _kind_of(raw)
    found = tuple(faults(kind, raw, _convert)) if kind is not None else ()
    return found if first in found else (first, *found)


def unknown_fields_of(raw: object) -> tuple[WireFault, ...]:
    """Return the fields of an object of ours that its kind does not have; metadata and status are not looked at."""
    kind = _kind_of(raw)
    if kind not in STRICT_KINDS or not isinstance(raw, Mapping):
        return ()
    seen = {name: None if name in LEFT_TO_OTHERS else value for name, value in raw.items()}
    return tuple(unknown_fields(kind, seen))


def write(value: KubernetesObject) -> dict[str, object]:
    """Return the object as plain mappings, with `apiVersion` and `kind`."""
    api_version, kind = API_OF[type(value)]
    return {"apiVersion": api_version, "kind": kind, **write_value(value)}


def write_value(value: Value) -> dict[str, object]:
    """Return any value as plain mappings; fields at their defaults are left out."""
    plain: dict[str, object] = msgspec.to_builtins(value, enc_hook=_encode)
    return plain


def key_of(value: KubernetesObject) -> ObjectKey:
    """Return namespace and name; the namespace of a cluster-scoped object is empty."""
    return ObjectKey(value.metadata.namespace, value.metadata.name)


def _kind_of(raw: object) -> type[KubernetesObject] | None:
    api = (raw.get("apiVersion"), raw.get("kind")) if isinstance(raw, Mapping) else ()
    return next((kind for known, kind in KINDS.items() if known == api), None)


def _convert(kind: type[T], raw: object) -> T:
    return msgspec.convert(raw, kind, dec_hook=_decode)


def _first_problem(kind: type[Value], raw: object) -> str:
    try:
        _convert(kind, raw)
    except msgspec.ValidationError as error:
        return fault_of(error).path
    return ""


def _decode(kind: type, raw: object) -> object:
    if kind is Quantity and isinstance(raw, str | int | float) and not isinstance(raw, bool):
        return Quantity.of(raw)
    if kind is object:
        return raw
    msg = f"expected a quantity such as 2, 500m or 16Gi, got {raw!r}"
    raise ValueError(msg)


def _encode(value: object) -> object:
    return str(value)


def _without_nulls(raw: object) -> object:
    if isinstance(raw, Mapping):
        return {key: _without_nulls(value) for key, value in raw.items() if value is not None}
    if isinstance(raw, list | tuple):
        return [_without_nulls(value) for value in raw if value is not None]
    return raw


def _subject(raw: object, kind: str = "object") -> str:
    if not isinstance(raw, Mapping):
        return kind
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    name = str(metadata.get("name") or metadata.get("generateName") or "without a name")
    namespace = metadata.get("namespace")
    return f"{raw.get('kind') or kind} {namespace}/{name}" if namespace else f"{raw.get('kind') or kind} {name}"
