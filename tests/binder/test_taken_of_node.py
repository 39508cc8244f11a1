"""What devices take of their node is told in the pod's status, before the pod is bound."""

import msgspec

from dra_binder.plan import Bound
from dra_binding.world import NODE, World, bind_request, special
from dra_builders.values import claim, pod, request
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.pods import NodeAllocatableMappedResources, NodeAllocatableResourceClaimStatus
from kube_cel.quantity import Quantity

CORES = NodeAllocatableMappedResources("cpu", Quantity.parse("8"))


def taking(world: World, value: BindRequest, claim_name: str) -> BindRequest:
    taken = NodeAllocatableResourceClaimStatus(resource_claim_name=claim_name, mapping=(CORES,))
    spec = msgspec.structs.replace(value.spec, node_allocatable_resource_claim_statuses=(taken,))
    return world.server.put(msgspec.structs.replace(value, spec=spec))


async def test_kubelet_is_told_before_the_pod_is_bound() -> None:
    world = World()
    world.server.put(claim("shared", request()))
    value = taking(world, world.add_shared("a"), "shared")

    assert await world.run(value) == Bound(NODE)
    assert world.verbs()[-3:] == ["patch pods/status", "create pods/binding", "patch bindrequests/status"]
    (told,) = world.pod("a").status.node_allocatable_resource_claim_statuses
    assert told == value.spec.node_allocatable_resource_claim_statuses[0]


async def test_the_special_claim_gets_the_name_that_it_is_made_with() -> None:
    world = World()

    await world.run(taking(world, world.add_extended(), ""))

    (told,) = world.pod().status.node_allocatable_resource_claim_statuses
    assert told.resource_claim_name == world.special_claims()[0].metadata.name


async def test_what_a_former_decision_told_is_taken_back() -> None:
    world = World()
    stale = NodeAllocatableResourceClaimStatus(resource_claim_name="former", mapping=(CORES,))
    plain = pod("a")
    status = msgspec.structs.replace(plain.status, node_allocatable_resource_claim_statuses=(stale,))
    owner = world.server.put(msgspec.structs.replace(plain, status=status))

    await world.run(world.server.put(bind_request(owner, extended=special("gpu-1"))))

    assert world.pod("a").status.node_allocatable_resource_claim_statuses == ()
