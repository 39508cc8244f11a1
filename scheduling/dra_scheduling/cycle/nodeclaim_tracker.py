"""What becomes of NodeClaims that pods wait for: which are over, which never got a machine, which nobody needs."""

from collections.abc import Iterator

import msgspec

from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.messages import not_launched
from dra_scheduling.cycle.queue import backoff
from dra_scheduling.inventory import Nominee, nominees_of
from dra_scheduling.model.base import Value
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.provisioning import has_failed, is_double, is_in_flight, was_never_launched
from dra_scheduling.state.assignments import Unschedulable

ARRIVAL_SECONDS = 10.0
"""So long pods wait for what the drivers of their initialized node publish before another node is made.

That a node is initialized may be seen before its devices, or on its NodeClaim before the node itself.
"""


class TrackerState(Value, frozen=True, kw_only=True):
    """Everything that is remembered, for a snapshot."""

    over: tuple[str, ...] = ()
    arriving: dict[str, float] = msgspec.field(default_factory=dict)
    unlaunched: dict[str, int] = msgspec.field(default_factory=dict)
    doubtful: tuple[str, ...] = ()


class NodeClaimTracker:
    """Follows the NodeClaims of a cluster. `arriving` says by pod until when no other node is made for it."""

    __slots__ = ("_cluster", "_doubtful", "_over", "_unlaunched", "arriving")

    def __init__(self, cluster: Cluster, state: TrackerState = TrackerState()) -> None:  # noqa: B008  it is frozen
        self._cluster = cluster
        self._over = set(state.over)
        self.arriving = dict(state.arriving)
        # What a provider cannot launch it may refuse for hours, while its types are still said to be available.
        self._unlaunched = dict(state.unlaunched)
        self._doubtful = dict.fromkeys(state.doubtful)

    @property
    def state(self) -> TrackerState:
        """The state from which another one can be made."""
        return TrackerState(
            over=tuple(sorted(self._over)),
            arriving=dict(self.arriving),
            unlaunched=dict(self._unlaunched),
            doubtful=tuple(self._doubtful),
        )

    @property
    def has_doubtful(self) -> bool:
        """Whether there are NodeClaims that nobody may need."""
        return bool(self._doubtful)

    def doubt(self, claim: NodeClaim) -> None:
        """Take note of a NodeClaim that may have been made for pods which wait for an older one."""
        if is_double(self._cluster, claim):
            self._doubtful[claim.name] = None

    def take_doubles(self) -> tuple[NodeClaim, ...]:
        """Return the NodeClaims that were made for pods which wait for older ones, each once."""
        known = (self._cluster.inventory.claims.get(name) for name in self._doubtful)
        doubles = tuple(claim for claim in known if claim is not None and is_double(self._cluster, claim))
        self._doubtful.clear()
        return doubles

    def forget(self, uid: str) -> None:
        """Forget a pod that is placed, or gone."""
        self._unlaunched.pop(uid, None)
        self.arriving.pop(uid, None)

    def is_over(self, name: str) -> bool:
        """Whether the NodeClaim is not on its way any more."""
        claim = self._cluster.inventory.claims.get(name)
        if claim is None or is_in_flight(self._cluster, claim):
            self._over.discard(name)
            return claim is None
        return True

    def end(self, name: str, now: float) -> tuple[Unschedulable, ...]:
        """Take note, once, that a NodeClaim is over; return what its pods are told that have to wait for a retry."""
        claim = self._cluster.inventory.claims.get(name)
        if claim is None or name in self._over:
            return ()
        self._over.add(name)
        refused = tuple(self._back_off(claim, now)) if was_never_launched(claim) else ()
        if not claim.metadata.is_deleting and not has_failed(claim):
            until = now + ARRIVAL_SECONDS
            self.arriving |= {one.uid: until for one in nominees_of(claim) if self._is_waiting(one)}
        return refused

    def _back_off(self, claim: NodeClaim, now: float) -> Iterator[Unschedulable]:
        """Let pods wait whose NodeClaims cannot be launched, longer each time; after the first one they do not."""
        for nominee in filter(self._is_waiting, nominees_of(claim)):
            before = self._unlaunched.get(nominee.uid, 0)
            self._unlaunched[nominee.uid] = before + 1
            pod = self._cluster.pod(nominee.key)
            if before and pod is not None:
                self.arriving[nominee.uid] = now + backoff(before)
                yield not_launched(pod, claim)

    def _is_waiting(self, nominee: Nominee) -> bool:
        pod = self._cluster.pod(nominee.key)
        return pod is not None and pod.metadata.uid == nominee.uid and self._cluster.is_pending(pod)
