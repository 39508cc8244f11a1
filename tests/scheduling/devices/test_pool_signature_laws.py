"""What is kept of other nodes, other pods and former times never changes an answer."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dra_builders.values import (
    all_request,
    claim,
    claim_spec,
    container,
    device,
    device_class,
    match_attribute,
    node,
    pod,
    request,
    resource_slice,
)
from dra_scheduling.allocation.allocation_outcomes import Allocated
from dra_scheduling.allocation.allocator import allocate, fulfil, survey
from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.bits import packed, unpacked
from dra_scheduling.devices.ledger import Ledger, Source
from dra_scheduling.model.claims import DeviceConstraint, DeviceRequest, ResourceClaimSpec
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.pods import Pod
from dra_scheduling.model.slices import Device, ResourceSlice
from dra_scheduling.state.assignments import Assignment

DRIVERS = ("gpu.example.com", "net.example.com")
CLASSES = {
    driver: device_class(driver, f'device.driver == "{driver}" && device.attributes["x.example.com"].kind != "c"')
    for driver in DRIVERS
}
ROOT, KIND = "x.example.com/root", "x.example.com/kind"
DISTINCT = DeviceConstraint(distinct_attribute=ROOT)
RULES: tuple[tuple[DeviceConstraint, ...], ...] = (
    (),
    (match_attribute(ROOT),),
    (match_attribute(ROOT, "r0", "r1"), DISTINCT),
    (match_attribute(KIND, "r0"),),
    (DISTINCT,),
)
NODES = (NodePlace("n1", {}), NodePlace("n2", {}))
Content = list[tuple[str, str, bool]]
"""Devices: their root, kind, and whether somebody has them."""
contents = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.booleans()), max_size=6)
sides = st.tuples(contents, contents)
requests = st.tuples(st.sampled_from(DRIVERS), st.integers(0, 2), st.booleans())


@st.composite
def specs(draw: st.DrawFn) -> ResourceClaimSpec:
    asked = [one_request(f"r{number}", *draw(requests)) for number in range(2)]
    return claim_spec(*asked, constraints=draw(st.sampled_from(RULES)))


def one_request(name: str, driver: str, count: int, is_admin: bool) -> DeviceRequest:  # noqa: FBT001 - drawn
    made = request(name, driver, count=count) if count else all_request(name, driver)
    assert made.exactly is not None
    return replace(made, exactly=replace(made.exactly, admin_access=is_admin))


def world(nodes: tuple[tuple[Content, Content], ...], names: str) -> tuple[PoolIndex, Ledger]:
    index, ledger = PoolIndex(), Ledger()
    for place, prefix, pools in zip(NODES, names, nodes, strict=True):
        for driver, content in zip(DRIVERS, pools, strict=True):
            index.apply(slice_of(place.name, driver, content, prefix))
            taken = [DeviceID(driver, place.name, f"d{number}") for number, one in enumerate(content) if one[2]]
            ledger.hold(Source("claim", f"{place.name}-{driver}"), "somebody", taken)
    return index, ledger


def slice_of(on: str, driver: str, content: Content, prefix: str = "") -> ResourceSlice:
    made: list[Device] = [
        device(f"d{number}", attributes={ROOT: f"{prefix}{root}", KIND: kind})
        for number, (root, kind, _) in enumerate(content)
    ]
    return resource_slice(f"{on}-{driver}", made, node=on, driver=driver, pool=on)


@given(st.tuples(sides, sides), specs())
def test_a_node_gets_what_it_would_get_if_no_other_had_been_asked(
    nodes: tuple[tuple[Content, Content], ...], spec: ResourceClaimSpec
) -> None:
    parsed = parse_claim("c", spec, CLASSES)
    assert isinstance(parsed, ParsedClaim)
    query = ClaimQuery([parsed])
    index, ledger = world(nodes, "xy")
    survey(query, NODES[0], index, ledger)
    found, alone = fulfil(query, NODES[1], index, ledger), allocate([parsed], NODES[1], index, ledger)
    assert type(found) is type(alone)
    if isinstance(found, Allocated) and isinstance(alone, Allocated):
        assert (found.allocations, found.free_left) == (alone.allocations, alone.free_left)


@given(st.integers(0, 2**70), st.integers(0, 2**70))
def test_members_numbered_anew_keep_their_order_and_can_be_found_again(mask: int, kept: int) -> None:
    places = packed(mask, kept)
    assert unpacked(places, kept) == mask & kept
    assert places.bit_length() <= kept.bit_count()


def cluster(contents_of: dict[str, Content]) -> Cluster:
    made = Cluster()
    made.apply(CLASSES[DRIVERS[0]])
    for name, content in contents_of.items():
        made.apply(node(name))
        made.apply(slice_of(name, DRIVERS[0], content))
    return made


def asking(made: Cluster, number: int) -> Pod:
    """Return a pod that asks for what all others ask for, and for more of the node's own room."""
    item = pod(f"p{number}", container(requests={"cpu": f"{100 + number}m"}), claims={"c": f"c{number}"})
    made.apply(claim(f"c{number}", request(count=2), owner=item))
    made.apply(item)
    return item


def place_of(made: Cluster, item: Pod) -> str:
    (outcome,) = schedule(made, [item]).outcomes
    return outcome.node if isinstance(outcome, Assignment) else ""


@given(st.lists(st.tuples(st.sampled_from(("n1", "n2")), contents), min_size=1, max_size=5))
def test_a_pod_like_a_former_one_is_answered_by_what_is_there_now(changes: list[tuple[str, Content]]) -> None:
    now: dict[str, Content] = {"n1": [], "n2": []}
    lived = cluster(now)
    for number, (name, content) in enumerate(changes):
        now[name] = content
        lived.apply(slice_of(name, DRIVERS[0], content))
        fresh = cluster(now)
        item = asking(lived, number)
        assert place_of(lived, item) == place_of(fresh, asking(fresh, number))
        lived.forget(item.metadata.uid)


def test_what_a_pod_took_of_a_device_that_many_nodes_reach_is_promised_to_no_pod_like_it() -> None:
    made = cluster({})
    content = [device(f"d{number}", attributes={ROOT: "a", KIND: "a"}) for number in range(2)]
    for value in (node("n1"), node("n2"), resource_slice("net", content, driver=DRIVERS[0])):
        made.apply(value)

    first, second = (place_of(made, asking(made, number)) for number in range(2))

    assert (first in {"n1", "n2"}, second) == (True, "")
