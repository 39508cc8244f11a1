"""Whatever order events come in, the cluster ends where a fresh look at the same objects would."""

from typing import NamedTuple

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dra_builders.values import container, devices, driver_class, node, pod, resource_slice
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import bind_request, schedule
from dra_scheduling.model.bindrequests import FAILED, SUCCEEDED, BindRequestStatus
from dra_scheduling.model.pods import PodStatus
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.wire import KubernetesObject, key_of

RESOURCE = "example.com/gpu"
NODES = ("n1", "n2")
PODS = tuple(pod(f"p{i}", container(requests={"cpu": "8"}, limits={RESOURCE: "1"})) for i in range(5))


class Removed(NamedTuple):
    value: KubernetesObject


def world() -> list[KubernetesObject]:
    slices = [resource_slice(f"s-{name}", devices(2), node=name) for name in NODES]
    return [*map(node, NODES), *slices, driver_class(extended_resource_name=RESOURCE), *PODS]


def histories() -> dict[str, list[KubernetesObject | Removed]]:
    """The events of each object in their order, as one run of a scheduler and a binder would leave them."""
    planned = Cluster()
    for value in world():
        planned.apply(value)
    found: dict[str, list[KubernetesObject | Removed]] = {str(key_of(value)): [value] for value in world()}
    for number, outcome in enumerate(schedule(planned, PODS).outcomes):
        if isinstance(outcome, Assignment):
            found[str(outcome.pod.key)] += pod_events(outcome, number)
            found[f"br {outcome.pod.key}"] = bind_request_events(outcome, number)
    return found


def pod_events(decided: Assignment, number: int) -> list[KubernetesObject | Removed]:
    bound = msgspec.structs.replace(decided.pod, spec=msgspec.structs.replace(decided.pod.spec, node_name=decided.node))
    ended = msgspec.structs.replace(bound, status=PodStatus(phase="Succeeded"))
    endings: list[list[KubernetesObject | Removed]] = [[bound], [bound, ended], [bound, ended, Removed(ended)], []]
    return endings[number % 4]


def bind_request_events(decided: Assignment, number: int) -> list[KubernetesObject | Removed]:
    made = bind_request(decided)
    made = msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, uid="br", generation=1))
    phase = FAILED if number % 4 == 3 else SUCCEEDED
    ended = msgspec.structs.replace(made, status=BindRequestStatus(phase=phase, observed_generation=1))
    return [made, ended]


def seen(cluster: Cluster) -> object:
    taken = {device for held in cluster.ledger.held.values() for device in held.devices}
    room = {name: dict(state.free) for name, state in cluster.nodes.items()}
    return {device: cluster.ledger.holders(device) for device in taken}, room, [p.key for p in cluster.pending()]


def feed(cluster: Cluster, event: KubernetesObject | Removed) -> None:
    if isinstance(event, Removed):
        cluster.remove(type(event.value), key_of(event.value))
    else:
        cluster.apply(event)


@given(st.data())
def test_any_interleaving_of_the_objects_events_ends_in_the_same_cluster(data: st.DataObject) -> None:
    waiting = histories()
    final = Cluster()
    for events in waiting.values():
        if not isinstance(events[-1], Removed):
            feed(final, events[-1])
    cluster = Cluster()
    while waiting:
        name = data.draw(st.sampled_from(sorted(waiting)))
        feed(cluster, waiting[name].pop(0))
        if not waiting[name]:
            del waiting[name]
    assert seen(cluster) == seen(final)


@given(st.sets(st.integers(0, len(PODS) - 1)), st.permutations(world()))
def test_assuming_and_forgetting_restores_the_cluster(some: set[int], values: list[KubernetesObject]) -> None:
    cluster = Cluster()
    for value in values:
        cluster.apply(value)
    before = seen(cluster)
    for outcome in schedule(cluster, [PODS[number] for number in some]).outcomes:
        cluster.forget(outcome.pod.metadata.uid)
    assert seen(cluster) == before


@given(st.permutations(world()))
def test_decisions_do_not_depend_on_the_order_of_arrival(values: list[KubernetesObject]) -> None:
    cluster, straight = Cluster(), Cluster()
    for value in values:
        cluster.apply(value)
    for value in world():
        straight.apply(value)
    assert schedule(cluster, PODS) == schedule(straight, PODS)
