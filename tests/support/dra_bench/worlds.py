"""Worlds of one node in which a search that goes through all combinations does not end, each with how it is named.

Equal requests, one count too many, groups of one value, a request that nothing fits after one with many choices,
alternatives, and partitions that stand in the way of whole devices.
"""

from collections.abc import Iterator

import msgspec

from dra_bench.fleets import GPUS, partitions
from dra_builders.values import (
    GPU_DRIVER,
    NIC_DRIVER,
    claim_spec,
    device,
    devices,
    driver_class,
    match_attribute,
    request,
    resource_slice,
)
from dra_scheduling.model.claims import DeviceRequest, DeviceSubRequest, ResourceClaimSpec
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.wire import read_as

NODE = "n"
CLASSES = {name: driver_class(name) for name in (GPU_DRIVER, NIC_DRIVER)}
ROOT = "resource.kubernetes.io/pcieRoot"
TARGET_IMPOSSIBLE = 50.0
TARGET_SOLVABLE = 5.0


class World(msgspec.Struct, frozen=True, kw_only=True):
    """Slices of one node and the claims of a pod; `target` is in milliseconds, None for sizes that only compare."""

    name: str
    slices: tuple[ResourceSlice, ...]
    specs: tuple[ResourceClaimSpec, ...]
    target: float | None = TARGET_IMPOSSIBLE


def worlds() -> Iterator[World]:
    """Yield all worlds; the first size of each kind is one that Kubernetes' allocator finishes."""
    for count in (9, 11, 16, 32):
        singles = claim_spec(*(request(f"r{number}") for number in range(count)))
        yield _world(f"T1: {count} requests, {count - 1} devices", gpus(count - 1), singles, demanded=count >= 11)
    for count in (20, 22, 32):
        many = claim_spec(request(count=count))
        yield _world(f"T2: count {count}, {count - 1} devices", gpus(count - 1), many, demanded=count >= 22)
    for size in (12, 18):
        name = f"T3: {size + 1} of one root, two roots of {size}"
        agreeing = claim_spec(request(count=size + 1), constraints=[match_attribute(ROOT)])
        yield _world(name, _two_roots(size), agreeing, demanded=size >= 18)
    for count in (4, 8):
        name = f"T4: {count} of 32, then a request that nothing fits"
        yield _world(name, gpus(32), claim_spec(request(count=count), request("nic", NIC_DRIVER)), demanded=count >= 8)
    for count in (6, 16):
        name = f"T5: {count} pairs of one root, {count - 1} partners"
        yield World(name=name, slices=_both_sides(count), specs=(_pair(),) * count)
    yield _world("T6: 7 requests of 8 alternatives, then one that nothing fits", gpus(32), _alternatives(7))
    for count in (2, 5):
        name = f"T7: {count} small partitions, then 8 whole devices"
        yield _world(name, _partitioned(), _parts_and_whole(count), demanded=count >= 5)
    solvable = claim_spec(request(count=32))
    yield World(name="T8: 32 of 128", slices=gpus(128), specs=(solvable,), target=TARGET_SOLVABLE)


def gpus(count: int) -> tuple[ResourceSlice, ...]:
    """Return plain devices of the node."""
    return (resource_slice("s", devices(count), node=NODE),)


def _world(name: str, slices: tuple[ResourceSlice, ...], spec: ResourceClaimSpec, *, demanded: bool = True) -> World:
    return World(name=name, slices=slices, specs=(spec,), target=TARGET_IMPOSSIBLE if demanded else None)


def _two_roots(size: int) -> tuple[ResourceSlice, ...]:
    roots = [device(f"g{number}", attributes={ROOT: f"r{number % 2}"}) for number in range(size * 2)]
    return (resource_slice("s", roots, node=NODE),)


def _both_sides(count: int) -> tuple[ResourceSlice, ...]:
    roots = [{ROOT: f"r{number}"} for number in range(count)]
    near = [device(f"g{number}", attributes=root) for number, root in enumerate(roots)]
    far = [device(f"n{number}", attributes=root) for number, root in enumerate(roots[1:])]
    return resource_slice("g", near, node=NODE), resource_slice("n", far, driver=NIC_DRIVER, node=NODE)


def _pair() -> ResourceClaimSpec:
    return claim_spec(request("gpu"), request("nic", NIC_DRIVER), constraints=[match_attribute(ROOT)])


def _alternatives(count: int) -> ResourceClaimSpec:
    wishes = tuple(DeviceSubRequest(name=f"a{number}", device_class_name=GPU_DRIVER) for number in range(8))
    listed = (DeviceRequest(name=f"r{number}", first_available=wishes) for number in range(count))
    return claim_spec(*listed, request("nic", NIC_DRIVER))


def _partitioned() -> tuple[ResourceSlice, ...]:
    return tuple(read_as(ResourceSlice, piece) for piece in partitions(NODE))


def _parts_and_whole(count: int) -> ResourceClaimSpec:
    kind = f'device.attributes["{GPU_DRIVER}"].kind == "{{}}"'
    parts = (request(f"r{number}", GPU_DRIVER, kind.format("quarter")) for number in range(count))
    return claim_spec(*parts, request("whole", GPU_DRIVER, kind.format("whole"), count=GPUS))
