"""Kubernetes' quantity, version and named-format functions."""

import binascii
import re
from base64 import b64decode
from collections.abc import Callable

from kube_cel.arithmetic import signed
from kube_cel.errors import CelErrorKind, EvaluationError, no_such_overload
from kube_cel.functions_core import to_timestamp
from kube_cel.functions_text import text
from kube_cel.functions_url import is_url
from kube_cel.quantity import NANO_PER_UNIT, Quantity
from kube_cel.semver import Version
from kube_cel.signatures import NAMED_FORMATS
from kube_cel.values import ABSENT, MAX_INT, MIN_INT, Maybe, NamedFormat, Value


def _read(reader: Callable[[str], Value], value: Value) -> Value:
    try:
        return reader(text(value))
    except ValueError as problem:
        raise EvaluationError(CelErrorKind.PARSE, str(problem)) from None


def _is_readable(reader: Callable[[str], Value], value: Value) -> bool:
    try:
        reader(text(value))
    except ValueError:
        return False
    return True


def quantity(value: Value) -> Quantity:
    """Return the quantity written in a string."""
    read: Quantity = _read(Quantity.parse, value)
    return read


def is_quantity(value: Value) -> bool:
    """Return whether a string is a quantity."""
    return _is_readable(Quantity.parse, value)


def _version_reader(normalize: Value) -> Callable[[str], Version]:
    if normalize.__class__ is not bool:
        raise no_such_overload()
    return Version.parse_normalized if normalize else Version.parse


def semver(value: Value, normalize: Value = False) -> Version:  # noqa: FBT002  the expression passes it by place
    """Return the version written in a string, tidied up first if so asked."""
    read: Version = _read(_version_reader(normalize), value)
    return read


def is_semver(value: Value, normalize: Value = False) -> bool:  # noqa: FBT002  the expression passes it by place
    """Return whether a string is a version, after tidying up if so asked."""
    return _is_readable(_version_reader(normalize), value)


def _amount(value: Value) -> Quantity:
    if isinstance(value, Quantity):
        return value
    raise no_such_overload()


def sign(value: Value) -> int:
    """Return -1, 0 or 1 for a quantity."""
    nano = _amount(value).nano
    return (nano > 0) - (nano < 0)


def add(value: Value, other: Value) -> Quantity:
    """Return the sum of two quantities, or of a quantity and an int."""
    return _amount(value) + _addend(other)


def sub(value: Value, other: Value) -> Quantity:
    """Return the difference of two quantities, or of a quantity and an int."""
    return _amount(value) - _addend(other)


def _addend(value: Value) -> Quantity:
    return Quantity.from_int(value) if value.__class__ is int else _amount(value)


def as_approximate_float(value: Value) -> float:
    """Return a quantity as a double."""
    return _amount(value).nano / NANO_PER_UNIT


def is_integer(value: Value) -> bool:
    """Return whether a quantity is a whole number that fits 64 bits."""
    amount = _amount(value)
    return amount.is_integer() and MIN_INT <= amount.nano // NANO_PER_UNIT <= MAX_INT


def as_integer(value: Value) -> int:
    """Return a whole quantity as an int."""
    if not is_integer(value):
        raise EvaluationError(CelErrorKind.OTHER, "cannot convert value to integer")
    return signed(_amount(value).nano // NANO_PER_UNIT)


def compare_to(value: Value, other: Value) -> int:
    """Return -1, 0 or 1 for two quantities or two versions."""
    if isinstance(value, Quantity) and isinstance(other, Quantity):
        return (value.nano > other.nano) - (value.nano < other.nano)
    if isinstance(value, Version) and isinstance(other, Version):
        return (value > other) - (value < other)
    raise no_such_overload()


def is_greater_than(value: Value, other: Value) -> bool:
    """Return whether the first of two quantities or versions is the greater."""
    return compare_to(value, other) > 0


def is_less_than(value: Value, other: Value) -> bool:
    """Return whether the first of two quantities or versions is the less."""
    return compare_to(value, other) < 0


def _version(value: Value) -> Version:
    if isinstance(value, Version):
        return value
    raise no_such_overload()


def major(value: Value) -> int:
    """Return the first number of a version."""
    return _version(value).major


def minor(value: Value) -> int:
    """Return the second number of a version."""
    return _version(value).minor


def patch(value: Value) -> int:
    """Return the third number of a version."""
    return _version(value).patch


_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME_PART = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_SHAPES: dict[str, tuple[str, int]] = {
    "dns1123Label": (_LABEL, 63),
    "dns1123Subdomain": (_SUBDOMAIN, 253),
    "dns1035Label": (_LABEL_1035, 63),
    "dns1123LabelPrefix": (_LABEL, 63),
    "dns1123SubdomainPrefix": (_SUBDOMAIN, 253),
    "dns1035LabelPrefix": (_LABEL_1035, 63),
    "labelValue": (f"({_NAME_PART})?", 63),
    "uuid": (r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", 36),
}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _has_shape(name: str, string: str) -> bool:
    pattern, length = _SHAPES[name]
    if name.endswith("Prefix") and string.endswith("-"):
        string = string[:-1] + "a"
    return len(string) <= length and re.fullmatch(pattern, string) is not None


def _is_qualified_name(string: str) -> bool:
    prefix, slash, name = string.rpartition("/")
    return _has_shape("labelValue", name) and bool(name) and (not slash or _has_shape("dns1123Subdomain", prefix))


def _is_base64(string: str) -> bool:
    try:
        b64decode(string, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _is_time(string: str) -> bool:
    try:
        to_timestamp(string)
    except EvaluationError:
        return False
    return True


def _is_date(string: str) -> bool:
    return _DATE.fullmatch(string) is not None and _is_time(f"{string}T00:00:00Z")


_CHECKS: dict[str, Callable[[str], bool]] = {
    "qualifiedName": _is_qualified_name,
    "uri": is_url,
    "byte": _is_base64,
    "date": _is_date,
    "datetime": _is_time,
}


def named_format(name: Value) -> Maybe:
    """Return the format of that name, if there is one."""
    return Maybe((NamedFormat(name),)) if text(name) in NAMED_FORMATS else ABSENT


def validate(value: Value, string: Value) -> Maybe:
    """Return nothing if a string has the format, else a list of what is wrong; its wording is ours."""
    if not isinstance(value, NamedFormat):
        raise no_such_overload()
    check = _CHECKS.get(value.name)
    is_valid = check(text(string)) if check else _has_shape(value.name, text(string))
    return ABSENT if is_valid else Maybe(((f"does not match the {value.name} format",),))
