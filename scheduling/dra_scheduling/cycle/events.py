"""What the scheduling loop observes: changes of objects, and how its own writes ended."""

from enum import Enum

import msgspec

from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.wire import KubernetesObject


class WriteResult(Enum):
    """How a write to the API server ended."""

    DONE = "Done"
    CONFLICT = "Conflict"
    """HTTP status 409: the object is not as it was when the decision was made."""
    THROTTLED = "Throttled"
    """HTTP status 429: the API server asks for a pause."""
    LOST = "Lost"
    """There was no answer: the write may have been applied."""
    REFUSED = "Refused"
    """Any other error."""
    DROPPED = "Dropped"
    """Nothing was written: the pod is gone, or this replica does not lead any more."""


class ObjectChanged(msgspec.Struct, frozen=True):
    """An object is new or different."""

    value: KubernetesObject


class ObjectRemoved(msgspec.Struct, frozen=True):
    """An object is gone; `value` is how it was last seen."""

    value: KubernetesObject


class BindRequestWrite(msgspec.Struct, frozen=True):
    """The write of a pod's BindRequest has ended."""

    pod: ObjectKey
    uid: str
    result: WriteResult


class NodeClaimWrite(msgspec.Struct, frozen=True):
    """The write of a NodeClaim that was to be created or extended has ended."""

    name: str
    result: WriteResult


class DisruptionWrites(msgspec.Struct, frozen=True):
    """The writes of disruption steps have ended; `created` are the NodeClaims that were created among them."""

    created: frozenset[str]
    result: WriteResult = WriteResult.DONE


class LeadershipChanged(msgspec.Struct, frozen=True):
    """Whether this replica decides from now on."""

    is_leading: bool


class DecideDuration(msgspec.Struct, frozen=True):
    """How many seconds the last call of `decide` took; whoever has no clock leaves it out."""

    seconds: float


Event = (
    ObjectChanged
    | ObjectRemoved
    | BindRequestWrite
    | NodeClaimWrite
    | DisruptionWrites
    | LeadershipChanged
    | DecideDuration
)


def changes_cluster(event: Event) -> bool:
    """Whether nodes may say something else to a pod after the event; a decision that is written counted before."""
    match event:
        case BindRequestWrite(result=WriteResult.DONE) | NodeClaimWrite(result=WriteResult.DONE) | DecideDuration():
            return False
        case _:
            return True
