"""Pools: which slices count, whether they are all there, and which node reaches which device."""

import itertools

import pytest
from msgspec.structs import replace

from dra_builders.values import (
    GPU_DRIVER,
    NIC_DRIVER,
    device,
    devices,
    labelled,
    on_node,
    per_device_slice,
    pool,
    resource_slice,
)
from dra_scheduling.devices import EVERY_NODE, NO_NODE, NodePlace, PoolIndex, PoolOnNode, Reach
from dra_scheduling.model.ids import DeviceID, PoolKey
from dra_scheduling.model.node_selectors import NodeSelector, NodeSelectorTerm
from dra_scheduling.model.slices import ResourceSlice

N1 = NodePlace("n1", {"zone": "a"})
N2 = NodePlace("n2", {"zone": "b"})


def index_of(*slices: ResourceSlice) -> PoolIndex:
    index = PoolIndex()
    for piece in slices:
        index.apply(piece)
    return index


def names(view: PoolOnNode) -> list[str]:
    return [view.device(number).name for number in range(view.width) if view.everything >> number & 1]


def seen(index: PoolIndex, place: NodePlace) -> dict[str, list[str]]:
    """The devices that may be handed out on a node, by pool."""
    return {str(view.key): names(view) for view in index.on_node(place) if view.pool.problem is None}


def problem(index: PoolIndex) -> str:
    ((_, found),) = index.problems()
    return f"{found.reason}: {found.text}"


def test_a_slice_of_a_node_is_seen_from_that_node_only() -> None:
    index = index_of(resource_slice("s", devices(2), node="n1"))
    assert seen(index, N1) == {"gpu.example.com/n1": ["gpu-0", "gpu-1"]}
    assert seen(index, N2) == {}


def test_pools_of_one_name_belong_to_their_drivers() -> None:
    index = index_of(
        resource_slice("b", [device("x")], node="n1", driver=NIC_DRIVER),
        resource_slice("a", [device("x")], node="n1", driver=GPU_DRIVER),
    )
    assert seen(index, N1) == {"gpu.example.com/n1": ["x"], "nic.example.com/n1": ["x"]}


def test_devices_come_by_slice_name_and_then_in_slice_order_whatever_came_first() -> None:
    parts = [
        resource_slice("b", [device("z"), device("a")], node="n1", pool=pool("p", slices=2)),
        resource_slice("a", [device("m")], node="n1", pool=pool("p", slices=2)),
    ]
    for order in itertools.permutations(parts):
        assert seen(index_of(*order), N1) == {"gpu.example.com/p": ["m", "z", "a"]}


def test_a_selector_lets_the_nodes_of_its_term_in() -> None:
    index = index_of(resource_slice("s", devices(1), selector=labelled(zone="a")))
    assert seen(index, N1)
    assert not seen(index, N2)


def test_a_selector_by_node_name_is_honoured() -> None:
    index = index_of(resource_slice("s", devices(1), selector=on_node("n2")))
    assert not seen(index, N1)
    assert seen(index, N2)


@pytest.mark.parametrize("terms", [(), (*labelled(zone="a").node_selector_terms, *labelled(x="y").node_selector_terms)])
def test_a_selector_that_is_not_one_term_closes_its_slice_and_no_other(terms: tuple[NodeSelectorTerm, ...]) -> None:
    index = index_of(
        resource_slice("broken", [device("x")], selector=NodeSelector(node_selector_terms=terms)),
        resource_slice("sound", [device("y")], node="n1"),
    )
    assert seen(index, N1) == {"gpu.example.com/n1": ["y"]}


def test_a_slice_for_all_nodes_is_seen_from_every_node_as_one_object() -> None:
    index = index_of(resource_slice("s", devices(1)))
    assert index.on_node(N1)[0] is index.on_node(N2)[0]


def test_devices_can_say_themselves_where_they_are() -> None:
    content = [
        replace(device("named"), node_name="n1"),
        replace(device("zoned"), node_selector=labelled(zone="b")),
        replace(device("wide"), all_nodes=True),
        device("nowhere"),
    ]
    index = index_of(per_device_slice("s", content))
    assert seen(index, N1) == {"gpu.example.com/s": ["named", "wide"]}
    assert seen(index, N2) == {"gpu.example.com/s": ["zoned", "wide"]}


def test_completeness_is_judged_before_nodes_are_looked_at() -> None:
    parts = [
        resource_slice("a", [device("x")], node="n1", pool=pool("p", slices=2)),
        resource_slice("b", [device("y")], node="n2", pool=pool("p", slices=2)),
    ]
    index = index_of(*parts)
    assert seen(index, N1) == {"gpu.example.com/p": ["x"]}
    index.remove("b")
    assert seen(index, N1) == {}
    assert problem(index) == "PoolIncomplete: it is being updated, 1 of 2 slices of generation 1 seen"


def test_more_slices_than_declared_are_no_complete_pool() -> None:
    index = index_of(resource_slice("a", [device("x")], pool="p"), resource_slice("b", [device("y")], pool="p"))
    assert problem(index) == "PoolIncomplete: it is being updated, 2 of 1 slices of generation 0 seen"


def test_only_the_newest_generation_of_the_cluster_counts() -> None:
    old = resource_slice("old", [device("old")], node="n1", pool=pool("p", generation=1))
    new = resource_slice("new", [device("new")], node="n2", pool=pool("p", generation=2))
    for order in itertools.permutations([old, new]):
        index = index_of(*order)
        assert seen(index, N1) == {}
        assert seen(index, N2) == {"gpu.example.com/p": ["new"]}


def test_an_old_generation_counts_again_when_the_newer_one_goes() -> None:
    index = index_of(
        resource_slice("old", [device("old")], node="n1", pool=pool("p", generation=1)),
        resource_slice("new", [device("new")], node="n1", pool=pool("p", generation=2)),
    )
    index.remove("new")
    assert seen(index, N1) == {"gpu.example.com/p": ["old"]}


def test_a_driver_may_start_again_with_generation_one() -> None:
    index = index_of(resource_slice("s", [device("old")], node="n1", pool=pool("p", generation=6)))
    index.apply(resource_slice("s", [device("new")], node="n1", pool=pool("p", generation=1)))
    assert seen(index, N1) == {"gpu.example.com/p": ["new"]}


def test_generations_are_never_mixed_while_a_pool_is_replaced_slice_by_slice() -> None:
    index = index_of(
        *(resource_slice(name, [device(f"old-{name}")], node="n1", pool=pool("p", slices=2)) for name in "ab")
    )
    index.apply(resource_slice("a", [device("new-a")], node="n1", pool=pool("p", generation=2, slices=2)))
    assert seen(index, N1) == {}
    index.apply(resource_slice("b", [device("new-b")], node="n1", pool=pool("p", generation=2, slices=2)))
    assert seen(index, N1) == {"gpu.example.com/p": ["new-a", "new-b"]}


def test_slices_that_disagree_on_their_number_make_a_pool_invalid_in_any_order() -> None:
    parts = [
        resource_slice("a", [device("x")], pool=pool("p", generation=3, slices=2)),
        resource_slice("b", [device("y")], pool=pool("p", generation=3, slices=3)),
    ]
    for order in itertools.permutations(parts):
        assert problem(index_of(*order)) == "PoolInvalid: its slices disagree on resourceSliceCount (2, 3)"
    cured = index_of(*parts, resource_slice("c", [device("z")], pool=pool("p", generation=4)))
    assert seen(cured, N1) == {"gpu.example.com/p": ["z"]}


def test_two_devices_of_one_name_make_a_pool_invalid() -> None:
    index = index_of(
        resource_slice("a", [device("x")], pool=pool("p", slices=2)),
        resource_slice("b", [device("x")], pool=pool("p", slices=2)),
    )
    assert problem(index) == "PoolInvalid: it has two devices called x"
    index.apply(resource_slice("b", [device("y")], pool=pool("p", slices=2)))
    assert index.problems() == ()


def test_a_name_used_twice_in_one_slice_makes_its_pool_invalid() -> None:
    index = index_of(resource_slice("a", [device("x"), device("x")], pool="p"))
    assert problem(index) == "PoolInvalid: it has two devices called x"
    index.apply(resource_slice("a", [device("x")], pool="p"))
    assert index.problems() == ()


def test_a_pool_in_trouble_is_shown_on_the_nodes_of_its_old_slices_too() -> None:
    index = index_of(
        resource_slice("a", [device("x")], node="n1", pool=pool("p", generation=1, slices=2)),
        resource_slice("b", [device("y")], node="n2", pool=pool("p", generation=2, slices=2)),
    )
    (view,) = index.on_node(N1)
    assert (view.key, view.everything) == (PoolKey(GPU_DRIVER, "p"), 0)
    assert view.pool.problem is not None


def test_a_change_concerns_the_nodes_of_the_slice_before_and_after() -> None:
    index = index_of(resource_slice("s", devices(1), node="n1", pool="p"))
    assert index.apply(resource_slice("s", devices(1), node="n2", pool="p")) == Reach(frozenset({"n1", "n2"}))
    assert index.remove("s") == Reach(frozenset({"n2"}))
    assert index.remove("s") == NO_NODE


def test_a_slice_by_selector_may_concern_every_node() -> None:
    assert PoolIndex().apply(resource_slice("s", devices(1), selector=labelled(zone="a"))) == EVERY_NODE


def test_a_change_without_content_concerns_nobody() -> None:
    piece = resource_slice("s", devices(1), node="n1")
    index = index_of(piece)
    newer = replace(piece, metadata=replace(piece.metadata, resource_version="2"))
    assert index.apply(newer) == NO_NODE


def test_the_slice_that_completes_a_pool_concerns_all_of_its_nodes() -> None:
    index = index_of(resource_slice("a", [device("x")], node="n1", pool=pool("p", slices=2)))
    reach = index.apply(resource_slice("b", [device("y")], node="n2", pool=pool("p", slices=2)))
    assert reach == Reach(frozenset({"n1", "n2"}))
    assert index.reach_of(PoolKey(GPU_DRIVER, "p")) == reach


def test_a_nodes_pools_are_kept_until_one_of_them_changes() -> None:
    index = index_of(resource_slice("s1", devices(1), node="n1"), resource_slice("s2", devices(1), node="n2"))
    before = index.on_node(N1)
    index.apply(resource_slice("s2", devices(2), node="n2"))
    assert index.on_node(N1) is before
    index.apply(resource_slice("s1", devices(2), node="n1"))
    assert seen(index, N1) == {"gpu.example.com/n1": ["gpu-0", "gpu-1"]}


def test_a_forgotten_node_is_looked_at_again_with_its_new_labels() -> None:
    index = index_of(resource_slice("s", devices(1), selector=labelled(zone="b")))
    assert not seen(index, N1)
    index.forget_node("n1")
    assert seen(index, NodePlace("n1", {"zone": "b"}))


def test_a_published_device_is_found_and_its_reach_known() -> None:
    index = index_of(resource_slice("s", devices(2), node="n1"))
    known, unknown = DeviceID(GPU_DRIVER, "n1", "gpu-1"), DeviceID(GPU_DRIVER, "n1", "gpu-2")
    assert index.device(known) == device("gpu-1")
    assert index.device(unknown) is None
    assert index.is_reachable(known, N1)
    assert not index.is_reachable(known, N2)
    assert not index.is_reachable(unknown, N1)
