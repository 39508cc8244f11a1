from collections.abc import Iterator

import pytest

from dra_builders import manifests
from dra_builders.manifests import from_claim, request
from dra_cluster.apart import Apart
from dra_cluster.operators import RunningOperator
from dra_cluster.world import World, devices

pytestmark = pytest.mark.controlplane


@pytest.fixture
def plain(apart: Apart) -> Iterator[RunningOperator]:
    """An operator with the gates that Kubernetes has on."""
    operator = apart.operator("plain")
    yield operator
    operator.kill()


def pair_with_a_common_root(world: World) -> None:
    """Two devices with lists of roots of which one is in both, and a pod that wants two with a root in common."""
    node = world.node("n1")
    lists = (["r0", "r1"], ["r1", "r2"])
    pair = [{"name": f"gpu-{n}", "attributes": {"root": {"strings": roots}}} for n, roots in enumerate(lists)]
    world.publish(node, pair)
    common = [{"requests": ["gpu"], "matchAttribute": f"{world.driver}/root"}]
    world.create(manifests.claim("pair", request("gpu", world.gpu_class(), count=2), constraints=common))
    world.pod("trainer", from_claim("gpu", "pair"))


def test_list_attributes_are_compared_once_their_gate_is_on(apart: Apart, site: World, plain: RunningOperator) -> None:
    pair_with_a_common_root(site)
    site.pending("trainer", f"{site.driver}/root")

    plain.kill()
    operator = apart.operator("with-lists", feature_gates="DRAListTypeAttributes=true")

    assert site.bound("trainer") == site.named("n1")
    assert devices(site.claim("pair")) == ["gpu-0", "gpu-1"]
    operator.kill()


def test_what_needs_a_gate_that_is_off_is_refused_by_its_name(apart: Apart, site: World) -> None:
    site.gpu_node("n1", 1)
    either = {"name": "gpu", "firstAvailable": [{"name": "one", "deviceClassName": site.gpu_class()}]}
    site.create(manifests.claim("either", either))
    strict = apart.operator("strict", feature_gates="DRAPrioritizedList=false")
    site.pod("trainer", from_claim("gpu", "either"))
    site.pending("trainer", 'claim "either"', "needs feature DRAPrioritizedList, which is off")

    strict.kill()
    operator = apart.operator("lenient", feature_gates="DRAPrioritizedList=true")

    assert site.bound("trainer") == site.named("n1")
    operator.kill()
