"""Which pods a NodeClaim was made for, as it is written on the NodeClaim itself.

One write makes the node and says for whom, so that no crash comes between the two and a restart knows what this
process knew.
"""

from collections.abc import Iterable

import msgspec

from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Pod

NOMINATED_PODS = "dra-scheduler.dev/nominated-pods"
REQUESTED_DRIVERS = "karpenter.sh/requested-dra-drivers"


class Nominee(msgspec.Struct, frozen=True, order=True):
    """A pod by name and uid."""

    key: ObjectKey
    uid: str

    @classmethod
    def of(cls, pod: Pod) -> "Nominee":
        """Return the pod's."""
        return cls(pod.key, pod.metadata.uid)


def nominees_of(claim: NodeClaim) -> tuple[Nominee, ...]:
    """Return the pods that the NodeClaim names, in the order of their planning; what cannot be read names nobody."""
    text = claim.metadata.annotations.get(NOMINATED_PODS, "")
    try:
        written = msgspec.json.decode(text, type=list[str]) if text else []
    except msgspec.DecodeError:
        return ()
    parts = (entry.split("/") for entry in written)
    return tuple(Nominee(ObjectKey(part[0], part[1]), part[2]) for part in parts if len(part) == 3)  # noqa: PLR2004


def place_in(claim: NodeClaim, pod: Pod) -> int:
    """Return the pod's turn among those that the NodeClaim names, from 0 on; 0 as well where it is not named."""
    uids = [one.uid for one in nominees_of(claim)]
    return uids.index(pod.metadata.uid) if pod.metadata.uid in uids else 0


def nominees_text(nominees: Iterable[Nominee]) -> str:
    """Return the value of the annotation."""
    entries = [f"{one.key.namespace}/{one.key.name}/{one.uid}" for one in nominees]
    return msgspec.json.encode(entries).decode()


def requested_drivers(claim: NodeClaim) -> tuple[str, ...]:
    """Return the drivers whose devices have to appear on the node itself."""
    parts = claim.metadata.annotations.get(REQUESTED_DRIVERS, "").split(",")
    return tuple(name for part in parts if (name := part.strip()))
