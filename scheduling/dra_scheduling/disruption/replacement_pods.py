"""Pods that had to leave nodes that go, and whose owners have not made others in their place yet."""

import msgspec

from dra_scheduling.basics.times import seconds_of
from dra_scheduling.disruption.candidates import SETTLING_SECONDS
from dra_scheduling.disruption.disruption_view import DisruptionView
from dra_scheduling.inventory.replacements import is_to_go
from dra_scheduling.model.base import Value
from dra_scheduling.model.pods import Pod


class Lost(Value, frozen=True):
    """A pod that an owner has lost, and until when (seconds since 1970) another one may be expected."""

    owner: str
    until: float


class SuccessorsState(Value, frozen=True, kw_only=True):
    """Everything that is remembered, for a snapshot."""

    leaving: dict[str, Pod] = msgspec.field(default_factory=dict)
    lost: tuple[Lost, ...] = ()
    known: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


class Successors:
    """Who is expected, as somebody knows who looks from time to time.

    The room of such pods is nobody's: they are gone, and what comes in their place is not there. Owners make it at
    once, or never; so it is waited for a short time only.
    """

    __slots__ = ("_known", "_leaving", "_lost")

    def __init__(self, state: SuccessorsState = SuccessorsState()) -> None:  # noqa: B008  it is frozen
        self._leaving = dict(state.leaving)
        self._lost = list(state.lost)
        self._known = {owner: frozenset(uids) for owner, uids in state.known.items()}

    @property
    def state(self) -> SuccessorsState:
        """The state from which another one can be made."""
        known = {owner: tuple(sorted(uids)) for owner, uids in self._known.items()}
        return SuccessorsState(leaving=dict(self._leaving), lost=tuple(self._lost), known=known)

    def look(self, outlook: DisruptionView, now: float) -> None:
        """Take note of how things stand."""
        leaving = {
            pod.metadata.uid: pod
            for claim in outlook.cluster.inventory.claims.values()
            if is_to_go(claim)
            for pod in outlook.moving_from(claim.status.node_name)
            if _owner_of(pod)
        }
        for uid, pod in self._leaving.items():
            if uid not in leaving and (end := _end_of(outlook, pod, now)) is not None:
                self._lost.append(Lost(_owner_of(pod), end))
        self._leaving = leaving
        owners = {_owner_of(pod) for pod in leaving.values()} | {one.owner for one in self._lost}
        pods = _pods_of(outlook, owners)
        for owner, uids in pods.items():
            self._found(owner, len(uids - self._known.get(owner, uids)))
        self._lost = [one for one in self._lost if now < one.until]
        self._known = pods

    @property
    def are_expected(self) -> bool:
        """Whether any are, as of the last look."""
        return bool(self._lost)

    def _found(self, owner: str, count: int) -> None:
        for one in [one for one in self._lost if one.owner == owner][:count]:
            self._lost.remove(one)


def _end_of(outlook: DisruptionView, pod: Pod, now: float) -> float | None:
    """Return until when another one may be expected, None if the pod has ended by itself, or stays."""
    found = outlook.cluster.pod(pod.key)
    if found is None or found.metadata.uid != pod.metadata.uid:
        return now + SETTLING_SECONDS
    if found.metadata.is_deleting:
        return max(now, seconds_of(found.metadata.deletion_timestamp)) + SETTLING_SECONDS
    return None


def _pods_of(outlook: DisruptionView, owners: set[str]) -> dict[str, frozenset[str]]:
    if not owners:
        return {}
    found: dict[str, set[str]] = {owner: set() for owner in owners}
    for pod in outlook.cluster.placements.pods.values():
        if (owner := _owner_of(pod)) in found:
            found[owner].add(pod.metadata.uid)
    return {owner: frozenset(uids) for owner, uids in found.items()}


def _owner_of(pod: Pod) -> str:
    controller = pod.metadata.controller
    return controller.uid if controller is not None else ""
