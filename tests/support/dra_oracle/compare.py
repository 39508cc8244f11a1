"""One world put to Kubernetes and to us: the same answer, a difference with a known reason, or one without."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from dra_oracle.check import faults, prepared
from dra_oracle.kubernetes import Answer, Kubernetes
from dra_oracle.likeness import unlikeness
from dra_oracle.ours import Ours, ours
from dra_oracle.reasons import REASONS, Reason
from dra_oracle.world import Json, World, with_rules_applied

TOO_LARGE = "exceeds the claim limit"
REWORDED_LIMIT_MILLISECONDS = 3_000

Asked = Callable[[World], Ours]


class Kind(StrEnum):
    """How two answers stand to one another."""

    SAME = "same"
    EXPLAINED = "explained"
    UNDECIDED = "undecided"
    UNEXPLAINED = "unexplained"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison of one world. `reasons` are the names of what explains it, `text` says what differs."""

    kind: Kind
    theirs: Answer
    mine: Ours
    reasons: tuple[str, ...] = ()
    text: str = ""


def compare(kubernetes: Kubernetes, world: World, asked: Asked = ours) -> Outcome:
    """Kubernetes' answer beside ours, which has to keep every rule as well."""
    mine = asked(world)
    world = with_rules_applied(world)
    theirs = kubernetes.ask(world)
    kind, text = _standing(world, theirs, mine)
    found: Sequence[Reason] = ()
    if kind == Kind.EXPLAINED:
        kind, found = _explanation(Case(kubernetes, world, theirs, mine))
    return Outcome(kind=kind, theirs=theirs, mine=mine, text=text, reasons=tuple(reason.name for reason in found))


def _standing(world: World, theirs: Answer, mine: Ours) -> tuple[Kind, str]:
    """How the answers stand to one another, as far as they themselves tell; what differs still has to be explained."""
    if mine.verdict in {"exhausted", "inconsistent"}:
        return Kind.UNEXPLAINED, f"we are {mine.verdict}: {mine.text}"
    broken = faults(prepared(world, theirs.selections), mine.allocations) if mine.is_allocated else []
    if broken:
        return Kind.UNEXPLAINED, f"our allocation breaks a rule: {broken[0].kind}: {broken[0].text}"
    if theirs.verdict == "timeout":
        return Kind.UNDECIDED, "Kubernetes did not finish"
    difference = disagreement(theirs, mine)
    return (Kind.EXPLAINED if difference else Kind.SAME), difference


def disagreement(theirs: Answer, mine: Ours) -> str:
    """What the two answers differ in, or nothing."""
    if theirs.is_allocated and mine.is_allocated:
        return unlikeness(theirs.allocations, mine.allocations)
    if theirs.is_allocated or mine.is_allocated or theirs.verdict == "panicked":
        return f"Kubernetes says {_said(theirs.verdict, theirs.error)}, we say {_said(mine.verdict, mine.text)}"
    # Both refuse. Where Kubernetes gave up on the pod, it did not say what it would have found without that mistake.
    gave_up = theirs.verdict == "podError"
    if TOO_LARGE not in theirs.error and gave_up != (mine.verdict == "refused"):
        return f"Kubernetes refuses: {_said(theirs.verdict, theirs.error)}, and we: {_said(mine.verdict, mine.text)}"
    return ""


def _said(verdict: str, text: str) -> str:
    return f"{verdict} ({text})" if text else verdict


class Case(NamedTuple):
    """A world whose two answers differ."""

    kubernetes: Kubernetes
    world: World
    theirs: Answer
    mine: Ours


def _explanation(case: Case) -> tuple[Kind, Sequence[Reason]]:
    """The fewest reasons, one if possible, without which Kubernetes answers as we do; or that there are none.

    Where it does not finish a reworded question, nobody knows.
    """
    tried = [(reason, _reworded_standing(case, (reason,))) for reason in REASONS]
    single = next((reason for reason, kind in tried if kind == Kind.SAME), None)
    if single is not None:
        return Kind.EXPLAINED, (single,)
    needed: Sequence[Reason] = REASONS
    together = _reworded_standing(case, needed)
    if together != Kind.SAME:
        is_open = Kind.UNDECIDED in {together, *(kind for _, kind in tried)}
        return (Kind.UNDECIDED if is_open else Kind.UNEXPLAINED), ()
    for reason in reversed(REASONS):
        fewer = tuple(each for each in needed if each is not reason)
        if _reworded_standing(case, fewer) == Kind.SAME:
            needed = fewer
    return Kind.EXPLAINED, needed


def _reworded_standing(case: Case, reasons: Sequence[Reason]) -> Kind:
    """How the answers stand once the question is put without these reasons."""
    world, answer = case.world, case.theirs
    restored: list[Callable[[Json], Json]] = []
    # A second time, since what one mistake hid may be known too.
    for reason in (*reasons, *reasons):
        if reason.says not in answer.error:
            continue
        other = reason.reword(prepared(world, answer.selections), case.mine.allocations)
        if other is not None and other.world != world:
            world, answer = other.world, case.kubernetes.ask(other.world, REWORDED_LIMIT_MILLISECONDS)
            restored.append(other.restored)
    if answer.verdict == "timeout":
        return Kind.UNDECIDED
    for restore in reversed(restored):
        read = tuple(restore(allocation) for allocation in answer.allocations)
        answer = msgspec.structs.replace(answer, allocations=read)
    return Kind.SAME if restored and not disagreement(answer, case.mine) else Kind.UNEXPLAINED
