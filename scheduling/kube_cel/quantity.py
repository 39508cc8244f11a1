"""Exact Kubernetes quantities.

Semantics follow `resource.Quantity` of k8s.io/apimachinery: decimal suffixes, binary suffixes and decimal exponents,
nothing finer than one nano unit, rounding away from zero.
"""

import re
from enum import Enum
from functools import lru_cache
from typing import Self

NANO_PER_UNIT = 1_000_000_000
NANO_PER_MILLI = 1_000_000
MAX_BINARY_NANO = (2**63 - 1) * NANO_PER_UNIT
"""Kubernetes caps a quantity written with a binary suffix at 2^63 - 1; decimal ones are not capped."""
MAX_EXPONENT = 99
MAX_TEXT_LENGTH = 128

EXPECTED = "a number with an optional suffix n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent such as e3"


class Family(Enum):
    """How a quantity is written back: the family of suffixes it was read with."""

    DECIMAL = "decimal"
    BINARY = "binary"
    EXPONENT = "exponent"


_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(n|u|m|k|[MGTPE]i?|Ki|[eE][+-]?[0-9]+)?")
_PLAIN_DIGITS = 15
_MAX_SUFFIX_EXPONENT = 18
_DECIMAL_EXPONENTS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL_EXPONENTS.items()} | {0: ""}
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class Quantity:
    """An exact amount in whole nano units; equality, order and hash look at the amount only.

    A plain class, because msgspec hands unknown types to `dec_hook` and would read a struct or dataclass as an object.
    """

    __slots__ = ("family", "nano")

    family: Family
    nano: int

    def __init__(self, nano: int, family: Family = Family.DECIMAL) -> None:
        object.__setattr__(self, "nano", nano)
        object.__setattr__(self, "family", family)

    @staticmethod
    def parse(text: str) -> "Quantity":
        """Return the quantity written in `text`, or raise ValueError saying what was expected.

        Stricter than Kubernetes in two points that no stored object shows: at least one digit is needed, and exponents
        beyond 99 are refused.
        """
        return _parse(text)

    @classmethod
    def from_int(cls, value: int) -> Self:
        """Return `value` whole units."""
        return cls(value * NANO_PER_UNIT)

    @classmethod
    def of(cls, value: object) -> "Quantity":
        """Return the quantity for a JSON or YAML scalar: text, an integer or a finite float.

        Raises ValueError for anything else.
        """
        if isinstance(value, str):
            return _parse(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return cls.from_int(value)
        if isinstance(value, float):
            return cls.from_int(int(value)) if value.is_integer() else _parse(repr(value))
        raise ValueError(f"invalid quantity {value!r}: expected {EXPECTED}")

    def is_zero(self) -> bool:
        """Return whether the amount is zero."""
        return self.nano == 0

    def is_integer(self) -> bool:
        """Return whether the amount is a whole number of units."""
        return self.nano % NANO_PER_UNIT == 0

    def ceil_value(self) -> int:
        """Return the amount in whole units, rounded away from zero as Kubernetes' `Value()` does."""
        return _round_away(self.nano, NANO_PER_UNIT)

    def ceil_milli(self) -> int:
        """Return the amount in thousandths, rounded away from zero as Kubernetes' `MilliValue()` does."""
        return _round_away(self.nano, NANO_PER_MILLI)

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano + other.nano, self.family if self.nano else other.family)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano - other.nano, self.family if self.nano else other.family)

    def __mul__(self, factor: int) -> "Quantity":
        return Quantity(self.nano * factor, self.family)

    __rmul__ = __mul__

    def __neg__(self) -> "Quantity":
        return Quantity(-self.nano, self.family)

    def __eq__(self, other: object) -> bool:
        return self.nano == other.nano if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: "Quantity") -> bool:
        return self.nano < other.nano

    def __le__(self, other: "Quantity") -> bool:
        return self.nano <= other.nano

    def __gt__(self, other: "Quantity") -> bool:
        return self.nano > other.nano

    def __ge__(self, other: "Quantity") -> bool:
        return self.nano >= other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    def __str__(self) -> str:
        """Return the canonical text, which parses back to an equal quantity of the same family where that is exact."""
        if self.nano == 0:
            return "0"
        if self.family is Family.BINARY and self.is_integer() and abs(self.nano) >= 1024 * NANO_PER_UNIT:
            return _binary_text(self.nano // NANO_PER_UNIT)
        return _decimal_text(self.nano, self.family)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Quantity is immutable, cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Quantity is immutable, cannot delete {name}")

    def __reduce__(self) -> tuple[type["Quantity"], tuple[int, Family]]:
        return Quantity, (self.nano, self.family)


def _round_away(nano: int, unit: int) -> int:
    return -(-nano // unit) if nano >= 0 else nano // unit


@lru_cache(maxsize=16_384)
def _parse(text: str) -> Quantity:
    if text.isascii() and text.isdigit() and len(text) <= _PLAIN_DIGITS:
        return Quantity(int(text) * NANO_PER_UNIT)
    shape = _SHAPE.fullmatch(text) if len(text) <= MAX_TEXT_LENGTH else None
    if shape is None:
        raise ValueError(_refusal(text))
    sign, whole, fraction, suffix = shape.group(1), shape.group(2), shape.group(3) or "", shape.group(4) or ""
    if not whole and not fraction:
        raise ValueError(_refusal(text))
    mantissa = int(whole + fraction)
    nano, family = _scaled(mantissa, len(fraction), suffix, text)
    return Quantity(-nano if sign == "-" else nano, family)


def _scaled(mantissa: int, decimals: int, suffix: str, text: str) -> tuple[int, Family]:
    if suffix.endswith("i"):
        factor = NANO_PER_UNIT << (10 * _BINARY_SUFFIXES.index(suffix))
        nano = min(-(-mantissa * factor // 10**decimals), MAX_BINARY_NANO)
        return nano, Family.BINARY
    family = Family.DECIMAL
    exponent = _DECIMAL_EXPONENTS.get(suffix, 0)
    if suffix and suffix not in _DECIMAL_EXPONENTS:
        family = Family.EXPONENT
        exponent = int(suffix[1:])
        if abs(exponent) > MAX_EXPONENT:
            raise ValueError(_refusal(text))
    power = exponent + 9 - decimals
    nano = mantissa * 10**power if power >= 0 else -(-mantissa // 10**-power)
    return nano, family


def _refusal(text: str) -> str:
    shown = text if len(text) <= MAX_TEXT_LENGTH else text[:MAX_TEXT_LENGTH] + "..."
    return f"invalid quantity {shown!r}: expected {EXPECTED}"


def _binary_text(value: int) -> str:
    power = 0
    while value % 1024 == 0 and power < len(_BINARY_SUFFIXES) - 1:
        value //= 1024
        power += 1
    return f"{value}{_BINARY_SUFFIXES[power]}"


def _decimal_text(nano: int, family: Family) -> str:
    exponent = -9
    while nano % 1000 == 0 and (exponent < _MAX_SUFFIX_EXPONENT or family is Family.EXPONENT):
        nano //= 1000
        exponent += 3
    if family is Family.EXPONENT:
        return f"{nano}e{exponent}" if exponent else str(nano)
    return f"{nano}{_DECIMAL_SUFFIXES[exponent]}"
