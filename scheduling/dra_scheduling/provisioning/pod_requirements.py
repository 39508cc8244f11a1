"""What a pod wishes of a node that may not exist yet: one variant after the other, the preferred one first.

A preference is a requirement until nothing can be found for it. Wishes are given up so that the sum of the weights of
those that are held is as large as it can be, which is how kube-scheduler scores nodes.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, product

import msgspec

from dra_scheduling.basics.requirements import Requirement, merged, on_new_nodes, term_matches
from dra_scheduling.model.node_selectors import NodeSelectorTerm, PreferredSchedulingTerm
from dra_scheduling.model.pods import Pod

MAX_VARIANTS = 32
"""So many are tried at most, unless more terms than that are required."""
WEIGHED = 4
"""Of so many of the heaviest wishes all combinations are tried; lighter ones are given up one by one before."""

Terms = tuple[NodeSelectorTerm, ...]


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One way in which the pod may be placed.

    `requirements` are what it demands of a node without a name, None where no such node can meet it. `terms` say the
    same of a node that has one. `avoids` tells whether nodes with an untolerated `PreferNoSchedule` taint are passed
    over.
    """

    requirements: tuple[Requirement, ...] | None
    terms: tuple[NodeSelectorTerm, ...] = ()
    avoids: bool = True

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a node that exists meets the variant."""
        return all(term_matches(term, name, labels) for term in self.terms)


def variants(pod: Pod, demanded: Iterable[Terms]) -> tuple[Variant, ...]:
    """Return the pod's variants in the order in which they are to be tried; all of them hold what rules demand.

    Of the terms that a rule demands one is enough, so that every level of wishes is tried with each choice of them.
    `PreferNoSchedule` is given up last.
    """
    choices: list[Terms] = list(product(*demanded))
    preferred = pod.spec.affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
    wished = [level for level in _levels(preferred) if level]
    most = max(MAX_VARIANTS // len(choices) - 2, 0)
    found = [_variant((*choice, *level)) for level in (*wished[:most], ()) for choice in choices]
    return (*found, *(msgspec.structs.replace(one, avoids=False) for one in found[-len(choices) :]))


def _levels(preferred: tuple[PreferredSchedulingTerm, ...]) -> Iterator[Terms]:
    """Yield which wishes are held, from all to none."""
    wished = sorted(preferred, key=lambda term: term.weight, reverse=True)
    for kept in range(len(wished), WEIGHED, -1):
        yield tuple(one.preference for one in wished[:kept])
    heavy = wished[:WEIGHED]
    subsets = [subset for size in range(len(heavy), -1, -1) for subset in combinations(heavy, size)]
    # The sort keeps the order of equal sums: more wishes before fewer, and the heavier one of each pair.
    for subset in sorted(subsets, key=lambda subset: -sum(one.weight for one in subset)):
        yield tuple(one.preference for one in subset)


def _variant(terms: Terms) -> Variant:
    found: list[Requirement] = []
    for term in terms:
        demanded = on_new_nodes(term)
        if demanded is None:
            return Variant(requirements=None, terms=terms)
        found += demanded
    return Variant(requirements=merged(found), terms=terms)
