"""A story as tables for people."""

from collections.abc import Iterator, Sequence

from dra_scheduling.basics.reasons import FoldedReason
from dra_scheduling.basics.resources import amount_text
from dra_simulator.explain.explain_pod import NearestMiss, Story
from dra_simulator.explain.held_devices import held_table
from dra_simulator.explain.node_rows import NodeGroup, ResourceServer, Served
from dra_simulator.explain.request_cells import COUNT_HEADERS, count_cells
from dra_simulator.launch.host_tables import supply_blocks
from dra_simulator.tables import Block, Table

MOST_SHOWN = 20
"""So many kinds of nodes fit on a screen; the others are in the JSON."""


def story_blocks(story: Story) -> list[Block]:
    """Return what stands against the pod as such, what the nodes say, and what each request finds there."""
    title = f"Pod {story.pod.key}: {story.outcome}"
    if story.reasons:
        return [title, "\n".join(reason.message for reason in story.reasons)]
    shown = story.nodes[:MOST_SHOWN]
    said = tuple((_called(group), _text(group.reasons) or "takes the pod") for group in shown)
    blocks: list[Block] = [
        title,
        held_table(story.devices),
        Table(headers=("NODES", "REASON"), rows=said),
        Table(
            headers=("NODES", "EXTENDED RESOURCE", "WANTED", "SERVED BY", "FREE"),
            rows=tuple(row for group in shown for row in _served_rows(group)),
        ),
        Table(
            headers=("NODES", *COUNT_HEADERS),
            rows=tuple((_called(group), *count_cells(count)) for group in shown for count in group.view.requests),
        ),
    ]
    hidden = story.nodes[MOST_SHOWN:]
    if hidden:
        nodes = sum(len(group.names) for group in hidden)
        blocks.append(f"{nodes} more nodes in {len(hidden)} groups not shown (use -o json)")
    if story.nearest_miss is not None:
        blocks.append("\n".join(_miss_lines(story.nearest_miss)))
    return blocks if story.supply is None else [*blocks, *supply_blocks(story.supply)]


def _called(group: NodeGroup) -> str:
    others = len(group.names) - 1
    return f"{group.view.node} (+{others:,} equivalent)" if others else group.view.node


def _served_rows(group: NodeGroup) -> Iterator[tuple[str, ...]]:
    for each in group.view.served:
        free = amount_text(each.resource, each.free) if each.server is ResourceServer.NODE else ""
        yield _called(group), each.resource, amount_text(each.resource, each.wanted), _server(each), free


def _server(each: Served) -> str:
    match each.server:
        case ResourceServer.NODE:
            return "the node's device plugin"
        case ResourceServer.DRA:
            return f"DRA, class {each.device_class}"
        case ResourceServer.NOBODY:
            return "nobody"


def _miss_lines(miss: NearestMiss) -> Iterator[str]:
    yield f"Nearest miss: {miss.node}, {_text(miss.reasons)}"
    if not miss.changes:
        yield "No single change is known that would make it take the pod"
    for change in miss.changes:
        yield f"It would take the pod if {change}"


def _text(reasons: Sequence[FoldedReason]) -> str:
    return "; ".join(reason.message for reason in reasons)
