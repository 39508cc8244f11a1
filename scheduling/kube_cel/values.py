"""Values that an expression handles and that Python or the model does not already have.

int, float, str, bytes, bool and None stand for themselves, tuples are lists, dicts are maps; Quantity and Version come
from their own modules.
"""

from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface
from typing import Any, NoReturn

from msgspec import Struct

from kube_cel.errors import CelErrorKind, EvaluationError
from kube_cel.quantity import Quantity
from kube_cel.semver import Version

Value = Any
"""Anything that an expression computes with; what it is shows only at run time."""

MAX_INT = 2**63 - 1
MIN_INT = -(2**63)
MAX_UINT = 2**64 - 1
NANOSECONDS = 1_000_000_000


class UInt(int):
    """An unsigned 64-bit integer, which CEL keeps apart from the signed one."""

    __slots__ = ()


class Duration(Struct, frozen=True, order=True):
    """A signed length of time in nanoseconds."""

    nanoseconds: int


class Timestamp(Struct, frozen=True, order=True):
    """A point in time, in nanoseconds since 1970-01-01T00:00:00Z."""

    nanoseconds: int


class Maybe(Struct, frozen=True):
    """CEL's optional: zero or one value."""

    content: tuple[object, ...]


class TypeName(Struct, frozen=True):
    """A type as a value, what `type(x)` returns."""

    name: str


class Ip(Struct, frozen=True):
    """An IP address."""

    address: IPv4Address | IPv6Address


class Cidr(Struct, frozen=True):
    """A network in CIDR notation; it remembers the address it was written with."""

    interface: IPv4Interface | IPv6Interface


class Url(Struct, frozen=True, kw_only=True):
    """An absolute URL or absolute path, taken apart."""

    text: str
    scheme: str
    host: str
    escaped_path: str
    query: str


class NamedFormat(Struct, frozen=True):
    """One of Kubernetes' named string formats."""

    name: str


class DomainMap(dict[str, dict[str, object]]):
    """Attributes or capacity by domain: an unknown domain reads as empty, yet `in` and loops see real ones only."""

    __slots__ = ()

    def __missing__(self, key: str) -> dict[str, object]:
        return NO_NAMES


class HiddenDomains(DomainMap):
    """Attributes or capacity that are not known: whatever looks at them fails."""

    __slots__ = ()

    def _hidden(self, *_: object) -> NoReturn:
        raise EvaluationError(CelErrorKind.OTHER, "not known: only the driver is given")

    __getitem__ = __contains__ = __iter__ = __len__ = items = _hidden


NO_NAMES: dict[str, object] = {}
ABSENT = Maybe(())

TYPE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    tuple: "list",
    dict: "map",
    DomainMap: "map",
    HiddenDomains: "map",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    Maybe: "optional_type",
    TypeName: "type",
    Quantity: "kubernetes.Quantity",
    Version: "kubernetes.Semver",
    Ip: "net.IP",
    Cidr: "net.CIDR",
    Url: "kubernetes.URL",
    NamedFormat: "kubernetes.NamedFormat",
}


def type_name(value: object) -> str:
    """Return the CEL name of the type of `value`."""
    return TYPE_NAMES.get(value.__class__, "kubernetes.DRADevice")
