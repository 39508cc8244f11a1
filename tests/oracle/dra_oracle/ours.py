"""Our library's answer to a world."""

import msgspec

from dra_oracle.parts import FIRST_SLICE
from dra_oracle.world import Json, World
from dra_scheduling.allocation.allocator import Allocated, Exhausted, allocate
from dra_scheduling.allocation.claimchecks import UNSUPPORTED
from dra_scheduling.allocation.claimspecs import ParsedClaim, parse_claim
from dra_scheduling.ledger import Ledger, Source
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.slices import DeviceClass, ResourceSlice
from dra_scheduling.pools import NodePlace, PoolIndex
from dra_scheduling.wire.objects import read_as, write_value

BUDGET = 2_000_000
SUPPORTED = FIRST_SLICE
"""What the library can do."""


class Ours(msgspec.Struct, frozen=True, kw_only=True):
    """`verdict` is allocated, impossible, invalid (refused on every node), unsupported or exhausted."""

    verdict: str
    text: str = ""
    steps: int = 0
    allocations: tuple[Json, ...] = ()

    @property
    def is_allocated(self) -> bool:
        """Whether all claims got their devices."""
        return self.verdict == "allocated"


def ours(world: World) -> Ours:
    """What our allocator makes of the world."""
    index, ledger = PoolIndex(), Ledger()
    for piece in world.slices:
        index.apply(read_as(ResourceSlice, piece))
    for number, result in enumerate(world.held):
        if not result.get("adminAccess"):
            ledger.hold(Source("claim", f"held-{number}"), f"held-{number}", [_device_id(result)])
    classes = {each["metadata"]["name"]: read_as(DeviceClass, each) for each in world.classes}
    claims: list[ParsedClaim] = []
    for each in world.claims:
        claim = read_as(ResourceClaim, each)
        parsed = parse_claim(claim.metadata.name, claim.spec, classes)
        if not isinstance(parsed, ParsedClaim):
            return Ours(verdict="unsupported" if parsed.reason == UNSUPPORTED else "invalid", text=parsed.message)
        claims.append(parsed)
    metadata = world.node["metadata"]
    found = allocate(claims, NodePlace(metadata["name"], metadata.get("labels", {})), index, ledger, BUDGET)
    if isinstance(found, Allocated):
        plain: tuple[Json, ...] = tuple(write_value(each) for each in found.allocations)
        return Ours(verdict="allocated", steps=found.steps, allocations=plain)
    verdict = "exhausted" if isinstance(found, Exhausted) else "impossible"
    return Ours(verdict=verdict, text=found.refusal.message, steps=found.steps)


def _device_id(result: Json) -> DeviceID:
    return DeviceID(result["driver"], result["pool"], result["device"])
