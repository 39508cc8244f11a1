"""The devices of a node as each request sees them, and the single changes that would help."""

from collections.abc import Iterable

import msgspec
import pytest

from dra_builders.values import (
    allocated,
    claim,
    device,
    devices,
    driver_class,
    match_attribute,
    node,
    pod,
    request,
    resource_slice,
)
from dra_scheduling.cluster import Cluster
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.slices import Device
from dra_scheduling.wire import KubernetesObject
from dra_simulator.explain.explain_pod import Story, explain
from dra_simulator.explain.explain_text import story_blocks
from dra_simulator.tables import Table

GPU = "gpu.example.com"
NEW = f'device.attributes["{GPU}"].new'


def told(published: Iterable[Device], *values: KubernetesObject, nodes: int = 1) -> Story:
    """Return the story of pod `p`, which wants claim `c`, where each node has these devices."""
    cluster, wanted, content = Cluster(), pod("p", claims={"c": "c"}), tuple(published)
    names = [f"n{number}" for number in range(nodes)]
    for value in (driver_class(), wanted, *map(node, names), *values):
        cluster.apply(value)
    for name in names:
        cluster.apply(resource_slice(f"{name}-gpus", content, node=name))
    return explain(cluster, wanted)


def holder(name: str, *held: str) -> KubernetesObject:
    return allocated(claim(name, request(count=len(held))), *(DeviceID(GPU, "n0", each) for each in held))


def tainted(value: Device) -> Device:
    return msgspec.structs.replace(value, taints=(Taint(key="broken", effect="NoSchedule"),))


def changes(story: Story) -> tuple[str, ...]:
    assert story.nearest_miss is not None
    return story.nearest_miss.changes


def test_devices_are_counted_step_by_step() -> None:
    published = [
        device("old", attributes={"new": False}),
        device("silent"),
        device("taken", attributes={"new": True}),
        tainted(device("tainted", attributes={"new": True})),
        device("free", attributes={"new": True}),
    ]
    story = told(published, holder("other", "taken"), claim("c", request("gpu", GPU, NEW, count=2)))
    (count,) = story.nodes[0].view.requests
    assert (count.reachable, count.of_class, count.selectors[0].left, count.selectors[0].failed) == (5, 5, 3, 1)
    assert (count.tainted, count.taken, count.available, count.missing) == (1, 1, 1, 1)


def test_the_smallest_holder_whose_devices_suffice_is_named() -> None:
    holders = holder("large", "gpu-0", "gpu-1"), holder("small", "gpu-2")
    assert changes(told(devices(3), *holders, claim("c", request()))) == (
        "ResourceClaim default/small gives back its devices",
    )


def test_where_no_single_claim_suffices_all_of_them_do() -> None:
    holders = holder("one", "gpu-0"), holder("other", "gpu-1")
    found = changes(told(devices(3), *holders, claim("c", request(count=3))))
    assert found == ('claim "c" request "gpu" asks for 1 instead of 3',)
    assert changes(told(devices(2), *holders, claim("c", request(), request("more")))) == (
        "all 2 claims that have devices there give them back",
    )


@pytest.mark.parametrize(
    ("published", "wanted", "change"),
    [
        ([tainted(device("a"))], [request()], 'claim "c" request "gpu" tolerates the taints of the devices'),
        (
            [device("a", attributes={"new": False})],
            [request("gpu", GPU, NEW)],
            f'claim "c" request "gpu" goes without its selector {NEW}',
        ),
        (devices(3), [request(count=4)], 'claim "c" request "gpu" asks for 3 instead of 4'),
    ],
)
def test_what_the_pod_could_ask_for_instead_is_named(
    published: list[Device], wanted: list[object], change: str
) -> None:
    assert changes(told(published, claim("c", *wanted))) == (change,)  # type: ignore[arg-type]


def test_a_constraint_that_stands_in_the_way_is_named() -> None:
    published = [device(f"d{number}", attributes={"numa": number}) for number in range(2)]
    rule = match_attribute(f"{GPU}/numa")
    wanted = claim("c", request(), request("other"), constraints=[rule])
    assert changes(told(published, wanted)) == ('claim "c" goes without matchAttribute gpu.example.com/numa',)


def test_a_change_that_helps_on_one_of_the_nodes_that_say_the_same_is_found() -> None:
    # The only device of n0 is taken, so that there a selector less would not be enough.
    published = [device("a", attributes={"new": False})]
    story = told(published, holder("other", "a"), claim("c", request("gpu", GPU, NEW)), nodes=2)
    assert [group.names for group in story.nodes] == [("n0", "n1")]
    assert changes(story) == (f'claim "c" request "gpu" goes without its selector {NEW}',)
    assert story.nearest_miss is not None
    assert story.nearest_miss.node == "n1"


def test_asking_for_changes_leaves_the_ledger_as_it_was() -> None:
    cluster, wanted = Cluster(), pod("p", claims={"c": "c"})
    content = resource_slice("s", devices(2), node="n0")
    for value in (driver_class(), wanted, node("n0"), content, holder("o", "gpu-0", "gpu-1"), claim("c", request())):
        cluster.apply(value)
    before = dict(cluster.ledger.held)
    assert changes(explain(cluster, wanted))
    assert dict(cluster.ledger.held) == before
    assert cluster.ledger.is_taken(DeviceID(GPU, "n0", "gpu-0"))


def test_thousands_of_nodes_are_a_few_kinds() -> None:
    story = told(devices(2), holder("other", "gpu-0"), claim("c", request(count=3)), nodes=300)
    assert [(group.view.node, len(group.names)) for group in story.nodes] == [("n1", 299), ("n0", 1)]


def test_of_many_kinds_of_nodes_the_nearest_are_shown() -> None:
    cluster, wanted = Cluster(), pod("p", claims={"c": "c"})
    cluster.apply(driver_class())
    cluster.apply(claim("c", request(count=32)))
    for number in range(1, 31):
        cluster.apply(node(f"n{number}"))
        cluster.apply(resource_slice(f"s{number}", devices(number), node=f"n{number}"))
    cluster.apply(wanted)
    blocks = story_blocks(explain(cluster, wanted))
    counts = [block for block in blocks if isinstance(block, Table) and "MISSING" in block.headers]
    assert [row[0] for row in counts[0].rows] == [f"n{number}" for number in range(30, 10, -1)]
    assert "10 more nodes in 10 groups not shown (use -o json)" in blocks
