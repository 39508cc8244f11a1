"""What a made-up driver publishes, and its next write: a pool changes as a whole, and the new before the old goes.

Each slice says in annotations what it was made from. So nothing has to be remembered, and a driver that was killed
between two writes goes on where it stopped.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from dra_operator.roles.kwok.behaviour import PREFIX, PoolFaults
from dra_scheduling.instancetypes import Expanded
from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.pods import Node
from dra_scheduling.model.slices import ResourceSlice, ResourceSliceSpec

CONTENT = f"{PREFIX}content"
WITHDRAWALS = f"{PREFIX}withdrawals"
MOST_KEPT = 4096
SOME_NODE = "node"


class Publish(msgspec.Struct, frozen=True):
    """The slice is to be there; `before` is the one of that name, which it takes the place of."""

    slice: ResourceSlice
    before: ResourceSlice | None = None


class Withdraw(msgspec.Struct, frozen=True):
    """The slice is to go."""

    slice: ResourceSlice


class WantedPool(msgspec.Struct, frozen=True, eq=False):
    """The slices of a pool on any node, and a text that tells this content from others."""

    specs: tuple[ResourceSliceSpec, ...] = ()
    content: str = ""
    withdrawals: str = ""


NOTHING = WantedPool()


@lru_cache(maxsize=MOST_KEPT)
def wanted(expanded: Expanded, driver: str, faults: PoolFaults) -> WantedPool:
    """Return what the driver publishes on nodes of a type."""
    if faults.is_unpublished:
        return NOTHING
    slices = expanded.slices_for_node(SOME_NODE, node_uid="")
    specs = _faulty(tuple(one.spec for one in slices if one.spec.driver == driver), faults)
    written = msgspec.json.encode((specs, faults.restarts), enc_hook=str, order="sorted")
    return WantedPool(specs, hashlib.sha256(written).hexdigest()[:16], faults.withdrawals)


def next_change(wish: WantedPool, node: Node, found: Iterable[ResourceSlice]) -> Publish | Withdraw | None:
    """Return the next write of a pool on a node, for the slices of it that are there; None where none is due."""
    there = {one.metadata.name: one for one in sorted(found, key=lambda one: one.metadata.name)}
    gone = next((one for one in there.values() if not wish.specs or _is_of_former_life(one, wish, node)), None)
    if gone is not None or not wish.specs:
        return None if gone is None else Withdraw(gone)
    generation = max((one.spec.pool.generation for one in there.values()), default=1)
    newest = [one for one in there.values() if one.spec.pool.generation == generation]
    if any(one.metadata.annotations.get(CONTENT) != wish.content for one in newest):
        generation += 1
    for number, spec in enumerate(wish.specs):
        new = _on(node, number, spec, wish, generation)
        before = there.pop(new.metadata.name, None)
        if before is None or before.spec.pool.generation != generation:
            return Publish(new, before)
    return next((Withdraw(one) for one in there.values()), None)


def is_made_up(value: ResourceSlice) -> bool:
    """Whether the slice was published here."""
    return CONTENT in value.metadata.annotations


def _is_of_former_life(one: ResourceSlice, wish: WantedPool, node: Node) -> bool:
    is_of_node = any(owner.uid == node.metadata.uid for owner in one.metadata.owner_references)
    return not is_of_node or one.metadata.annotations.get(WITHDRAWALS, "") != wish.withdrawals


def _on(node: Node, number: int, spec: ResourceSliceSpec, wish: WantedPool, generation: int) -> ResourceSlice:
    notes = {CONTENT: wish.content} | ({WITHDRAWALS: wish.withdrawals} if wish.withdrawals else {})
    owner = OwnerReference(api_version="v1", kind="Node", name=node.name, uid=node.metadata.uid, controller=True)
    metadata = ObjectMeta(name=f"{node.name}-{spec.driver}-{number}", annotations=notes, owner_references=(owner,))
    pool = replace(spec.pool, name=node.name, generation=generation)
    return ResourceSlice(metadata=metadata, spec=replace(spec, node_name=node.name, pool=pool))


def _faulty(specs: tuple[ResourceSliceSpec, ...], faults: PoolFaults) -> tuple[ResourceSliceSpec, ...]:
    if faults.is_empty:
        return _counted(tuple(replace(one, devices=(), shared_counters=()) for one in specs[:1]))
    specs = _without_last(specs, faults.missing_devices)
    if faults.has_duplicate_names:
        holders = (one for one in specs if one.devices)
        specs = _counted((*specs, *(replace(one, devices=one.devices[:1]) for one in list(holders)[:1])))
    if faults.has_contradicting_counts:
        more = specs if len(specs) > 1 else (*specs, *(replace(one, devices=()) for one in specs))
        specs = tuple(_with_count(one, len(more) + number) for number, one in enumerate(more))
    if faults.is_incomplete:
        kept = specs[:-1] or specs
        specs = tuple(_with_count(one, max(len(specs), len(kept) + 1)) for one in kept)
    return specs


def _without_last(specs: tuple[ResourceSliceSpec, ...], missing: int) -> tuple[ResourceSliceSpec, ...]:
    if not missing:
        return specs
    left = missing
    kept: list[ResourceSliceSpec] = []
    for one in reversed(specs):
        taken = min(left, len(one.devices))
        left -= taken
        if len(one.devices) > taken or not one.devices or one is specs[0]:
            kept.append(replace(one, devices=one.devices[: len(one.devices) - taken]))
    return _counted(tuple(reversed(kept)))


def _counted(specs: tuple[ResourceSliceSpec, ...]) -> tuple[ResourceSliceSpec, ...]:
    return tuple(_with_count(one, len(specs)) for one in specs)


def _with_count(spec: ResourceSliceSpec, count: int) -> ResourceSliceSpec:
    return replace(spec, pool=replace(spec.pool, resource_slice_count=count))
