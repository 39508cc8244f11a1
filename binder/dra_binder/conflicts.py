"""Which claim keeps a device that two claims hold.

The API server protects claims, never devices, so two schedulers can give one device to two claims. After the claims of
a bind are written they are compared with all others. Every pair of claims has one winner, the same whoever asks; the
loser undoes its bind before the Binding, and the winner waits until it has. Whichever of two such binds writes last
sees the other one, so they cannot both go on.
"""

from collections.abc import Iterable

import msgspec

from dra_binder.allocations import clash, consumer_keys, devices_of
from dra_binder.ports import View
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.pods import Pod


class Conflict(msgspec.Struct, frozen=True):
    """Another claim that holds a device of ours, and whether ours has to give way."""

    ours: ResourceClaim
    theirs: ResourceClaim
    device: DeviceID
    is_lost: bool

    def __str__(self) -> str:
        return f"device {self.device} of claim {self.ours.key} is also held by claim {self.theirs.key}"


def find_conflict(claims: Iterable[ResourceClaim], view: View, scheduler_name: str) -> Conflict | None:
    """Return a conflict of the claims with any other one, a lost one if there is one."""
    won: Conflict | None = None
    for ours in claims:
        for theirs in _rivals(ours, view):
            device = clash(ours.status.allocation, theirs.status.allocation)
            if device is None:
                continue
            if _rank(theirs, view, scheduler_name) < _rank(ours, view, scheduler_name):
                return Conflict(ours, theirs, device, is_lost=True)
            won = Conflict(ours, theirs, device, is_lost=False)
    return won


def _rivals(ours: ResourceClaim, view: View) -> Iterable[ResourceClaim]:
    for device in devices_of(ours.status.allocation):
        for claim in view.claims_holding(device):
            if claim.metadata.uid != ours.metadata.uid:
                yield claim


def _rank(claim: ResourceClaim, view: View, scheduler_name: str) -> tuple[bool, bool, str, str]:
    """Lower wins: a bound pod's claim, a foreign one (its owner may never look back), the earlier, the smaller UID."""
    pods = [pod for key, uid in consumer_keys(claim) if (pod := view.pod(key)) is not None and pod.metadata.uid == uid]
    is_waiting = not any(pod.spec.node_name for pod in pods)
    is_ours = any(_is_ours(pod, scheduler_name) for pod in pods)
    return is_waiting, is_ours, claim.metadata.creation_timestamp, claim.metadata.uid


def _is_ours(pod: Pod, scheduler_name: str) -> bool:
    return pod.spec.scheduler_name == scheduler_name
