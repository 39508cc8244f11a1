"""The gate alone: which slices of a node open it, and what it says as long as it is shut."""

import pytest

from dra_builders.values import GPU_DRIVER, NIC_DRIVER, devices, labelled, pool, resource_slice
from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.nodeclaims import NodeSlices, published_devices, shut_by
from dra_scheduling.nodeclaims.initialization_gate import EMPTY, NOT_PUBLISHED

NODE = "n1"


def piece(name: str, count: int = 1, *, of: int = 1, generation: int = 1, driver: str = GPU_DRIVER) -> ResourceSlice:
    """One slice of the node's pool, with devices of its own."""
    content = devices(count, prefix=f"{name}-")
    home = pool(NODE, generation=generation, slices=of)
    return resource_slice(name, content, driver=driver, pool=home, node=NODE)


def index(*slices: ResourceSlice) -> NodeSlices:
    found = NodeSlices()
    for one in slices:
        found.apply(one)
    return found


def reason(slices: NodeSlices, *drivers: str) -> str:
    shut = shut_by(drivers or (GPU_DRIVER,), NODE, slices)
    return "open" if shut is None else shut.reason


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        ((), NOT_PUBLISHED),
        ((piece("a", of=3),), NOT_PUBLISHED),
        ((piece("a", of=3), piece("b", of=3), piece("c", of=3)), "open"),
        ((piece("a", 0),), EMPTY),
        ((piece("a", 0, of=2), piece("b", of=2)), "open"),
        ((piece("a", of=2), piece("b", of=3)), NOT_PUBLISHED),
        ((piece("a", of=2), piece("b", of=2), piece("c", of=2)), NOT_PUBLISHED),
        ((piece("a", generation=1), piece("b", of=2, generation=2)), NOT_PUBLISHED),
        ((piece("a", of=2), piece("b", generation=2)), "open"),
    ],
    ids=[
        "nothing",
        "one of three",
        "all three",
        "complete and empty",
        "one piece without devices",
        "counts that differ",
        "one too many",
        "half of a newer generation",
        "a whole newer generation",
    ],
)
def test_a_complete_pool_with_devices_opens_the_gate(slices: tuple[ResourceSlice, ...], expected: str) -> None:
    assert reason(index(*slices)) == expected


def test_one_device_in_two_slices_keeps_the_gate_shut() -> None:
    home = pool(NODE, slices=2)
    twice = [resource_slice(name, devices(1, prefix="gpu-"), pool=home, node=NODE) for name in ("a", "b")]

    shut = shut_by((GPU_DRIVER,), NODE, index(*twice))

    assert shut is not None
    assert "has device gpu-0 twice" in shut.message


def test_the_first_driver_that_is_missing_is_named() -> None:
    shut = shut_by((NIC_DRIVER, GPU_DRIVER), NODE, index(piece("a")))

    assert shut is not None
    assert (shut.driver, shut.reason) == (NIC_DRIVER, NOT_PUBLISHED)


def test_one_complete_pool_is_enough_whatever_else_a_driver_has() -> None:
    rest = resource_slice("b", devices(1), pool=pool("another", slices=2), node=NODE)

    assert reason(index(piece("a"), rest)) == "open"


def test_slices_that_others_reach_say_nothing_about_a_node() -> None:
    everywhere = resource_slice("a", devices(1))
    some = resource_slice("b", devices(1), selector=labelled(zone="a"))
    elsewhere = resource_slice("c", devices(1), node="n2")

    assert reason(index(everywhere, some, elsewhere)) == NOT_PUBLISHED


def test_a_slice_that_the_node_owns_is_local_to_it() -> None:
    owner = OwnerReference(api_version="v1", kind="Node", name=NODE, uid="u")
    owned = resource_slice("a", devices(1))
    slices = NodeSlices()

    told = slices.apply(ResourceSlice(metadata=ObjectMeta(name="a", owner_references=(owner,)), spec=owned.spec))

    assert told == {NODE}
    assert reason(slices) == "open"


def test_a_slice_that_moves_is_news_for_both_nodes() -> None:
    slices = index(piece("a"))

    assert slices.apply(resource_slice("a", devices(1), node="n2")) == {NODE, "n2"}
    assert slices.drivers(NODE) == ()
    assert slices.remove("a") == {"n2"}
    assert slices.remove("a") == set()


def test_only_the_newest_generation_is_what_a_driver_has_published() -> None:
    slices = index(piece("a", 2, generation=1), piece("b", 1, generation=2))

    assert published_devices(NODE, GPU_DRIVER, slices).keys() == {"b-0"}
