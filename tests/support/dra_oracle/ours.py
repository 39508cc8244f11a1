"""Our library's answer to a world."""

import msgspec

from dra_oracle.parts import Part
from dra_oracle.world import GATES, Json, World
from dra_scheduling.allocation.allocation_outcomes import Allocated, Exhausted
from dra_scheduling.allocation.allocation_results import with_share_ids
from dra_scheduling.allocation.allocator import allocate, fulfil, survey
from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.basics.features import Features
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger, Source
from dra_scheduling.devices.ledger_entries import held_by
from dra_scheduling.model.claims import AllocationResult, ResourceClaim
from dra_scheduling.model.device_taint_rules import DeviceTaintRule
from dra_scheduling.model.slices import DeviceClass, ResourceSlice
from dra_scheduling.wire.objects import read_as, write_value

OTHERS = (NodePlace("node-2", {"zone": "b"}), NodePlace("node-4", {}))
"""Nodes that are asked before, so that what is kept of them could mislead."""
SUPPORTED = frozenset(Part)
"""What worlds may have for the library to answer them."""


class Ours(msgspec.Struct, frozen=True, kw_only=True):
    """`verdict` is allocated, impossible, refused (on every node), exhausted or inconsistent."""

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
    features = Features.of({gate: name in world.features for name, gate in GATES.items()})
    claims = [read_as(ResourceClaim, each) for each in world.claims]
    parsed = _parsed(world, claims, features)
    if isinstance(parsed, Refusal):
        return Ours(verdict="refused", text=parsed.message)
    index, ledger = _cluster(world, features)
    metadata = world.node["metadata"]
    place = NodePlace(metadata["name"], metadata.get("labels", {}))
    found = allocate(parsed, place, index, ledger)
    query = ClaimQuery(parsed)
    for other in (*OTHERS, NodePlace("node-3", place.labels)):
        survey(query, other, index, ledger)
    again = fulfil(query, place, index, ledger)
    if msgspec.structs.replace(again, steps=found.steps) != found:
        return Ours(verdict="inconsistent", text=f"{found}, and after other nodes were asked {again}")
    if isinstance(found, Allocated):
        written = [
            write_value(with_share_ids(value, claim.metadata.uid or claim.metadata.name))
            for value, claim in zip(found.allocations, claims, strict=True)
        ]
        # Written and read again, as the API server gets it.
        plain = msgspec.json.decode(msgspec.json.encode(written), type=tuple[Json, ...])
        return Ours(verdict="allocated", steps=found.steps, allocations=plain)
    verdict = "exhausted" if isinstance(found, Exhausted) else "impossible"
    return Ours(verdict=verdict, text=found.refusal.message, steps=found.steps)


def _parsed(world: World, claims: list[ResourceClaim], features: Features) -> list[ParsedClaim] | Refusal:
    classes = {each["metadata"]["name"]: read_as(DeviceClass, each) for each in world.classes}
    parsed = []
    for claim in claims:
        found = parse_claim(claim.metadata.name, claim.spec, classes, features)
        if isinstance(found, Refusal):
            return found
        parsed.append(found)
    return parsed


def _cluster(world: World, features: Features) -> tuple[PoolIndex, Ledger]:
    index, ledger = PoolIndex(features), Ledger()
    for piece in world.slices:
        index.apply(read_as(ResourceSlice, piece))
    for rule in world.rules:
        index.apply_rule(read_as(DeviceTaintRule, rule))
    for number, result in enumerate(world.held):
        holder = f"held-{number}"
        held = held_by(holder, read_as(AllocationResult, {"devices": {"results": [result]}}))
        ledger.hold(Source("claim", holder), holder, held.devices, held.shares)
    return index, ledger
