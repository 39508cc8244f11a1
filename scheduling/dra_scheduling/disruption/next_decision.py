"""The next nodes to be taken away: expired ones at once, and otherwise one decision at a time, within budgets."""

from collections.abc import Callable

from dra_scheduling.basics.times import duration_of, seconds_of
from dra_scheduling.cluster import Cluster
from dra_scheduling.disruption.candidates import Candidate, Ineligible, NodeActivity, survey
from dra_scheduling.disruption.disruption_budgets import tallies
from dra_scheduling.disruption.disruption_view import DisruptionView
from dra_scheduling.disruption.methods import (
    Decision,
    Search,
    drifted_nodes,
    empty_nodes,
    several_nodes,
    shut,
    single_node,
)
from dra_scheduling.disruption.simulate_scheduling import WhatIfOptions, needed_nodes
from dra_scheduling.model.nodeclaims import NEVER, NodeClaim
from dra_scheduling.nodeclaims.lifecycle_steps import is_own

CALM = NodeActivity()
METHODS = (
    (empty_nodes, drifted_nodes, several_nodes, single_node),
    (empty_nodes, drifted_nodes, single_node, several_nodes),
)
"""In this order; the first decision that any of them comes to is taken, and the others wait for the next time.

Both orders in turn: where time runs out over many nodes, single ones are not to wait for ever.
"""


def _nobody(_: Ineligible) -> None:
    pass


def expired(cluster: Cluster, now: float) -> tuple[NodeClaim, ...]:
    """Return the NodeClaims that have lived as long as they may. They go whatever budgets and pods say."""
    return tuple(
        claim
        for _, claim in sorted(cluster.inventory.claims.items())
        if is_own(claim) and not claim.metadata.is_deleting and has_expired(claim, now)
    )


def has_expired(claim: NodeClaim, now: float) -> bool:
    """Whether the NodeClaim has lived as long as it may by then, in seconds since 1970."""
    seconds = None if claim.spec.expire_after == NEVER else duration_of(claim.spec.expire_after)
    created = seconds_of(claim.metadata.creation_timestamp)
    return bool(seconds) and bool(created) and now >= created + (seconds or 0.0)


def next_decision(
    outlook: DisruptionView,
    options: WhatIfOptions,
    *,
    unrest: NodeActivity = CALM,
    first: int = 0,
    most: int = 25,
    tell: Callable[[Ineligible], None] = _nobody,
) -> Decision | None:
    """Return which nodes are to go next, None if none is to. Earlier decisions use budgets up until they are through.

    Nodes stay as long as pods of others that go already will need them.
    `first` says at which of the nodes to begin, `most` how many single ones are looked at: not all every time.
    Where there is no decision, `tell` is told what keeps those nodes for good that were looked at.
    """
    cluster = outlook.cluster
    now = seconds_of(options.now)
    seen = tuple(survey(outlook, now, unrest))
    needed = needed_nodes(outlook, options)
    kept = [one for one in seen if isinstance(one, Ineligible) and one.is_lasting]
    search = Search(
        outlook=outlook,
        candidates=tuple(one for one in seen if isinstance(one, Candidate) and one.node.name not in needed),
        tallies=tallies(cluster),
        options=options,
        now=now,
        first=first,
        most=most,
        tell=kept.append,
    )
    methods = METHODS[first // max(most, 1) % len(METHODS)]
    decision = next((found for method in methods if (found := method(search)) is not None), None)
    if decision is None:
        for one in (*kept, *shut(search)):
            tell(one)
    return decision
