"""Which allocated claims are planned anew because nobody who stays uses them."""

from collections.abc import Iterable

import msgspec

from dra_scheduling.devices.ledger import Holder
from dra_scheduling.devices.ledger_entries import holder_of
from dra_scheduling.model.claims import ResourceClaim


class Replanning(msgspec.Struct, frozen=True):
    """The uids of the pods that go, and the holders whose devices count as free for that reason.

    One predicate decides about the claim and about its devices, so that a freed device always belongs to a claim that
    is planned anew.
    """

    deleting: frozenset[str] = frozenset()
    holders: frozenset[Holder] = frozenset()

    @classmethod
    def of(cls, deleting: Iterable[str], claims: Iterable[ResourceClaim]) -> "Replanning":
        """Return what follows from these pods going: `claims` are all claims of the cluster."""
        going = frozenset(deleting)
        return cls(going, frozenset(holder_of(claim) for claim in claims if _is_left(claim, going)))

    def concerns(self, claim: ResourceClaim) -> bool:
        """Whether the claim's allocation does not count any more."""
        return _is_left(claim, self.deleting)


NOTHING_GOES = Replanning()


def _is_left(claim: ResourceClaim, going: frozenset[str]) -> bool:
    consumers = claim.status.reserved_for
    return (
        claim.status.allocation is not None
        and bool(consumers)
        and all((user.api_group, user.resource) == ("", "pods") and user.uid in going for user in consumers)
    )
