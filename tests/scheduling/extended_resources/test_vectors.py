from hypothesis import given
from hypothesis import strategies as st

from dra_builders.values import container, device_class, node, pod
from dra_scheduling.basics.pod_requests import pod_requests
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.extended_resources.device_plugin_or_dra import Split, split
from dra_scheduling.fit.node_resources_fit import room_refusals
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.state.node_state import NodeState, charge_of

RESOURCES = ("example.com/gpu", "example.com/nic", "example.com/fpga", "cpu")
AMOUNTS = st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 3).map(str))
NODES = AMOUNTS.map(lambda offered: node("n1", allocatable=offered))
PODS = st.lists(AMOUNTS, max_size=6).map(
    lambda wishes: [pod(f"p{number}", container(limits=wish)) for number, wish in enumerate(wishes)]
)


def classes() -> ClassIndex:
    index = ClassIndex()
    for name in ("gpu", "nic"):
        index.apply(device_class(name, extended_resource_name=f"example.com/{name}"))
    return index


def fits(value: Pod, state: NodeState) -> bool:
    choice = split(pod_requests(value), state.offered, classes())
    return isinstance(choice, Split) and not room_refusals(choice.node, state.free, state.allocatable)


def placed(state: NodeState, pods: list[Pod]) -> list[Pod]:
    taken = []
    for value in pods:
        if fits(value, state):
            state.charges[value.metadata.uid] = charge_of(value)
            state.take(charge_of(value))
            taken.append(value)
    return taken


@given(where=NODES, pods=PODS)
def test_room_never_goes_below_zero_whoever_serves_the_resources(where: Node, pods: list[Pod]) -> None:
    state = NodeState(where, {})

    placed(state, pods)

    assert min(state.free.values()) >= 0
    assert set(state.free) == {name for name, amount in state.allocatable.items() if amount > 0}


@given(where=NODES, pods=PODS)
def test_pods_that_leave_give_back_exactly_what_they_took(where: Node, pods: list[Pod]) -> None:
    state = NodeState(where, {})

    for value in placed(state, pods):
        state.give_back(state.charges.pop(value.metadata.uid))

    assert state.free == state.allocatable


@given(before=NODES, after=NODES, pods=PODS)
def test_a_node_that_changes_its_offer_has_the_room_of_a_node_that_always_offered_that(
    before: Node, after: Node, pods: list[Pod]
) -> None:
    state = NodeState(before, {})
    placed(state, pods)

    state.update(after)

    assert state.free == NodeState(after, dict(state.charges)).free
