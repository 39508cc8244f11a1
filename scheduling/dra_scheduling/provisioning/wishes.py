"""What a pod wishes of a node that may not exist yet: one variant after the other, the preferred one first.

A preference is held first and given up when nothing can be found for it, the lightest first, which is how Karpenter
relaxes pods.
"""

from collections.abc import Iterator, Mapping
from itertools import islice

import msgspec

from dra_scheduling.model.nodeselection import NodeSelectorTerm
from dra_scheduling.model.pods import Pod
from dra_scheduling.requirements import Requirement, merged, on_new_nodes, term_matches, under_present_name

MAX_VARIANTS = 32

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
        """Whether a node that exists meets the variant; the node selector of the pod is not in it."""
        return all(term_matches(term, name, labels) for term in self.terms)


def variants(pod: Pod) -> tuple[Variant, ...]:
    """Return the pod's variants in the order in which they are to be tried, at most `MAX_VARIANTS`."""
    affinity = pod.spec.affinity.node_affinity
    selector = affinity.required_during_scheduling_ignored_during_execution
    required = selector.node_selector_terms if selector is not None else ()
    choices: list[Terms] = [(term,) for term in required] if selector is not None else [()]
    preferred = sorted(
        affinity.preferred_during_scheduling_ignored_during_execution, key=lambda term: term.weight, reverse=True
    )
    own = tuple(
        under_present_name(Requirement(key=key, values=frozenset((value,))))
        for key, value in pod.spec.node_selector.items()
    )
    wished = tuple(term.preference for term in preferred)
    return tuple(islice(_levels(own, choices, wished), MAX_VARIANTS))


def _levels(own: tuple[Requirement, ...], choices: list[Terms], wished: Terms) -> Iterator[Variant]:
    for kept in range(len(wished), -1, -1):
        for choice in choices:
            yield _variant(own, (*choice, *wished[:kept]))
    for choice in choices:
        yield msgspec.structs.replace(_variant(own, choice), avoids=False)


def _variant(own: tuple[Requirement, ...], terms: Terms) -> Variant:
    found = list(own)
    for term in terms:
        demanded = on_new_nodes(term)
        if demanded is None:
            return Variant(requirements=None, terms=terms)
        found += demanded
    return Variant(requirements=merged(found), terms=terms)
