"""Sets of small numbers as whole numbers: bit `i` stands for the number `i`."""

from collections.abc import Iterator


def smallest(mask: int, count: int) -> int:
    """Return the mask of the `count` smallest members, or the whole mask where it has no more."""
    kept = 0
    while mask and count:
        bit = mask & -mask
        kept |= bit
        mask ^= bit
        count -= 1
    return kept


def members(mask: int) -> Iterator[int]:
    """Yield the members from the smallest on."""
    while mask:
        bit = mask & -mask
        yield bit.bit_length() - 1
        mask ^= bit
