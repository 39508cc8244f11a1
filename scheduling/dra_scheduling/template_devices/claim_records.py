"""Claims that got devices earlier in this plan, from a candidate that may still become one of several types."""

from collections.abc import Iterable, Mapping

import msgspec

from dra_scheduling.basics.requirements import Requirement, merged
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.template_devices.device_uses import ClaimServed


class ClaimRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What each type of the candidate gives to the claim; types that are not in it cannot serve the claim any more."""

    candidate: str
    by_type: Mapping[str, ClaimServed]

    @property
    def is_bound(self) -> bool:
        """Whether only the candidate itself reaches the devices of one of its types."""
        return any(served.is_bound for served in self.by_type.values())

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What nodes must be like to reach the devices, whichever type comes true."""
        return merged(wanted for served in self.by_type.values() for wanted in served.requirements)

    def without(self, types: Iterable[str]) -> "ClaimRecord | None":
        """Return the record without these types, None where none is left."""
        going = frozenset(types)
        left = {name: served for name, served in self.by_type.items() if name not in going}
        return msgspec.structs.replace(self, by_type=left) if left else None


Records = dict[ObjectKey, ClaimRecord]
