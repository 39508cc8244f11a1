"""The devices that an instance type would give to the claims of a pod."""

import msgspec

from dra_scheduling.basics.requirements import Requirement, Requirements
from dra_scheduling.devices.compatibility_groups import Memberships
from dra_scheduling.devices.consumable_capacity import Amounts
from dra_scheduling.devices.ledger import Charge
from dra_scheduling.model.ids import DeviceID


class DeviceUse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A device, or with `consumed` a share of it, for one request.

    `request` is the name as results write it: `request` or `request/alternative`. Two instance types may promise
    different template devices under one id. `charge` is what the device draws from the counters of its pool, and
    `memberships` say with whom it does. It is held only if the candidate comes to be in the `place`.
    """

    request: str
    device: DeviceID
    is_template: bool
    consumed: Amounts | None = None
    is_admin: bool = False
    charge: Charge = ()
    memberships: Memberships = ()
    place: tuple[Requirement, ...] = ()

    def is_within(self, requirements: Requirements) -> bool:
        """Whether the device is held if the candidate comes to be under these requirements."""
        return not self.place or requirements.conflict(self.place) is None


class ClaimServed(msgspec.Struct, frozen=True, kw_only=True):
    """What one instance type gives to one claim.

    `requirements` say which nodes reach the devices; with `is_bound` they are of the candidate itself, and no other
    node ever reaches them.
    """

    uses: tuple[DeviceUse, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    is_bound: bool = False


class TypeServed(msgspec.Struct, frozen=True, kw_only=True):
    """What one instance type gives: one entry a searched claim, and the alternative chosen for every request."""

    name: str
    claims: tuple[ClaimServed, ...] = ()
    choice: tuple[int, ...] = ()
