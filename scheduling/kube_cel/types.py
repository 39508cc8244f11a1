"""Static types."""

from msgspec import Struct


class Kind(Struct, frozen=True):
    """A type, or a type parameter that stands for any."""

    name: str
    parameters: tuple["Kind", ...] = ()
    is_parameter: bool = False

    def __str__(self) -> str:
        if not self.parameters:
            return _SHORT_NAMES.get(self.name, self.name)
        return f"{self.name}({', '.join(map(str, self.parameters))})"


_SHORT_NAMES = {"null_type": "null", "google.protobuf.Duration": "duration", "google.protobuf.Timestamp": "timestamp"}

ANY = Kind("dyn")
ERROR = Kind("!error!")
BOOL = Kind("bool")
INT = Kind("int")
UINT = Kind("uint")
DOUBLE = Kind("double")
STRING = Kind("string")
BYTES = Kind("bytes")
NULL = Kind("null_type")
DURATION = Kind("google.protobuf.Duration")
TIMESTAMP = Kind("google.protobuf.Timestamp")
DEVICE = Kind("kubernetes.DRADevice")
QUANTITY = Kind("kubernetes.Quantity")
VERSION = Kind("kubernetes.Semver")
URL = Kind("kubernetes.URL")
NAMED_FORMAT = Kind("kubernetes.NamedFormat")
IP = Kind("net.IP")
CIDR = Kind("net.CIDR")

LIST = "list"
MAP = "map"
OPTIONAL = "optional_type"
TYPE = "type"

COMPOSITE = frozenset({LIST, MAP, OPTIONAL})
NULLABLE = frozenset(
    {DURATION, TIMESTAMP, DEVICE, QUANTITY, VERSION, URL, NAMED_FORMAT, IP, CIDR},
)


def list_of(element: Kind) -> Kind:
    """Return the type of a list."""
    return Kind(LIST, (element,))


def map_of(key: Kind, value: Kind) -> Kind:
    """Return the type of a map."""
    return Kind(MAP, (key, value))


def optional_of(value: Kind) -> Kind:
    """Return the type of an optional value."""
    return Kind(OPTIONAL, (value,))


def type_of(kind: Kind) -> Kind:
    """Return the type of a type."""
    return Kind(TYPE, (kind,))


def parameter(name: str) -> Kind:
    """Return a type parameter."""
    return Kind(name, (), is_parameter=True)


DEVICE_FIELDS = {
    "driver": STRING,
    "attributes": map_of(STRING, map_of(STRING, ANY)),
    "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
    "allowMultipleAllocations": BOOL,
}

TYPE_IDENTIFIERS = {
    kind.name: kind for kind in (BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, DURATION, TIMESTAMP, IP, CIDR)
} | {
    LIST: list_of(parameter("A")),
    MAP: map_of(parameter("A"), parameter("B")),
    OPTIONAL: optional_of(parameter("V")),
    TYPE: Kind(TYPE),
}
"""Names that stand for types in an expression, as in `type(x) == int`."""


def is_any(kind: Kind) -> bool:
    """Return whether nothing is known about the type."""
    return kind.name == ANY.name and not kind.is_parameter


def is_unknown(kind: Kind) -> bool:
    """Return whether nothing is known or an error has been reported already, so that checking can go on."""
    return kind.name in (ANY.name, ERROR.name) and not kind.is_parameter
