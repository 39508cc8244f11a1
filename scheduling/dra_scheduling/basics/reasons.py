"""Refusals are values: a reason word, a sentence, and what change could help; folded into one line over all nodes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import IntFlag, auto

import msgspec

SHOWN_REASONS = 6


class ClusterEvent(IntFlag):
    """What kind of change in the cluster could turn a refusal into a fit."""

    NOTHING = 0
    NODE = auto()
    """A node is new, or its labels, taints, schedulability or allocatable changed."""
    ROOM = auto()
    """A pod left a node (cpu, memory, ports, pod count)."""
    DEVICES = auto()
    """A device became free."""
    SLICES = auto()
    """A ResourceSlice came, changed or went."""
    CLASSES = auto()
    """A DeviceClass came, changed or went."""
    CLAIMS = auto()
    """A ResourceClaim came, changed or went."""
    POD = auto()
    """The pod itself changed."""
    SUPPLY = auto()
    """A NodePool, InstanceType, DaemonSet or NodeClaim came, changed or went: another node could be made."""
    DOMAINS = auto()
    """A placed pod came, changed or went, and by that a group of nodes opened to pods that were kept out of it."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why one node (or every node) does not take a pod.

    `message` holds nothing that differs from node to node, so that equal refusals fold into one; `found` is the
    one figure that may differ (for example the number of free devices), shown for the nearest miss. `details` say
    what else is true of that node, for example why matching devices were left out. `asides` are parts of the message,
    each at the end of brackets, that a line has once, however many of its reasons hold them.
    """

    reason: str
    message: str
    wake: ClusterEvent
    found: int | None = None
    found_text: str = ""
    details: tuple[str, ...] = ()
    asides: tuple[str, ...] = ()


class FoldedReason(msgspec.Struct, frozen=True, kw_only=True):
    """A refusal and on how many nodes it holds (0: it holds for the pod whatever the node)."""

    reason: str
    message: str
    nodes: int
    asides: tuple[str, ...] = ()


def fold(refusals: Iterable[Refusal]) -> tuple[FoldedReason, ...]:
    """Return one entry per distinct refusal, the one that holds on most nodes first, with the nearest miss's figure."""
    every = tuple(refusals)
    # Nodes that look the same share one object, so that thousands of them are few.
    distinct = {id(refusal): refusal for refusal in every}
    counts: Counter[tuple[str, str]] = Counter()
    nearest: dict[tuple[str, str], Refusal] = {}
    for identity, nodes in Counter(map(id, every)).items():
        refusal = distinct[identity]
        key = (refusal.reason, refusal.message)
        counts[key] += nodes
        best = nearest.get(key)
        if best is None or _nearness(refusal) > _nearness(best):
            nearest[key] = refusal
    ordered = sorted(counts, key=lambda key: (-counts[key], key))
    return tuple(
        FoldedReason(reason=key[0], message=_sentence(nearest[key]), nodes=counts[key], asides=nearest[key].asides)
        for key in ordered
    )


def nearest_of(refusals: Iterable[Refusal]) -> Refusal:
    """Return the one of equal refusals that holds most nearly, or says most."""
    return max(refusals, key=_nearness)


def one_line(folded: tuple[FoldedReason, ...], nodes: int) -> str:
    """Return the sentence that a person reads on a pending pod: `0/5 nodes fit: on 3: insufficient cpu; ...`."""
    whole_pod = [reason.message for reason in folded if reason.nodes == 0]
    if whole_pod:
        return told_once("; ".join(whole_pod), folded)
    if not nodes:
        return "0/0 nodes fit: the cluster has no nodes"
    shown = [f"on {reason.nodes}: {reason.message}" for reason in folded[:SHOWN_REASONS]]
    rest = sum(reason.nodes for reason in folded[SHOWN_REASONS:])
    if rest:
        shown.append(f"on {rest}: {len(folded) - SHOWN_REASONS} other reasons")
    return told_once(f"0/{nodes} nodes fit: {'; '.join(shown)}", folded)


def told_once(text: str, reasons: Iterable[FoldedReason]) -> str:
    """Return a line that was made of these reasons without the repetitions of their asides."""
    for aside in dict.fromkeys(aside for reason in reasons for aside in reason.asides):
        # With the bracket, since a selector may go on where another one ends.
        head, found, tail = text.partition(f"{aside})")
        text = head + found + tail.replace(f"{aside})", ")")
    return text


def in_short(texts: Sequence[str], most: int, separator: str = ", ") -> str:
    """Return the first few texts, and the number of the others."""
    left = len(texts) - most
    rest = f"{separator.removeprefix(',')}and {left} more" if left > 0 else ""
    return separator.join(texts[:most]) + rest


def _nearness(refusal: Refusal) -> tuple[int, int, tuple[str, ...]]:
    """Return what tells two equal refusals apart, whatever order they come in: one with remarks says more."""
    return refusal.found or 0, len(refusal.details), refusal.details


def _sentence(refusal: Refusal) -> str:
    found = () if refusal.found is None else (refusal.found_text.format(found=refusal.found),)
    remarks = "; ".join((*found, *refusal.details))
    text = f"{refusal.message} ({remarks})" if remarks else refusal.message
    # Selectors and names may hold line breaks, and a condition or a table row is one line.
    return " ".join(text.split())
