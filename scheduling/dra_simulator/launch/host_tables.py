"""NodeClaims, and what nodes to be say to a pod, as tables for people."""

from collections.abc import Iterator, Sequence

from dra_scheduling.basics.reasons import FoldedReason, fold
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.inventory import nominees_of, requested_drivers
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import NODE_POOL_LABEL
from dra_scheduling.nodeclaims.launching import Instance, chosen
from dra_simulator.explain.request_cells import COUNT_HEADERS, count_cells
from dra_simulator.launch.host_views import SupplyStory, TypeGroup
from dra_simulator.launch.made_up_provider import Catalogue
from dra_simulator.tables import Block, Table
from kube_cel.quantity import NANO_PER_UNIT

MOST_SHOWN = 20
MOST_NAMED = 8
SERVES = "serves the pod"
HEADERS = ("NODECLAIM", "POOL", "CHEAPEST TYPE", "TYPES", "ZONE", "PRICE/H", "PODS", "DRIVERS")


def claims_table(claims: Sequence[NodeClaim], catalogue: Catalogue) -> Table:
    """Return one row a NodeClaim: the machine that it gets where the cheapest is taken, and for whom."""
    return Table(headers=HEADERS, rows=tuple(_claim_row(claim, catalogue) for claim in claims), style="cyan")


def cheapest(claim: NodeClaim, catalogue: Catalogue) -> Instance | None:
    """Return the cheapest machine that the NodeClaim can get, or could if it were made now."""
    return chosen(claim, catalogue.of_class(claim.spec.node_class_ref.name))


def types_of(claim: NodeClaim) -> tuple[str, ...]:
    """Return the instance types that the NodeClaim lists."""
    return next((one.values for one in claim.spec.requirements if one.key == INSTANCE_TYPE_LABEL), ())


def supply_blocks(story: SupplyStory) -> list[Block]:
    """Return what NodeClaims on their way say, what every kind of instance type says, and which comes closest."""
    own = [group for group in story.groups if not group.view.is_foreign]
    shown = own[:MOST_SHOWN]
    hosts = tuple(
        (host.name, "takes the pod" if host.refusal is None else reasons_text(fold([host.refusal])))
        for host in story.hosts
    )
    said = tuple(
        (
            group.view.node_pool,
            called(group),
            price_text(group.view.price),
            reasons_text(group.reasons) or SERVES,
        )
        for group in shown
    )
    blocks: list[Block] = [
        Table(headers=("NODECLAIM IN FLIGHT", "REASON"), rows=hosts[:MOST_SHOWN]),
        Table(headers=("POOL", "INSTANCE TYPES", "PRICE/H", "REASON"), rows=said),
        Table(
            headers=("POOL", "INSTANCE TYPES", *COUNT_HEADERS),
            rows=tuple(
                (group.view.node_pool, called(group), *count_cells(count))
                for group in shown
                for count in group.view.requests
            ),
        ),
    ]
    hidden = own[MOST_SHOWN:]
    if hidden:
        types = sum(len(group.names) for group in hidden)
        blocks.append(f"{types} more instance types in {len(hidden)} groups not shown (use -o json)")
    lines = "\n".join(_ending_lines(story))
    return [*blocks, lines] if lines else blocks


def called(group: TypeGroup) -> str:
    """Return the cheapest type of the group, and how many are equivalent to it."""
    others = len(group.names) - 1
    return f"{group.view.name} (+{others:,} equivalent)" if others else group.view.name


def price_text(price: float | None) -> str:
    """Return a price by the hour, `-` where there is none."""
    return "-" if price is None else f"{price:g}"


def _ending_lines(story: SupplyStory) -> Iterator[str]:
    if story.refusals:
        yield f"No new node: {reasons_text(fold(story.refusals))}"
    foreign = {(group.view.node_pool, name) for group in story.groups if group.view.is_foreign for name in group.names}
    for pool in sorted({pool for pool, _ in foreign}):
        names = sorted(name for other, name in foreign if other == pool)
        yield f"NodePool {pool} does not take {shortened(names)}"
    miss = story.nearest_miss
    if miss is not None:
        where = f"instance type {miss.view.name} in NodePool {miss.view.node_pool}"
        yield f"Nearest miss: {where}, {reasons_text(miss.reasons)}"


def shortened(names: Sequence[str]) -> str:
    """Return names in words, a few of them where there are many."""
    left = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {left:,} others" if left > 0 else "")


def _claim_row(claim: NodeClaim, catalogue: Catalogue) -> tuple[str, ...]:
    instance = cheapest(claim, catalogue)
    listed = types_of(claim)
    return (
        claim.name,
        claim.metadata.labels.get(NODE_POOL_LABEL, "-"),
        "-" if instance is None else instance.expanded.name,
        str(len(listed)) if listed else "any",
        "-" if instance is None else instance.offering.zone,
        "-" if instance is None else price_text(instance.offering.price.nano / NANO_PER_UNIT),
        str(len(nominees_of(claim))),
        ", ".join(requested_drivers(claim)) or "-",
    )


def reasons_text(reasons: Sequence[FoldedReason]) -> str:
    """Return reasons in one line."""
    return "; ".join(reason.message for reason in reasons)
