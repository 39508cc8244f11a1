"""Which claims keep a device that several hold, or an amount of which they draw more than there is.

The API server protects claims, never devices, so two schedulers can give one device to two claims. After the claims of
a bind are written they are compared with all others. Every pair of claims has one winner, the same whoever asks; the
loser undoes its bind before the Binding, and the winner waits until it has. Whichever of two such binds writes last
sees the other one, so they cannot both go on.

Amounts (capacities of shared devices, counters of pools) go to the claims in the same order, as long as they last.
"""

from collections.abc import Iterable, Iterator

import msgspec

from dra_binder.allocations import clash, consumer_keys, devices_of
from dra_binder.ports import Account, View
from dra_scheduling.model.claims import AllocationResult, ResourceClaim
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.pods import Pod


class Conflict(msgspec.Struct, frozen=True):
    """Another claim that holds what ours does, and whether ours has to give way."""

    ours: ResourceClaim
    theirs: ResourceClaim
    over: DeviceID | Account
    is_lost: bool

    def __str__(self) -> str:
        if isinstance(self.over, Account):
            return f"claims {self.ours.key} and {self.theirs.key} together draw too much of {self.over}"
        return f"device {self.over} of claim {self.ours.key} is also held by claim {self.theirs.key}"


def find_conflict(claims: Iterable[ResourceClaim], view: View, scheduler_name: str) -> Conflict | None:
    """Return a conflict of the claims with any other one, a lost one if there is one."""
    won: Conflict | None = None
    for ours in claims:
        for conflict in (*_clashes(ours, view, scheduler_name), *_overdrafts(ours, view, scheduler_name)):
            if conflict.is_lost:
                return conflict
            won = conflict
    return won


def _clashes(ours: ResourceClaim, view: View, scheduler_name: str) -> Iterator[Conflict]:
    for theirs in _rivals(ours, view):
        device = clash(ours.status.allocation, theirs.status.allocation)
        if device is not None:
            is_lost = _rank(theirs, view, scheduler_name) < _rank(ours, view, scheduler_name)
            yield Conflict(ours, theirs, device, is_lost)


def _rivals(ours: ResourceClaim, view: View) -> Iterable[ResourceClaim]:
    for device in devices_of(ours.status.allocation):
        for claim in view.claims_holding(device):
            if claim.metadata.uid != ours.metadata.uid:
                yield claim


def _overdrafts(ours: ResourceClaim, view: View, scheduler_name: str) -> Iterator[Conflict]:
    allocation = ours.status.allocation
    accounts = {draw.account for draw in view.draws(allocation)} if allocation is not None else set()
    for account in sorted(accounts):
        limit = view.limit(account)
        if limit is not None:
            yield from _overdraft(ours, account, limit, view, scheduler_name)


def _overdraft(
    ours: ResourceClaim, account: Account, limit: int, view: View, scheduler_name: str
) -> Iterator[Conflict]:
    """Yield a conflict if claims draw more from the account than there is, and ours or one behind it has to give way.

    Whoever does not give way counts, even beyond the limit. A claim in use draws nothing more for one more pod.
    """
    drawing = _drawing(ours, account, view)
    if sum({part: amount for _, parts in drawing for part, amount in parts.items()}.values()) <= limit:
        return
    counted: set[str] = set()
    total = 0
    before: ResourceClaim | None = None
    has_ours = False
    ranked = [(_rank(claim, view, scheduler_name), claim, parts) for claim, parts in drawing]
    for (is_waiting, is_ours, *_), claim, parts in sorted(ranked, key=lambda one: one[0]):
        more = sum(amount for part, amount in parts.items() if part not in counted)
        is_over = total + more > limit
        if claim is ours:
            if is_over and is_waiting and before is not None:
                yield Conflict(ours, before, account, is_lost=True)
            if is_over or not is_waiting:
                return
            has_ours = True
        elif is_over and has_ours:
            yield Conflict(ours, claim, account, is_lost=False)
        if not (is_over and is_waiting and is_ours):
            counted.update(parts)
            total += more
            before = claim


def _drawing(ours: ResourceClaim, account: Account, view: View) -> list[tuple[ResourceClaim, dict[str, int]]]:
    """Return the claims that draw from the account, ours among them as we wrote it, and what they draw by part."""
    claims = {claim.metadata.uid: claim for claim in view.claims_drawing(account)} | {ours.metadata.uid: ours}
    drawing = ((claim, drawn(claim.status.allocation, account, view)) for claim in claims.values())
    return [(claim, parts) for claim, parts in drawing if parts]


def drawn(allocation: AllocationResult | None, account: Account, view: View) -> dict[str, int]:
    """Return what the allocation draws from the account, by part."""
    draws = view.draws(allocation) if allocation is not None else ()
    return {draw.part: draw.amount for draw in draws if draw.account == account}


def _rank(claim: ResourceClaim, view: View, scheduler_name: str) -> tuple[bool, bool, str, str]:
    """Lower wins: a bound pod's claim, a foreign one (its owner may never look back), the earlier, the smaller UID."""
    pods = [pod for key, uid in consumer_keys(claim) if (pod := view.pod(key)) is not None and pod.metadata.uid == uid]
    is_waiting = not any(pod.spec.node_name for pod in pods)
    is_ours = any(_is_ours(pod, scheduler_name) for pod in pods)
    return is_waiting, is_ours, claim.metadata.creation_timestamp, claim.metadata.uid


def _is_ours(pod: Pod, scheduler_name: str) -> bool:
    return pod.spec.scheduler_name == scheduler_name
