from hypothesis import given
from hypothesis import strategies as st

from dra_builders.values import GPU_DRIVER, NIC_DRIVER, pool, resource_slice
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.nodeclaims import NodeSlices

NODES = ("n1", "n2")
DRIVERS = (GPU_DRIVER, NIC_DRIVER)
POOLS = ("p1", "p2")
names = st.sampled_from(("a", "b", "c", "d"))
pieces = st.builds(
    lambda name, driver, home, node: resource_slice(name, driver=driver, pool=pool(home), node=node),
    names,
    st.sampled_from(DRIVERS),
    st.sampled_from(POOLS),
    st.sampled_from((*NODES, "")),
)


def told(slices: NodeSlices) -> dict[tuple[str, str], list[tuple[ResourceSlice, ...]]]:
    return {(node, driver): list(slices.pools(node, driver)) for node in NODES for driver in DRIVERS}


@given(st.lists(st.one_of(pieces, names), max_size=20))
def test_an_index_kept_by_events_is_the_index_of_what_is_left(events: list[ResourceSlice | str]) -> None:
    kept, left = NodeSlices(), dict[str, ResourceSlice]()
    for event in events:
        before = told(kept)
        if isinstance(event, str):
            news = kept.remove(event)
            left.pop(event, None)
        else:
            news = kept.apply(event)
            left[event.metadata.name] = event
        changed = {node for (node, driver), now in told(kept).items() if now != before[node, driver]}
        assert changed <= news

    fresh = NodeSlices()
    for piece in left.values():
        fresh.apply(piece)
    assert told(kept) == told(fresh)
    assert [kept.drivers(node) for node in NODES] == [fresh.drivers(node) for node in NODES]
