"""Which of the nodes that take a pod is the best: a profile puts terms in order, or adds them up by weights.

With tiers the first term decides, the next one where that is equal, and so on. With weights every term gives 0 to 100,
which is multiplied and summed, as kube-scheduler does; a term that is normalized is brought to that range over all
nodes that take the pod, so that the score of one node depends on the others. Nodes of the same score go by name.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from dra_scheduling.fit.score_terms import (
    MOST,
    FeasibleNode,
    Term,
    affinity_missed,
    affinity_weight,
    alternatives_worth,
    avoided_taint_count,
    balanced_allocation,
    device_nodes_left_alone,
    devices_left_free,
    later_alternatives,
    least_allocated,
    room_left_free,
)

Score = tuple[int, ...]
"""What the terms of a profile say of a node, one number a term."""


class ScoreOrder(Protocol):
    """Puts the scores of the nodes that take pods of one class in order, as nodes come and go."""

    def key(self, score: Score) -> Score:
        """Return what orders a node of this score, the smallest first, as long as nothing is `unsettled`."""

    def noted(self, score: Score) -> None:
        """Take note of a node of this score."""

    def dropped(self, score: Score) -> None:
        """Take note that there is one node less of this score."""

    def is_unsettled(self, scores: Iterable[Score]) -> bool:
        """Whether keys are other ones by now; `scores` are those of all nodes, read only where that may be."""


class Profile(Protocol):
    """What makes a node better than another one for a pod."""

    @property
    def name(self) -> str:
        """What people call it."""

    def score(self, node: FeasibleNode) -> Score:
        """Return what is kept of a node, whatever other nodes there are."""

    def order(self) -> ScoreOrder:
        """Return a new order for the nodes of one class of pods."""


class _AsTheyAre:
    """The order of scores that are compared number by number."""

    __slots__ = ()

    def key(self, score: Score) -> Score:
        return score

    def noted(self, score: Score) -> None:
        pass

    def dropped(self, score: Score) -> None:
        pass

    def is_unsettled(self, scores: Iterable[Score]) -> bool:  # noqa: ARG002  nothing depends on other nodes
        return False


AS_THEY_ARE: ScoreOrder = _AsTheyAre()


class Tiers(msgspec.Struct, frozen=True):
    """Terms of which an earlier one always outweighs the later ones; the smallest is the best."""

    name: str
    terms: Mapping[str, Term]

    def score(self, node: FeasibleNode) -> Score:
        """Return what the terms say, in their order."""
        return tuple([term(node) for term in self.terms.values()])

    def order(self) -> ScoreOrder:
        """Return the order by the numbers themselves."""
        return AS_THEY_ARE


class Normalization(NamedTuple):
    """How a count becomes 0 to 100: 100 for the most over all nodes, or where less is better for none."""

    is_reversed: bool = False

    def of(self, count: int, most: int) -> int:
        """Return the score of a count where `most` is the highest over all nodes."""
        share = count * MOST // most if most else 0
        return MOST - share if self.is_reversed else share


class WeightedTerm(msgspec.Struct, frozen=True, kw_only=True):
    """A term by the name of kube-scheduler's plugin, and how much it counts."""

    plugin: str
    weight: int
    term: Term
    normalization: Normalization | None = None


class Weights(msgspec.Struct, frozen=True):
    """Terms that are added up by their weights; the largest sum is the best."""

    name: str
    terms: tuple[WeightedTerm, ...]

    def score(self, node: FeasibleNode) -> Score:
        """Return what the terms say, before they are normalized."""
        return tuple([one.term(node) for one in self.terms])

    def order(self) -> ScoreOrder:
        """Return a new order by the sum."""
        return WeightedOrder(self.terms)


class WeightedOrder:
    """The order by a sum of which some terms depend on the highest count over all nodes."""

    __slots__ = ("_has_changed", "_highest", "_is_stale", "_normalized", "_terms")

    def __init__(self, terms: Sequence[WeightedTerm]) -> None:
        self._terms = terms
        self._normalized = [number for number, one in enumerate(terms) if one.normalization is not None]
        self._highest = dict.fromkeys(self._normalized, 0)
        self._is_stale = False
        self._has_changed = False

    def key(self, score: Score) -> Score:
        """Return minus the weighted sum."""
        total = 0
        for number, (said, one) in enumerate(zip(score, self._terms, strict=True)):
            value = said if one.normalization is None else one.normalization.of(said, self._highest[number])
            total += value * one.weight
        return (-total,)

    def noted(self, score: Score) -> None:
        """Take note of a node of this score, which may have more of something than all others."""
        for number in self._normalized:
            if score[number] > self._highest[number]:
                self._highest[number] = score[number]
                self._has_changed = True

    def dropped(self, score: Score) -> None:
        """Take note that a node is gone, which may have had most of something."""
        self._is_stale |= any(score[number] == self._highest[number] > 0 for number in self._normalized)

    def is_unsettled(self, scores: Iterable[Score]) -> bool:
        """Whether the highest counts are others than when this was asked before."""
        if self._is_stale:
            self._is_stale = False
            highest = dict.fromkeys(self._normalized, 0)
            for score in scores:
                for number in self._normalized:
                    highest[number] = max(highest[number], score[number])
            self._has_changed |= highest != self._highest
            self._highest = highest
        has_changed, self._has_changed = self._has_changed, False
        return has_changed


PACK = Tiers(
    "pack",
    {
        "DeviceNodes": device_nodes_left_alone,
        "TaintToleration": avoided_taint_count,
        "NodeAffinity": affinity_missed,
        "DynamicResources": later_alternatives,
        "FreeDevices": devices_left_free,
        "NodeResourcesFit": room_left_free,
    },
)
"""Large free pieces stay whole: pods go where least is left."""
KUBE_SCHEDULER = Weights(
    "kube-scheduler",
    (
        WeightedTerm(
            plugin="TaintToleration", weight=3, term=avoided_taint_count, normalization=Normalization(is_reversed=True)
        ),
        WeightedTerm(plugin="NodeAffinity", weight=2, term=affinity_weight, normalization=Normalization()),
        WeightedTerm(plugin="DynamicResources", weight=2, term=alternatives_worth, normalization=Normalization()),
        WeightedTerm(plugin="NodeResourcesFit", weight=1, term=least_allocated),
        WeightedTerm(plugin="NodeResourcesBalancedAllocation", weight=1, term=balanced_allocation),
    ),
)
"""Pods are spread as kube-scheduler's default profile spreads them, by the plugins that there are here."""
PROFILES: Mapping[str, Profile] = {one.name: one for one in (PACK, KUBE_SCHEDULER)}
