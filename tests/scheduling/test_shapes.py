"""Pods that ask for the same share what nodes said to one of them."""

import msgspec

from dra_scheduling.cluster import Cluster
from dra_scheduling.model.pods import Pod, Volume
from dra_scheduling.podclaims import ResolvedClaims
from dra_scheduling.shapes.shape import Shape
from dra_scheduling.testing import container, pod


def with_volume(item: Pod, name: str) -> Pod:
    return msgspec.structs.replace(item, spec=msgspec.structs.replace(item.spec, volumes=(Volume(name=name),)))


def shape(world: Cluster, item: Pod) -> Shape:
    found = world.shapes.shape_of(item, ResolvedClaims(), world.classes)
    assert isinstance(found, Shape)
    return found


def test_the_volume_that_the_server_gives_every_pod_does_not_tell_pods_apart() -> None:
    world = Cluster()
    first, second = (with_volume(pod(name), f"kube-api-access-{name}") for name in ("a", "b"))
    assert shape(world, first) is shape(world, second)


def test_pods_that_want_different_amounts_have_different_shapes() -> None:
    world = Cluster()
    small, large = (pod("p", container(requests={"cpu": cpu})) for cpu in ("1", "2"))
    assert shape(world, small) is not shape(world, large)
