"""The initialization gate: a node is not ready for pods before its DRA drivers have published what was planned with.

A driver has published when one of its pools on the node is complete, valid, and not empty.
"""

from collections.abc import Iterable

import msgspec

from dra_scheduling.model.slices import Device, ResourceSlice
from dra_scheduling.nodeclaims.node_slices import NodeSlices

NOT_PUBLISHED = "DRADriverPoolsNotPublished"
EMPTY = "DRADriverPoolsEmpty"
TIMEOUT = "DRADriverPoolsTimeout"


class Shut(msgspec.Struct, frozen=True):
    """Why the gate is shut: the reason of the condition `Initialized`, a sentence, and the first missing driver."""

    reason: str
    message: str
    driver: str


def shut_by(drivers: Iterable[str], node: str, slices: NodeSlices) -> Shut | None:
    """Return what keeps the gate of a node shut, None where every driver has published; the first driver is told."""
    for driver in sorted(set(drivers)):
        pools = list(slices.pools(node, driver))
        states = [_state_of(pool) for pool in pools]
        if any(state is None for state in states):
            continue
        empty = next((state for state in states if state is not None and state.reason == EMPTY), None)
        found = empty or next((state for state in states if state is not None), None)
        text = f'DRA driver "{driver}" has not published a complete resource pool'
        if found is None:
            return Shut(NOT_PUBLISHED, f"{text}: no slice of node {node} is there", driver)
        if found.reason == EMPTY:
            return Shut(EMPTY, f'DRA driver "{driver}" has published no devices: {found.message}', driver)
        return Shut(NOT_PUBLISHED, f"{text}: {found.message}", driver)
    return None


def published_devices(node: str, driver: str, slices: NodeSlices) -> dict[str, Device]:
    """Return the devices in the newest generation of the driver's pools on the node, by name."""
    return {
        device.name: device
        for pool in slices.pools(node, driver)
        for one in _newest(pool)
        for device in one.spec.devices
    }


def _state_of(pool: tuple[ResourceSlice, ...]) -> Shut | None:
    newest = _newest(pool)
    first = newest[0].spec.pool
    counts = {one.spec.pool.resource_slice_count for one in newest}
    if len(counts) > 1:
        told = " and ".join(str(count) for count in sorted(counts))
        return Shut(NOT_PUBLISHED, f"slices of pool {first.name} say that there are {told} of them", "")
    wanted = first.resource_slice_count
    if len(newest) != wanted:
        text = f"pool {first.name} has {len(newest)} of {wanted} slices of generation {first.generation}"
        return Shut(NOT_PUBLISHED, text, "")
    names = [device.name for one in newest for device in one.spec.devices]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        return Shut(NOT_PUBLISHED, f"pool {first.name} has device {twice[0]} twice", "")
    if not names:
        return Shut(EMPTY, f"pool {first.name} is complete and empty", "")
    return None


def _newest(pool: tuple[ResourceSlice, ...]) -> tuple[ResourceSlice, ...]:
    generation = max(one.spec.pool.generation for one in pool)
    return tuple(one for one in pool if one.spec.pool.generation == generation)
