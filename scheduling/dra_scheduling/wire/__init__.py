"""Kubernetes JSON in and out of the model. Every refusal names the object, the path in it and what was expected."""

from dra_scheduling.model.kinds import KubernetesObject
from dra_scheduling.wire.decode_errors import WireFault
from dra_scheduling.wire.objects import (
    KINDS,
    InvalidObjectError,
    UnknownKindError,
    faults_of,
    key_of,
    read,
    read_as,
    unknown_fields_of,
    write,
    write_value,
)

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
