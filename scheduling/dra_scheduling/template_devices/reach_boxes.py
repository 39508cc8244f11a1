"""The places where a node could come to be, told apart by what can be reached from there.

A NodeClaim carries one requirement a label, for all its instance types. So devices are only looked for within one box
of requirements at a time: everything that is reached from the whole box goes together, whatever type uses it.
"""

from collections.abc import Iterable, Sequence

import msgspec

from dra_scheduling.basics.requirements import Requirement, Requirements
from dra_scheduling.template_devices.published_devices import Term

MAX_TOPOLOGIES = 4096


class ReachBox(msgspec.Struct, frozen=True, kw_only=True):
    """A box of requirements, and the terms (as bits, by number) that hold everywhere in it."""

    box: Requirements
    holding: int


class TooManyReachBoxesError(Exception):
    """The terms overlap in more ways than anybody could look at."""


def topologies(base: Requirements, terms: Sequence[Term], decided: Iterable[Requirement] = ()) -> tuple[ReachBox, ...]:
    """Return the boxes within `base`, those where most terms hold first; all sets of terms that go together are there.

    About a `decided` requirement each box knows whether it holds or not, as far as one requirement can say that it does
    not. Raises `TooManyReachBoxesError`.
    """
    parted = set(decided)
    boxes = [base]
    for wanted in sorted({wanted for term in terms for wanted in term}, key=_text_of):
        boxes = _split(boxes, wanted, wanted.complement() if wanted in parted else None)
        if len(boxes) > MAX_TOPOLOGIES:
            raise TooManyReachBoxesError
    found: dict[int, list[Requirements]] = {}
    for box in boxes:
        found.setdefault(_holding(box, terms), []).append(box)
    every = [ReachBox(box=box, holding=holding) for holding, alike in found.items() for box in alike]
    return tuple(sorted(every, key=lambda one: (-one.holding.bit_count(), _order(one.box))))


def _split(boxes: list[Requirements], wanted: Requirement, otherwise: Requirement | None) -> list[Requirements]:
    """Return the boxes, and what of each meets the requirement; with `otherwise` what of each does not instead."""
    result: dict[tuple[Requirement, ...], Requirements] = {}
    for box in boxes:
        if otherwise is None:
            result.setdefault(_content(box), box)
        for part in (wanted, otherwise):
            if part is not None and box.conflict((part,)) is None:
                inner = box.narrowed((part,))
                result.setdefault(_content(inner), inner)
    return list(result.values())


def _holding(box: Requirements, terms: Sequence[Term]) -> int:
    mask = 0
    for number, term in enumerate(terms):
        mask |= box.is_within(term) << number
    return mask


def _content(box: Requirements) -> tuple[Requirement, ...]:
    return tuple(box.by_key[key] for key in sorted(box.by_key))


def _order(box: Requirements) -> tuple[tuple[str, ...], ...]:
    return tuple(_text_of(wanted) for wanted in _content(box))


def _text_of(wanted: Requirement) -> tuple[str, ...]:
    bounds = tuple("" if bound is None else f"{bound:+021}" for bound in (wanted.above, wanted.below))
    return (wanted.key, str(wanted.excludes), *sorted(wanted.values), "", *bounds, str(wanted.may_be_absent))
