"""Kubernetes JSON in and out of the model. Every refusal names the object, the path in it and what was expected."""

from dra_scheduling.wire.objects import (
    KINDS,
    InvalidObjectError,
    KubernetesObject,
    UnknownKindError,
    key_of,
    read,
    read_as,
    write,
    write_value,
)

__all__ = [
    "KINDS",
    "InvalidObjectError",
    "KubernetesObject",
    "UnknownKindError",
    "key_of",
    "read",
    "read_as",
    "write",
    "write_value",
]
