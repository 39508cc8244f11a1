"""Pods that ask for the same share what nodes said to one of them."""

import msgspec

from dra_builders.values import claim, container, driver_class, pod, request
from dra_scheduling.allocation.pod_claims import ResolvedClaims
from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.pod_refusals import usable_claims
from dra_scheduling.fit.pod_class import KEPT_SHAPES, ExtendedNeed, PodClass, PodClassCache
from dra_scheduling.model.pods import Pod, Volume


def with_volume(item: Pod, name: str) -> Pod:
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, volumes=(Volume(name=name),)))


def wanting(cpu: int) -> Pod:
    return pod("p", container(requests={"cpu": f"{cpu}m"}))


def shape(world: Cluster, item: Pod) -> PodClass:
    found = world.shapes.shape_of(item, ResolvedClaims(), world.classes)
    assert isinstance(found, PodClass)
    return found


def test_the_volume_that_the_server_gives_every_pod_does_not_tell_pods_apart() -> None:
    world = Cluster()
    first, second = (with_volume(pod(name), f"kube-api-access-{name}") for name in ("a", "b"))
    assert shape(world, first) is shape(world, second)


def test_pods_that_want_different_amounts_have_different_shapes() -> None:
    world = Cluster()
    assert shape(world, wanting(1)) is not shape(world, wanting(2))


def test_pods_that_ask_for_the_same_devices_share_the_answers_of_nodes() -> None:
    world = Cluster()
    for value in (driver_class(), claim("one", request()), claim("two", request(count=2))):
        world.apply(value)
    asked = []
    for cpu, name in ((1, "one"), (2, "one"), (3, "two")):
        resolved = usable_claims(world, pod("p", claims={"c": name}))
        assert isinstance(resolved, ResolvedClaims)
        found = world.shapes.shape_of(wanting(cpu), resolved, world.classes)
        assert isinstance(found, PodClass)
        need = found.need_on(frozenset(), world.classes)
        assert isinstance(need, ExtendedNeed)
        asked.append(need.query)
    first, same, other = asked
    assert first is same
    assert first is not other


def test_pods_that_take_turns_keep_their_shapes_however_many_there_are() -> None:
    world = Cluster()
    first = [shape(world, wanting(cpu)) for cpu in range(1, 10 * KEPT_SHAPES)]
    assert [shape(world, wanting(cpu)) for cpu in range(1, 10 * KEPT_SHAPES)] == first


def test_shapes_that_hold_too_much_together_are_forgotten_but_for_the_last_ones() -> None:
    world = Cluster()
    world.shapes = PodClassCache(kept_verdicts=0)
    made = [shape(world, wanting(cpu)) for cpu in range(1, KEPT_SHAPES + 2)]
    assert shape(world, wanting(KEPT_SHAPES + 1)) is made[-1]
    assert shape(world, wanting(2)) is made[1]
    assert shape(world, wanting(1)) is not made[0]
