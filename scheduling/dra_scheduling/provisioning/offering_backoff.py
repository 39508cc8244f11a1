"""Machines that have failed lately and are not made for the time being."""

from collections.abc import Collection, Iterable

import msgspec

from dra_scheduling.basics.reasons import ClusterEvent, Refusal, in_short
from dra_scheduling.basics.times import seconds_of, time_of
from dra_scheduling.cluster import Cluster
from dra_scheduling.inventory import MachineTable
from dra_scheduling.model.instancetypes import INSTANCE_TYPE_LABEL, Failure, InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.nodeclaims.launch_failures import has_failed, is_counted
from dra_scheduling.nodeclaims.lifecycle_steps import is_own

MOST_NAMED = 3
REASONS = {Failure.REGISTRATION: "NodesNotRegistered", Failure.DEVICES: "DevicesNotPublished"}
"""What pods are told, the worst first."""
DEEDS = {Failure.REGISTRATION: "become nodes", Failure.DEVICES: "publish their devices"}


class Rest(msgspec.Struct, frozen=True, kw_only=True):
    """A machine of a table, as a bit, that rests because others like it have failed.

    `until` is RFC 3339 text, empty while its type does not say so yet.
    """

    machine: int
    name: str
    failure: Failure
    until: str


class Rests(msgspec.Struct, frozen=True):
    """The machines of a table that rest: for pods with devices, or for all."""

    every: tuple[Rest, ...] = ()

    def among(self, types: int, *, has_devices: bool) -> tuple[Rest, ...]:
        """Return who of these machines rests for a pod."""
        return tuple(one for one in self.every if one.machine & types and (has_devices or _is_for_all(one)))

    def left(self, types: int, *, has_devices: bool) -> int | Refusal:
        """Return the machines that do not rest, or why there is none; `types` are not empty."""
        resting = self.among(types, has_devices=has_devices) if self.every else ()
        left = types
        for one in resting:
            left &= ~one.machine
        return left or refusal_of(resting, "its instance types")

    def told(self, types: int, *, has_devices: bool) -> str:
        """Return who of these machines rests and until when, for people."""
        resting = self.among(types, has_devices=has_devices)
        names = list(dict.fromkeys(one.name for one in resting))
        said = f"{in_short(names, MOST_NAMED)} would serve it and {'has' if len(names) == 1 else 'have'}"
        return f"{said} failed to {_deeds(resting)} lately{_end(resting)}"


class Resting:
    """Who rests at a moment, by what types and NodeClaims say. `now` is RFC 3339 text."""

    __slots__ = ("_cluster", "_failed", "_now")

    def __init__(self, cluster: Cluster, now: str) -> None:
        self._cluster = cluster
        self._now = seconds_of(now)
        self._failed: dict[tuple[Failure, str], list[NodeClaim]] = {}
        for claim in cluster.inventory.claims.values():
            for failure in REASONS:
                if is_own(claim) and has_failed(claim, failure):
                    kind = claim.metadata.labels.get(INSTANCE_TYPE_LABEL, "")
                    self._failed.setdefault((failure, kind), []).append(claim)

    def of(self, table: MachineTable, failures: Collection[Failure] = tuple(REASONS)) -> Rests:
        """Return who of the table rests because of such failures."""
        rests: list[Rest] = []
        for number, machine in enumerate(table.machines):
            value = self._cluster.inventory.instance_type(machine.instance_type)
            for failure in failures:
                until = self._until(value, failure) if value is not None else None
                if until is not None:
                    rests.append(Rest(machine=1 << number, name=machine.instance_type, failure=failure, until=until))
        return Rests(tuple(rests))

    def _until(self, value: InstanceType, failure: Failure) -> str | None:
        rest = value.status.row(failure)[1]
        if rest and seconds_of(rest) > self._now:
            return time_of(seconds_of(rest))
        # That a machine failed is written first, and what it means for its type then.
        is_news = any(
            value.belongs_to(claim.spec.node_class_ref.name) and not is_counted(value, claim, failure)
            for claim in self._failed.get((failure, value.instance_type), ())
        )
        return "" if is_news else None


def refusal_of(resting: Iterable[Rest], who: str) -> Refusal:
    """Return that machines cannot be had because they rest, and when the first of them can."""
    resting = tuple(resting)
    reason = next(word for failure, word in REASONS.items() if any(one.failure is failure for one in resting))
    message = f"{who} have failed to {_deeds(resting)} lately{_end(resting)}"
    return Refusal(reason=reason, message=message, wake=ClusterEvent.NODE | ClusterEvent.SUPPLY)


def _is_for_all(rest: Rest) -> bool:
    return rest.failure is Failure.REGISTRATION


def _deeds(resting: tuple[Rest, ...]) -> str:
    return " or to ".join(text for failure, text in DEEDS.items() if any(one.failure is failure for one in resting))


def _end(resting: tuple[Rest, ...]) -> str:
    """Return when the first machine has had its rest; of one with two rests the later end counts."""
    ends: dict[int, str] = {}
    for one in resting:
        ends[one.machine] = max(one.until, ends.get(one.machine, ""))
    known = [end for end in ends.values() if end]
    return f", tried again at {min(known)}" if known else ""
