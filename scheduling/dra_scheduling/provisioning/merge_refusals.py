"""What several hosts say of a pod, told once, and how far they were asked."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from dra_scheduling.basics.reasons import ClusterEvent, Refusal, in_short, nearest_of

NODE_POOL = "NodePool"
MOST_NAMED = 4
REQUIREMENTS_CONFLICT = "RequirementsConflict"
# What is not for the pod in the first place says least of what would have to change.
NOT_FOR_THE_POD = frozenset({REQUIREMENTS_CONFLICT, "NodeAffinityMismatch", "UntoleratedTaint"})


class RefusalSource(NamedTuple):
    """Who refuses a pod: a kind of host, of which NodePools have names."""

    kind: str
    name: str = ""


def told(said: Iterable[tuple[RefusalSource, Refusal]]) -> tuple[Refusal, ...]:
    """Return the refusals in order, each with all who say so and with the figures of the nearest of them.

    Hosts that are not for the pod come last, so that those that would be are not hidden behind them.
    """
    alike: dict[tuple[str, str], list[tuple[RefusalSource, Refusal]]] = {}
    for speaker, refusal in said:
        alike.setdefault((refusal.reason, refusal.message), []).append((speaker, refusal))
    ordered = sorted(alike.items(), key=lambda one: one[0][0] in NOT_FOR_THE_POD)
    return tuple(_as_one([who for who, _ in same], [refusal for _, refusal in same]) for _, same in ordered)


def _as_one(who: Sequence[RefusalSource], refusals: Sequence[Refusal]) -> Refusal:
    wake = ClusterEvent.NOTHING
    for one in refusals:
        wake |= one.wake
    nearest = nearest_of(refusals)
    if nearest.reason == REQUIREMENTS_CONFLICT and len({one.details for one in refusals}) > 1:
        nearest = replace(nearest, details=())
    return replace(nearest, message=f"{_called(who)}: {nearest.message}", wake=wake)


def _called(who: Sequence[RefusalSource]) -> str:
    kinds = [speaker.kind for speaker in who if not speaker.name]
    pools = [speaker.name for speaker in who if speaker.name]
    if pools:
        kinds.append(f"{NODE_POOL}{'s' if len(pools) > 1 else ''} {in_short(pools, MOST_NAMED)}")
    return ", ".join(kinds)


class TriedHosts:
    """What pods of one group found out about hosts, by variant: how many of the hosts in order refused them."""

    __slots__ = ("next_host", "refusals")

    def __init__(self) -> None:
        self.next_host: dict[tuple[int, bool | None], int] = {}
        self.refusals: dict[tuple[int, RefusalSource], Refusal] = {}

    def setter(self) -> Callable[[], None]:
        """Return what lets it be as it is now."""
        next_host, refusals = dict(self.next_host), dict(self.refusals)

        def put_back() -> None:
            self.next_host, self.refusals = next_host, refusals

        return put_back

    def told(self) -> tuple[Refusal, ...]:
        """Return what is held against the last variant: one that was given up in the end is of no interest."""
        last = max((number for number, _ in self.refusals), default=0)
        return told((who, refusal) for (number, who), refusal in self.refusals.items() if number == last)
