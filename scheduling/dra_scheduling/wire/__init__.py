"""Kubernetes JSON in and out of the model. Every refusal names the object, the path in it and what was expected."""

from dra_scheduling.wire.objects import (
    KINDS,
    InvalidObjectError,
    KubernetesObject,
    UnknownKindError,
    faults_of,
    key_of,
    read,
    read_as,
    unknown_fields_of,
    write,
    write_value,
)
from dra_scheduling.wire.wire_faults import WireFault

__all__ = [
    "KINDS",
    "InvalidObjectError",
    "KubernetesObject",
    "UnknownKindError",
    "WireFault",
    "faults_of",
    "key_of",
    "read",
    "read_as",
    "unknown_fields_of",
    "write",
    "write_value",
]
