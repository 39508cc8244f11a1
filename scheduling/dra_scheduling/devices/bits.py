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


def packed(mask: int, kept: int) -> int:
    """Return the members numbered anew by their places among the kept numbers; others are left out."""
    if mask & kept == kept:
        return (1 << kept.bit_count()) - 1
    if not kept & (kept + 1):
        return mask & kept
    found, place = 0, 1
    while kept:
        bit = kept & -kept
        if mask & bit:
            found |= place
        kept ^= bit
        place <<= 1
    return found


def unpacked(mask: int, kept: int) -> int:
    """Return the kept numbers at the places that the mask has: `packed` undone."""
    if not kept & (kept + 1):
        return mask
    found = 0
    while mask:
        bit = kept & -kept
        if mask & 1:
            found |= bit
        kept ^= bit
        mask >>= 1
    return found
