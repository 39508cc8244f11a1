"""A node's verdict does not depend on which nodes were asked before it."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dra_builders.values import (
    GPU_CLASS,
    claim,
    container,
    devices,
    driver_class,
    node,
    pod,
    request,
    resource_slice,
)
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.pod_refusals import shape_of, usable_claims
from dra_scheduling.fit.evaluate import ClaimDevices, Evaluator
from dra_scheduling.fit.pod_class import PodClass
from dra_scheduling.fit.ranking import Fit
from dra_scheduling.model.claims import DeviceRequest, DeviceSubRequest
from dra_scheduling.model.node_selectors import (
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    Taint,
)
from dra_scheduling.model.pods import Affinity, Container, ContainerPort, NodeAffinity, Pod

RESOURCE = "example.com/gpu"
ZONE = NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key="zone", operator="In", values=("a",)),))
RATHER_TWO = DeviceRequest(
    name="gpu",
    first_available=tuple(
        DeviceSubRequest(name=f"n{count}", device_class_name=GPU_CLASS, count=count) for count in (2, 1)
    ),
)
IN_A = Affinity(
    node_affinity=NodeAffinity(
        preferred_during_scheduling_ignored_during_execution=(PreferredSchedulingTerm(weight=5, preference=ZONE),)
    )
)


def changed(item: Pod, **spec: object) -> Pod:
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, **spec))


ON_PORT = msgspec.structs.replace(container(), ports=(ContainerPort(container_port=80, host_port=80),))
PODS = (
    pod("plain", container(requests={"cpu": "2"})),
    pod("extended", container(limits={RESOURCE: "1"})),
    pod("claims", claims={"gpu": "two"}),
    pod("rather", claims={"gpu": "rather-two"}),
    pod("listens", ON_PORT),
    changed(pod("prefers", claims={"gpu": "two"}), affinity=IN_A),
    changed(pod("selects", claims={"gpu": "two"}), node_selector={"zone": "a"}),
)
kinds = st.tuples(
    st.sampled_from([{}, {"zone": "a"}]),
    st.sampled_from([None, "NoSchedule", "PreferNoSchedule"]),
    st.sampled_from([{}, {RESOURCE: "1"}]),
    st.integers(0, 3),
    st.sampled_from([None, container(requests={"cpu": "63"}), container(limits={RESOURCE: "1"}), ON_PORT]),
)
Kind = tuple[dict[str, str], str | None, dict[str, str], int, Container | None]


def cluster(nodes: list[Kind]) -> Cluster:
    made = Cluster()
    for value in (
        driver_class(extended_resource_name=RESOURCE),
        claim("two", request(count=2)),
        claim("rather-two", RATHER_TWO),
        *PODS,
    ):
        made.apply(value)
    for number, (labels, effect, offers, gpus, busy) in enumerate(nodes):
        name = f"n{number}"
        taints = [Taint(key="t", effect=effect)] if effect is not None else []
        made.apply(node(name, labels=labels, taints=taints, allocatable=offers))
        made.apply(resource_slice(name, devices(gpus), node=name))
        if busy is not None:
            made.apply(changed(pod(f"busy-{number}", busy), node_name=name))
    return made


def judge(world: Cluster, item: Pod) -> Evaluator:
    resolved = usable_claims(world, item)
    assert not isinstance(resolved, Refusal)
    shape = shape_of(world, item, resolved)
    assert isinstance(shape, PodClass)
    return Evaluator(shape, world.nodes, ClaimDevices(world.pools, world.ledger, world.classes))


@given(st.lists(kinds, min_size=2, max_size=4))
def test_a_node_says_the_same_whichever_nodes_were_asked_before(nodes: list[Kind]) -> None:
    world = cluster(nodes)
    for item in PODS:
        together = judge(world, item)
        for name in world.nodes:
            assert together.look(name) == judge(cluster(nodes), item).look(name)


def test_nodes_that_look_the_same_share_one_verdict() -> None:
    world = cluster([({}, None, {}, 2, None), ({"zone": "a"}, None, {}, 2, None), ({}, None, {}, 3, None)])
    together = judge(world, PODS[2])
    first, same, other = (together.look(name) for name in world.nodes)
    assert first is same
    assert first != other


def test_nodes_that_serve_another_alternative_have_verdicts_of_their_own() -> None:
    world = cluster([({}, None, {}, 2, None), ({}, None, {}, 1, None)])
    together = judge(world, PODS[3])
    best, other = (together.look(name) for name in world.nodes)
    assert isinstance(best, Fit)
    assert isinstance(other, Fit)
    assert best.score < other.score
