"""Node selectors and the algebra of label requirements behind them.

A `Requirement` is the set of values that one label may have, "absent" included, in one canonical form, so that two
ways of writing the same condition are equal and conditions can be intersected.
"""

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from dra_scheduling.model.nodeselection import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

NODE_NAME_FIELD = "metadata.name"
MOST_DIGITS = 19


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """The values that the label `key` may have.

    `values` are the allowed values, or with `excludes` the forbidden ones. `above` and `below` bound the value as a
    whole number, exclusively. `may_be_absent` says whether an object without the label qualifies.
    """

    key: str
    values: frozenset[str] = frozenset()
    excludes: bool = False
    above: int | None = None
    below: int | None = None
    may_be_absent: bool = False

    @classmethod
    def of(cls, written: NodeSelectorRequirement) -> "Requirement":
        """Return the set that a selector's condition describes.

        `Gt` and `Lt` need exactly one whole number (core/v1); with anything else the condition holds for nothing.
        """
        key, values = written.key, frozenset(written.values)
        match written.operator:
            case "In":
                return cls(key=key, values=values)
            case "NotIn":
                return cls(key=key, values=values, excludes=True, may_be_absent=True)
            case "Exists":
                return cls(key=key, excludes=True)
            case "DoesNotExist":
                return cls(key=key, may_be_absent=True)
            case _:
                return _bounded(written)

    def has(self, value: str | None) -> bool:
        """Whether an object with this value (None: without the label) qualifies."""
        if value is None:
            return self.may_be_absent
        return (value in self.values) != self.excludes and self.is_within_bounds(value)

    def intersect(self, other: "Requirement") -> "Requirement":
        """Return the values that both allow. Both must be about the same label, else ValueError."""
        if self.key != other.key:
            raise ValueError(f"cannot intersect requirements on {self.key} and {other.key}")
        if self.excludes and other.excludes:
            values = self.values | other.values
        elif self.excludes:
            values = other.values - self.values
        elif other.excludes:
            values = self.values - other.values
        else:
            values = self.values & other.values
        return _canonical(
            Requirement(
                key=self.key,
                values=values,
                excludes=self.excludes and other.excludes,
                above=max((bound for bound in (self.above, other.above) if bound is not None), default=None),
                below=min((bound for bound in (self.below, other.below) if bound is not None), default=None),
                may_be_absent=self.may_be_absent and other.may_be_absent,
            )
        )

    def is_compatible(self, other: "Requirement") -> bool:
        """Whether one object could qualify for both."""
        return not self.intersect(other).is_impossible

    @property
    def is_impossible(self) -> bool:
        """Whether nothing qualifies, not even an object without the label."""
        return not self.excludes and not self.values and not self.may_be_absent

    def is_within_bounds(self, value: str) -> bool:
        """Whether the value, where bounds are set, is a whole number between them."""
        if self.above is None and self.below is None:
            return True
        number = whole_number(value)
        return (
            number is not None
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )


def matches(selector: NodeSelector, name: str, labels: Mapping[str, str]) -> bool:
    """Whether a node is selected: one of the terms holds. Without terms nothing is."""
    return any(term_matches(term, name, labels) for term in selector.node_selector_terms)


def term_matches(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    """Whether all conditions of the term hold for a node. A term without conditions holds for none."""
    if not term.match_expressions and not term.match_fields:
        return False
    return all(requirement.has(labels.get(requirement.key)) for requirement in _on_labels(term)) and all(
        requirement.key == NODE_NAME_FIELD and requirement.has(name) for requirement in _on_fields(term)
    )


def whole_number(text: str) -> int | None:
    """Return the 64-bit number written in `text` as Kubernetes reads it (a sign and ASCII digits), or None."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    # Python refuses to convert thousands of digits, which a selector or a label in a file may well have.
    if not (digits.isascii() and digits.isdigit()) or len(digits.lstrip("0")) > MOST_DIGITS:
        return None
    number = int(digits.lstrip("0") or "0") * (-1 if text.startswith("-") else 1)
    return number if -(2**63) <= number < 2**63 else None


def _bounded(written: NodeSelectorRequirement) -> Requirement:
    bound = whole_number(written.values[0]) if len(written.values) == 1 else None
    if bound is None:
        return Requirement(key=written.key)
    if written.operator == "Gt":
        return Requirement(key=written.key, excludes=True, above=bound)
    return Requirement(key=written.key, excludes=True, below=bound)


def _canonical(requirement: Requirement) -> Requirement:
    """Return the same set written in its one way: bounds only on excluding sets, and only where they can hold."""
    above, below = requirement.above, requirement.below
    if above is None and below is None:
        return requirement
    kept = frozenset(value for value in requirement.values if requirement.is_within_bounds(value))
    if not requirement.excludes:
        return msgspec.structs.replace(requirement, values=kept, above=None, below=None)
    if above is not None and below is not None and below - above <= 1:
        return Requirement(key=requirement.key, may_be_absent=requirement.may_be_absent)
    return msgspec.structs.replace(requirement, values=kept)


@lru_cache(maxsize=4096)
def _on_labels(term: NodeSelectorTerm) -> tuple[Requirement, ...]:
    return tuple(Requirement.of(written) for written in term.match_expressions)


@lru_cache(maxsize=4096)
def _on_fields(term: NodeSelectorTerm) -> tuple[Requirement, ...]:
    return tuple(Requirement.of(written) for written in term.match_fields)
