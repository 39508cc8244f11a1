"""A story as tables for people."""

from collections.abc import Iterator, Sequence

from dra_scheduling.reasons import FoldedReason
from dra_scheduling.resources import amount_text
from dra_simulator.explain import NearestMiss, Story
from dra_simulator.stories.counts import RequestCount
from dra_simulator.stories.nodes import NodeGroup, Served, Server
from dra_simulator.tables import Block, Table

MOST_SHOWN = 20
"""So many kinds of nodes fit on a screen; the others are in the JSON."""
SIEVES = "REACH > CLASS > OWN"
COUNT_HEADERS = ("NODES", "CLAIM", "REQUEST", "CLASS", "WANTED", SIEVES, "FREE", "MISSING", "LEFT OUT")


def story_blocks(story: Story) -> list[Block]:
    """Return what stands against the pod as such, what the nodes say, and what each request finds there."""
    title = f"Pod {story.pod.key}: {story.outcome}"
    if story.reasons:
        return [title, "\n".join(reason.message for reason in story.reasons)]
    shown = story.nodes[:MOST_SHOWN]
    said = tuple((_called(group), _text(group.reasons) or "takes the pod") for group in shown)
    blocks: list[Block] = [
        title,
        Table(headers=("NODES", "WHAT THEY SAY"), rows=said),
        Table(
            headers=("NODES", "EXTENDED RESOURCE", "WANTED", "SERVED BY", "FREE"),
            rows=tuple(row for group in shown for row in _served_rows(group)),
        ),
        Table(
            headers=COUNT_HEADERS,
            rows=tuple(_count_row(group, count) for group in shown for count in group.view.requests),
        ),
    ]
    hidden = story.nodes[MOST_SHOWN:]
    if hidden:
        nodes = sum(len(group.names) for group in hidden)
        blocks.append(f"Farther from it are {nodes} nodes more, of {len(hidden)} kinds: -o json shows them")
    if story.nearest_miss is not None:
        blocks.append("\n".join(_miss_lines(story.nearest_miss)))
    return blocks


def _called(group: NodeGroup) -> str:
    others = len(group.names) - 1
    return f"{group.view.node} and {others:,} like it" if others else group.view.node


def _served_rows(group: NodeGroup) -> Iterator[tuple[str, ...]]:
    for each in group.view.served:
        free = amount_text(each.resource, each.free) if each.server is Server.NODE else ""
        yield _called(group), each.resource, amount_text(each.resource, each.wanted), _server(each), free


def _server(each: Served) -> str:
    match each.server:
        case Server.NODE:
            return "the node's device plugin"
        case Server.DRA:
            return f"DRA, class {each.device_class}"
        case Server.NOBODY:
            return "nobody"


def _count_row(group: NodeGroup, count: RequestCount) -> tuple[str, ...]:
    return (
        _called(group),
        count.claim,
        count.request,
        count.device_class,
        "all" if count.wanted is None else str(count.wanted),
        " > ".join(str(left) for left in (count.reachable, count.of_class, *(sieve.left for sieve in count.selectors))),
        str(count.available),
        str(count.missing or "-"),
        ", ".join(_left_out(count)) or "-",
    )


def _left_out(count: RequestCount) -> Iterator[str]:
    for number, words in (
        (max((sieve.failed for sieve in count.selectors), default=0), "fail a selector's evaluation"),
        (count.lacking_capacity, "too small"),
        (count.needing_feature, "need a feature that is off"),
        (count.tainted, "tainted"),
        (count.taken, "taken"),
        (count.without_room, "full"),
        (count.without_counters, "out of counters"),
        (count.pool_not_ready, "in a pool not ready"),
    ):
        if number:
            yield f"{number} {words}"


def _miss_lines(miss: NearestMiss) -> Iterator[str]:
    yield f"Nearest miss: {miss.node}, {_text(miss.reasons)}"
    if not miss.changes:
        yield "No single change is known that would make it take the pod"
    for change in miss.changes:
        yield f"It would take the pod if {change}"


def _text(reasons: Sequence[FoldedReason]) -> str:
    return "; ".join(reason.message for reason in reasons)
