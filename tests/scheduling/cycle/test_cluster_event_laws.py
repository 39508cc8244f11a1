"""In any small world, a change that lets a waiting pod fit wakes it, and old answers are never used for new worlds."""

from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dra_builders.values import (
    GPU_CLASS,
    GPU_DRIVER,
    all_request,
    allocated,
    claim,
    container,
    device_class,
    devices,
    driver_class,
    labelled,
    node,
    on_node,
    pod,
    pool,
    request,
    resource_slice,
)
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.cycle.queue import SchedulingQueue
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.claims import EXTENDED_CLAIM_ANNOTATION, ResourceClaim
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.pods import Pod, PodStatus
from dra_scheduling.state.assignments import Assignment, Outcome
from dra_scheduling.wire import KubernetesObject, key_of

RESOURCE = "example.com/gpu"
OWN, FAR = DeviceID(GPU_DRIVER, "n1", "gpu-0"), DeviceID(GPU_DRIVER, "wide", "gpu-0")

Variants = tuple[KubernetesObject | None, ...]


def bound(item: Pod, to: str) -> Pod:
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, node_name=to))


def anew(value: KubernetesObject) -> KubernetesObject:
    metadata: ObjectMeta = value.metadata
    return msgspec.structs.replace(value, metadata=msgspec.structs.replace(metadata, uid="another"))


def leftover() -> ResourceClaim:
    """The special claim of an earlier attempt to bind a pod."""
    plain = claim("leftover", request(), owner=pod("extended"))
    metadata = msgspec.structs.replace(plain.metadata, annotations={EXTENDED_CLAIM_ANNOTATION: "true"})
    return msgspec.structs.replace(plain, metadata=metadata)


def objects() -> list[Variants]:
    """Every object of the world in all states that it may have, None for its absence."""
    busy = pod("busy", container(requests={"cpu": "63"}, limits={RESOURCE: "1"}))
    shared, own = claim("shared", request(count=2)), claim("own", all_request())
    return [
        (node("n1"), node("n1", taints=[Taint(key="t", effect="NoSchedule")]), node("n1", allocatable={RESOURCE: "1"})),
        (None, node("n2", labels={"zone": "a"}), node("n2")),
        (
            None,
            resource_slice("s1", devices(1), node="n1"),
            resource_slice("s1", devices(33), node="n1"),
            resource_slice("s1", devices(2), node="n1", pool=pool("n1", generation=2, slices=2)),
        ),
        (None, resource_slice("s2", devices(1, prefix="more-"), node="n1", pool=pool("n1", generation=2, slices=2))),
        (
            None,
            resource_slice("wide", devices(2), selector=labelled(zone="a")),
            resource_slice("wide", devices(2), pool=pool("wide", slices=2)),
        ),
        (None, driver_class(extended_resource_name=RESOURCE), device_class(GPU_CLASS, "device.nothing")),
        (None, busy, bound(busy, "n1"), msgspec.structs.replace(bound(busy, "n1"), status=PodStatus(phase="Failed"))),
        (None, shared, anew(claim("shared", request())), allocated(shared, FAR)),
        (None, own, allocated(own, OWN, selector=on_node("n1")), allocated(own, FAR, selector=on_node("n2"))),
        (None, leftover(), claim("leftover", request(), owner=pod("extended"))),
    ]


PODS = (
    pod("plain", container(requests={"cpu": "2"})),
    pod("extended", container(limits={RESOURCE: "1"})),
    pod("shares", claims={"gpu": "shared"}),
    pod("owns", claims={"gpu": "own"}),
    pod("both", claims={"one": "own", "two": "shared"}),
)
states = st.tuples(*(st.sampled_from(variants) for variants in objects()))


def cluster(values: Sequence[KubernetesObject | None]) -> Cluster:
    made = Cluster()
    for value in (*PODS, *values):
        if value is not None:
            made.apply(value)
    return made


def outcome(world: Cluster, item: Pod) -> Outcome:
    """What would become of the pod, alone."""
    (decided,) = schedule(world, [item]).outcomes
    world.forget(item.metadata.uid)
    return decided


def queue_of(outcomes: Sequence[Outcome]) -> SchedulingQueue:
    """Everyone in it was decided about just now."""
    made = SchedulingQueue()
    for one in outcomes:
        made.offer(one.pod, 0)
    made.take(0, len(outcomes))
    for one in outcomes:
        made.settle(one, 0)
    return made


@given(states, st.data())
def test_a_change_that_lets_a_pod_fit_wakes_it(
    values: tuple[KubernetesObject | None, ...], data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, len(values) - 1))
    new, old = data.draw(st.sampled_from(objects()[number])), values[number]
    world = cluster(values)
    before = [outcome(world, item) for item in PODS]
    if new is not None:
        wake = world.apply(new)
    elif old is not None:
        wake = world.remove(type(old), key_of(old))
    else:
        return
    fresh = cluster((*values[:number], new, *values[number + 1 :]))
    waiting = queue_of(before)
    waiting.wake(wake, 1, *(each for each in (old, new) if isinstance(each, ResourceClaim)))
    woken = waiting.take(1, len(PODS))
    for item, was in zip(PODS, before, strict=True):
        now = outcome(fresh, item)
        assert type(outcome(world, item)) is type(now)
        if isinstance(now, Assignment) and not isinstance(was, Assignment):
            assert item in woken, f"{item.key}: {was.message}"
