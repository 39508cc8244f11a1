"""How many nodes of a NodePool may be taken away at once: the smallest of its budgets that count now."""

from collections.abc import Iterable

import msgspec

from dra_scheduling.basics.times import duration_of
from dra_scheduling.cluster import Cluster
from dra_scheduling.disruption.budget_schedules import is_open, schedule_of
from dra_scheduling.inventory.replacements import is_to_go
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import DisruptionBudget, NodePool
from dra_scheduling.model.pods import NODE_POOL_LABEL
from dra_scheduling.nodeclaims.lifecycle_steps import INITIALIZED, READY

WHOLE = 100


class Tally(msgspec.Struct, frozen=True):
    """How many nodes a pool has, and how many of them are going or not ready."""

    nodes: int = 0
    disrupted: int = 0


def tallies(cluster: Cluster) -> dict[str, Tally]:
    """Return the tally of every pool that has nodes. A node counts once it is initialized."""
    found: dict[str, Tally] = {}
    for claim in cluster.inventory.claims.values():
        initialized = claim.condition(INITIALIZED)
        if initialized is not None and initialized.is_true:
            pool = claim.metadata.labels.get(NODE_POOL_LABEL, "")
            before = found.get(pool, Tally())
            found[pool] = Tally(before.nodes + 1, before.disrupted + _is_disrupted(cluster, claim))
    return found


def allowed(pool: NodePool, reason: str, tally: Tally, now: float) -> int:
    """Return how many more nodes of the pool may go for this reason; `now` is in seconds since 1970.

    A percentage is of all nodes, rounded up. Nodes that go or are not ready use the budget up. A budget that cannot be
    read allows nothing.
    """
    most = min((_value(budget, tally.nodes) for budget in _counting(pool, reason, now)), default=tally.nodes)
    return max(most - tally.disrupted, 0)


def _counting(pool: NodePool, reason: str, now: float) -> Iterable[DisruptionBudget]:
    for budget in pool.spec.disruption.budgets:
        if (not budget.reasons or reason in budget.reasons) and _is_active(budget, now):
            yield budget


def _is_active(budget: DisruptionBudget, now: float) -> bool:
    if not budget.schedule and not budget.duration:
        return True
    schedule, duration = schedule_of(budget.schedule), duration_of(budget.duration)
    # What nobody can read is taken for always.
    return schedule is None or duration is None or is_open(schedule, duration, now)


def _value(budget: DisruptionBudget, nodes: int) -> int:
    text = budget.nodes.strip()
    is_readable = not budget.schedule or schedule_of(budget.schedule) is not None
    number = text.removesuffix("%")
    if not is_readable or not number.isdecimal() or bool(budget.schedule) != bool(budget.duration):
        return 0
    return -(-nodes * int(number) // WHOLE) if text.endswith("%") else int(number)


def _is_disrupted(cluster: Cluster, claim: NodeClaim) -> bool:
    ready = claim.condition(READY)
    state = cluster.nodes.get(claim.status.node_name)
    of_node = state.node.ready if state is not None else None
    is_down = (ready is not None and not ready.is_true) or (of_node is not None and of_node.status != "True")
    return is_to_go(claim) or state is None or is_down
