"""Laws of the pool index: it equals a rebuild from scratch, and the order of events does not matter."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dra_builders.values import device, labelled, per_device_slice, pool, resource_slice
from dra_scheduling.devices import NodePlace, PoolIndex, PoolOnNode
from dra_scheduling.model.ids import PoolKey
from dra_scheduling.model.node_selectors import NodeSelector
from dra_scheduling.model.slices import ResourceSlice

PLACES = (NodePlace("n1", {"zone": "a"}), NodePlace("n2", {"zone": "b"}), NodePlace("n3", {}))
ZONE_A = labelled(zone="a")
BROKEN = NodeSelector()
WHERE = st.sampled_from([("n1", None), ("n2", None), ("", ZONE_A), ("", BROKEN), ("", None)])
NAMES = st.sampled_from(["s1", "s2", "s3", "s4"])
POOLS = st.builds(pool, st.sampled_from(["p", "q"]), generation=st.integers(1, 3), slices=st.integers(1, 3))
DEVICES = st.lists(st.sampled_from(["a", "b", "c"]).map(device), max_size=2)


DRIVERS = st.sampled_from(["x.example", "y.example"])


@st.composite
def whole_slices(draw: st.DrawFn) -> ResourceSlice:
    node, selector = draw(WHERE)
    content = draw(DEVICES)
    return resource_slice(draw(NAMES), content, driver=draw(DRIVERS), pool=draw(POOLS), node=node, selector=selector)


@st.composite
def slices_of_placed_devices(draw: st.DrawFn) -> ResourceSlice:
    places = draw(st.lists(WHERE, max_size=3))
    content = [
        replace(device(f"d{number}"), node_name=node, node_selector=selector, all_nodes=not node and selector is None)
        for number, (node, selector) in enumerate(places)
    ]
    return per_device_slice(draw(NAMES), content, driver=draw(DRIVERS), pool=draw(POOLS))


SLICES = whole_slices() | slices_of_placed_devices()
CHANGES = st.lists(SLICES | NAMES, max_size=14)


def slice_name(piece: ResourceSlice) -> str:
    return piece.metadata.name


def usable(index: PoolIndex, place: NodePlace) -> list[object]:
    """What a node sees, without the number of slices still missing, which says nothing about its devices."""
    views = index.on_node(place)
    return [(*described(view)[:2], view.pool.problem.reason if view.pool.problem else "") for view in views]


def described(view: PoolOnNode) -> tuple[PoolKey, tuple[str, ...], object]:
    names = (view.device(number).name for number in range(view.width) if view.everything >> number & 1)
    return view.key, tuple(names), view.pool.problem


def state(index: PoolIndex) -> list[object]:
    on_nodes = [[described(view) for view in index.on_node(place)] for place in PLACES]
    return [on_nodes, index.problems(), [index.reach_of(key) for key, _ in index.problems()]]


def rebuilt(slices_by_name: dict[str, ResourceSlice]) -> PoolIndex:
    index = PoolIndex()
    for piece in slices_by_name.values():
        index.apply(piece)
    return index


@given(CHANGES)
def test_after_every_change_the_index_equals_one_built_from_what_is_there(changes: list[ResourceSlice | str]) -> None:
    index, present = PoolIndex(), dict[str, ResourceSlice]()
    for change in changes:
        if isinstance(change, str):
            index.remove(change)
            present.pop(change, None)
        else:
            index.apply(change)
            present[slice_name(change)] = change
        assert state(index) == state(rebuilt(present))


@given(
    st.lists(SLICES, max_size=4, unique_by=slice_name).flatmap(
        lambda all_: st.tuples(st.just(all_), st.permutations(all_))
    )
)
def test_the_order_in_which_slices_come_does_not_matter(
    orders: tuple[list[ResourceSlice], list[ResourceSlice]],
) -> None:
    one, other = ({slice_name(piece): piece for piece in order} for order in orders)
    assert state(rebuilt(one)) == state(rebuilt(other))


@given(CHANGES)
def test_a_node_sees_something_else_only_after_a_change_that_concerned_it(changes: list[ResourceSlice | str]) -> None:
    index = PoolIndex()
    for change in changes:
        before = {place.name: usable(index, place) for place in PLACES}
        reach = index.remove(change) if isinstance(change, str) else index.apply(change)
        changed = {place.name for place in PLACES if usable(index, place) != before[place.name]}
        assert all(reach.concerns(name) for name in changed)
