"""Node selectors and the algebra of label requirements behind them.

A `Requirement` is the set of values that one label may have, "absent" included, in one canonical form, so that two
ways of writing the same condition are equal and conditions can be intersected.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

import msgspec

from dra_scheduling.model.node_selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dra_scheduling.model.nodeclaims import LabelRequirement

NODE_NAME_FIELD = "metadata.name"
WELL_KNOWN_LABELS = frozenset(
    {
        "karpenter.sh/capacity-type",
        "karpenter.sh/nodepool",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "node.kubernetes.io/windows-build",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
"""Labels that every new node gets, whatever is required of it."""
FORMER_NAMES = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
}
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
    def of(cls, written: NodeSelectorRequirement | LabelRequirement) -> "Requirement":
        """Return the set that a condition of a selector or a NodePool describes.

        `Gt`, `Lt`, `Gte` and `Lte` need exactly one whole number (core/v1, karpenter.sh/v1); with anything else the
        condition holds for nothing.
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
                above=_tighter(max, self.above, other.above),
                below=_tighter(min, self.below, other.below),
                may_be_absent=self.may_be_absent and other.may_be_absent,
            )
        )

    def complement(self) -> "Requirement | None":
        """Return the values that do not qualify; None where bounds would make that more than one requirement."""
        if self.above is not None or self.below is not None:
            return None
        return Requirement(
            key=self.key, values=self.values, excludes=not self.excludes, may_be_absent=not self.may_be_absent
        )

    def is_compatible(self, other: "Requirement") -> bool:
        """Whether one object could qualify for both."""
        # Planning asks this more often than anything else, and bounds are rare.
        if self.key != other.key or not self.above is self.below is other.above is other.below is None:
            return not self.intersect(other).is_impossible
        return (self.may_be_absent and other.may_be_absent) or _have_a_value(self, other)

    @property
    def is_one_value(self) -> bool:
        """Whether every object that qualifies has the label with the same value."""
        return len(self.values) == 1 and not self.excludes and not self.may_be_absent

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


class Requirements(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the labels of a node: one requirement a label.

    Of `open_keys` the node has any value or none where no requirement says more; other labels it does not have.
    """

    by_key: dict[str, Requirement] = {}
    open_keys: frozenset[str] = frozenset()

    @classmethod
    def of_labels(cls, labels: Mapping[str, str]) -> "Requirements":
        """Return what is known of a node that exists: its labels, and that it has no others."""
        return cls(by_key={key: Requirement(key=key, values=frozenset((value,))) for key, value in labels.items()})

    @classmethod
    def of_new_node(cls, *required: Requirement) -> "Requirements":
        """Return what is known of a node that does not exist yet: it gets the well-known labels and those named."""
        return cls(
            by_key={wanted.key: wanted for wanted in merged(map(under_present_name, required))},
            open_keys=WELL_KNOWN_LABELS,
        )

    def of(self, key: str) -> Requirement:
        """Return what the label may be."""
        found = self.by_key.get(key)
        if found is not None:
            return found
        is_open = key in self.open_keys
        return Requirement(key=key, excludes=is_open, may_be_absent=True)

    def conflict(self, term: Iterable[Requirement]) -> Requirement | None:
        """Return the first requirement that no such node could meet in addition, or None."""
        return next((wanted for wanted in term if not self.of(wanted.key).is_compatible(wanted)), None)

    def narrowed(self, term: Iterable[Requirement]) -> "Requirements":
        """Return what is known of the nodes that meet these requirements too."""
        by_key = dict(self.by_key)
        for wanted in term:
            known = by_key.get(wanted.key)
            by_key[wanted.key] = (self.of(wanted.key) if known is None else known).intersect(wanted)
        return Requirements(by_key=by_key, open_keys=self.open_keys)

    def is_within(self, term: Iterable[Requirement]) -> bool:
        """Whether every such node meets the term."""
        return all(self.of(wanted.key).intersect(wanted) == self.of(wanted.key) for wanted in term)


def on_new_nodes(term: NodeSelectorTerm) -> tuple[Requirement, ...] | None:
    """Return what the term demands of the labels of a node that has no name yet; None where it can never hold for one.

    Former names of labels count as the present ones, which is how such a node will carry them.
    """
    if not term.match_expressions and not term.match_fields:
        return None
    if any(not named.excludes for named in _on_fields(term)):
        return None
    return merged(map(under_present_name, _on_labels(term)))


def merged(required: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Return one requirement a label, in the order of the labels, that demand the same together."""
    by_key: dict[str, Requirement] = {}
    for wanted in required:
        known = by_key.get(wanted.key)
        by_key[wanted.key] = wanted if known is None else known.intersect(wanted)
    return tuple(by_key[key] for key in sorted(by_key))


def under_present_name(requirement: Requirement) -> Requirement:
    """Return the requirement on the label's present name, where it uses a former one."""
    name = FORMER_NAMES.get(requirement.key)
    return requirement if name is None else msgspec.structs.replace(requirement, key=name)


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


def _bounded(written: NodeSelectorRequirement | LabelRequirement) -> Requirement:
    bound = whole_number(written.values[0]) if len(written.values) == 1 else None
    if bound is None:
        return Requirement(key=written.key)
    is_inclusive = written.operator in {"Gte", "Lte"}
    if written.operator in {"Gt", "Gte"}:
        return Requirement(key=written.key, excludes=True, above=bound - is_inclusive)
    return Requirement(key=written.key, excludes=True, below=bound + is_inclusive)


def _have_a_value(one: Requirement, other: Requirement) -> bool:
    """Whether both allow some value; neither has bounds."""
    if one.excludes:
        return other.excludes or not other.values <= one.values
    return not (one.values <= other.values if other.excludes else one.values.isdisjoint(other.values))


def _tighter(pick: Callable[[int, int], int], one: int | None, other: int | None) -> int | None:
    """Return the one of two bounds that is picked, the only one where there is only one."""
    if one is None or other is None:
        return one if other is None else other
    return pick(one, other)


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
