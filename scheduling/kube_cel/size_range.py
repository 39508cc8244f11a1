"""Ranges of sizes and costs that stop at the largest unsigned 64-bit number instead of overflowing, as cel-go's do."""

from math import ceil
from typing import NamedTuple

UNBOUNDED = 2**64 - 1


class Span(NamedTuple):
    """From the least to the most a size or a cost can be."""

    low: int
    high: int

    def plus(self, other: "Span") -> "Span":
        """Return the range of the sum."""
        return Span(min(self.low + other.low, UNBOUNDED), min(self.high + other.high, UNBOUNDED))

    def times(self, other: "Span") -> "Span":
        """Return the range of the product."""
        return Span(min(self.low * other.low, UNBOUNDED), min(self.high * other.high, UNBOUNDED))

    def scaled(self, factor: float) -> "Span":
        """Return the range multiplied by a factor and rounded up."""
        return Span(_scaled(self.low, factor), _scaled(self.high, factor))

    def union(self, other: "Span") -> "Span":
        """Return the smallest range that holds both."""
        return Span(min(self.low, other.low), max(self.high, other.high))


def exactly(value: int) -> Span:
    """Return the range of one value."""
    return Span(value, value)


ANY_SIZE = Span(0, UNBOUNDED)
NOTHING = exactly(0)
ONE = exactly(1)


def total(spans: list[Span]) -> Span:
    """Return the range of the sum of all."""
    result = NOTHING
    for span in spans:
        result = result.plus(span)
    return result


def _scaled(value: int, factor: float) -> int:
    return min(ceil(float(value) * factor), UNBOUNDED)
