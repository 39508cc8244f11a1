"""What the binder refuses before it has written anything, whoever wrote the BindRequest."""

import msgspec
import pytest

from dra_binder.binder import Failed
from dra_binder.plan import Bound
from dra_binder.ports import Presence
from dra_binding.world import GENERATED, NODE, POD, SPECIAL_REQUEST, World, allocation, bind_request, device, special
from dra_builders.values import allocated, claim, container, node, pod, request, templated_pod
from dra_scheduling.model.base import OwnerReference
from dra_scheduling.model.bindrequests import (
    BindRequest,
    ResourceClaimAllocation,
)
from dra_scheduling.model.claims import AllocationResult, ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Node

ONE_EXTENDED = special("gpu-1")
FORMER = OwnerReference(api_version="v1", kind="Pod", name=POD, uid="of a former pod", controller=True)


def entries(**allocations: AllocationResult) -> tuple[ResourceClaimAllocation, ...]:
    return tuple(ResourceClaimAllocation(name=name, allocation=value) for name, value in allocations.items())


def extended(**changes: object) -> dict[str, object]:
    return {"extended_resource_claim_allocation": msgspec.structs.replace(ONE_EXTENDED, **changes)}


MALFORMED: dict[str, dict[str, object]] = {
    "names no node": {"selected_node": ""},
    "has no resource claim 'nic'": {"resource_claim_allocations": entries(nic=allocation("gpu-5"))},
    "has no resource claim '<extended-resources>'": {
        "resource_claim_allocations": entries(**{"<extended-resources>": allocation("gpu-5")})
    },
    "holds no device": {"resource_claim_allocations": entries(gpu=AllocationResult())},
    "allocates claim 'gpu' twice": {
        "resource_claim_allocations": (*entries(gpu=allocation("gpu-5")), *entries(gpu=allocation("gpu-6")))
    },
    "more than 32 devices": {
        "resource_claim_allocations": entries(gpu=allocation(*(f"gpu-{number}" for number in range(33))))
    },
    "gpu-1 is given out twice": {"resource_claim_allocations": entries(gpu=allocation("gpu-1"))},
    "needs deviceRequests and containerMappings": extended(container_mappings=()),
    "which deviceRequests does not have": extended(device_requests=(request("other"),)),
    "which the claim does not have": extended(allocation=allocation("gpu-1", request_name="other")),
}


@pytest.fixture
def world() -> World:
    return World()


async def refuse(world: World, value: BindRequest) -> str:
    ending = await world.run(value)
    assert isinstance(ending, Failed)
    assert set(world.verbs()) == {"patch bindrequests/status"}
    assert world.request(value).status.reason == ending.reason
    assert world.report.events == [("BindFailed", world.pod().metadata.uid, ending.reason)]
    return ending.reason


@pytest.mark.parametrize(("problem", "change"), MALFORMED.items())
async def test_a_malformed_bind_request_is_refused_with_what_is_wrong(
    world: World, problem: str, change: dict[str, object]
) -> None:
    value = world.add_both_kinds()
    spec = msgspec.structs.replace(value.spec, **change)

    reason = await refuse(world, world.server.put(msgspec.structs.replace(value, spec=spec)))

    assert problem in reason


async def test_a_bind_request_without_any_pod_uid_is_refused(world: World) -> None:
    value = world.add_extended()
    metadata = msgspec.structs.replace(value.metadata, owner_references=())
    spec = msgspec.structs.replace(value.spec, pod_uid="")

    reason = await refuse(world, world.server.put(BindRequest(metadata=metadata, spec=spec)))

    assert "names no pod UID" in reason


async def test_a_bind_request_of_kai_is_understood_by_its_owner(world: World) -> None:
    value = world.add_extended()
    spec = msgspec.structs.replace(value.spec, pod_uid="")

    assert await world.run(world.server.put(msgspec.structs.replace(value, spec=spec))) == Bound(NODE)


async def test_a_claim_without_an_allocation_anywhere_is_refused(world: World) -> None:
    value = world.add_both_kinds()
    spec = msgspec.structs.replace(value.spec, resource_claim_allocations=())

    reason = await refuse(world, world.server.put(msgspec.structs.replace(value, spec=spec)))

    assert f"no allocation for claim default/{GENERATED}" in reason


async def test_a_request_that_the_claim_never_made_is_refused(world: World) -> None:
    value = world.add_both_kinds()
    wrong = entries(gpu=allocation("gpu-0", request_name="nic"))
    spec = msgspec.structs.replace(value.spec, resource_claim_allocations=wrong)

    reason = await refuse(world, world.server.put(msgspec.structs.replace(value, spec=spec)))

    assert "for request 'nic'" in reason


def asking(world: World, **annotations: str) -> BindRequest:
    """A BindRequest without devices, of a pod that wants an extended resource."""
    owner = pod(POD, container(requests={"example.com/gpu": "1"}, limits={"example.com/gpu": "1"}))
    metadata = msgspec.structs.replace(owner.metadata, annotations=annotations)
    return world.server.put(bind_request(world.server.put(msgspec.structs.replace(owner, metadata=metadata))))


async def test_an_extended_resource_that_neither_node_nor_claim_has_is_refused(world: World) -> None:
    assert "wants example.com/gpu, which node n1 does not have" in await refuse(world, asking(world))


async def test_an_extended_resource_of_which_the_node_offers_none_is_refused(world: World) -> None:
    world.server.put(node(NODE, allocatable={"example.com/gpu": "0"}))

    assert "wants example.com/gpu, which node n1 does not have" in await refuse(world, asking(world))


async def test_an_extended_resource_of_the_node_is_no_reason_to_refuse(world: World) -> None:
    world.server.put(node(NODE, allocatable={"example.com/gpu": "1"}))

    assert await world.run(asking(world)) == Bound(NODE)


async def test_an_extended_resource_of_the_claim_is_no_reason_to_refuse(world: World) -> None:
    value = asking(world)
    spec = msgspec.structs.replace(value.spec, extended_resource_claim_allocation=ONE_EXTENDED)

    assert await world.run(world.server.put(msgspec.structs.replace(value, spec=spec))) == Bound(NODE)


async def test_the_claim_has_to_serve_the_container_that_asks(world: World) -> None:
    value = asking(world)
    mapping = msgspec.structs.replace(ONE_EXTENDED.container_mappings[0], container_name="other")
    spec = msgspec.structs.replace(value.spec, **extended(container_mappings=(mapping,)))

    assert "container main wants" in await refuse(world, world.server.put(msgspec.structs.replace(value, spec=spec)))


@pytest.mark.parametrize("annotation", ["gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"])
async def test_a_pod_that_asks_for_a_fraction_is_refused_with_the_way_that_exists(
    world: World, annotation: str
) -> None:
    reason = await refuse(world, asking(world, **{annotation: "1"}))

    assert annotation in reason
    assert "consumable capacity" in reason
    assert "partition" in reason


@pytest.mark.parametrize("kind", ["Fraction", "MigInstance"])
async def test_a_bind_request_of_a_fraction_is_refused_with_the_way_that_exists(world: World, kind: str) -> None:
    value = world.add_extended()
    spec = msgspec.structs.replace(value.spec, received_resource_type=kind)

    reason = await refuse(world, world.server.put(msgspec.structs.replace(value, spec=spec)))

    assert f"receivedResourceType {kind} is not supported" in reason
    assert "consumable capacity" in reason


async def test_devices_that_another_claim_holds_are_refused(world: World) -> None:
    value = world.add_extended()
    world.server.put(allocated(claim("theirs", request()), device("gpu-1")))

    assert await refuse(world, value) == f"device {device('gpu-1')} is held by claim default/theirs"


async def test_admin_access_takes_no_device_from_anybody(world: World) -> None:
    value = world.add_extended()
    monitor = allocated(claim("monitor", request()), device("gpu-1"))
    assert monitor.status.allocation is not None
    results = tuple(
        msgspec.structs.replace(one, admin_access=True) for one in monitor.status.allocation.devices.results
    )
    devices = msgspec.structs.replace(monitor.status.allocation.devices, results=results)
    status = msgspec.structs.replace(monitor.status, allocation=AllocationResult(devices=devices))
    world.server.put(msgspec.structs.replace(monitor, status=status))

    assert await world.run(value) == Bound(NODE)


async def test_devices_that_an_older_bind_request_promises_are_refused(world: World) -> None:
    world.add_extended("older")
    world.server.clock.seconds = 60
    value = world.add_extended()

    reason = await refuse(world, value)

    assert reason == f"device {device('gpu-1')} is promised to pod default/older by BindRequest default/older"


async def test_a_younger_bind_request_gives_way(world: World) -> None:
    value = world.add_extended()
    world.server.clock.seconds = 60
    world.add_extended("younger")

    assert await world.run(value) == Bound(NODE)


async def test_bind_requests_for_the_same_shared_claim_do_not_dispute(world: World) -> None:
    world.server.put(claim("shared", request()))
    world.add_shared("older")
    world.server.clock.seconds = 60

    assert await world.run(world.add_shared("b")) == Bound(NODE)


async def test_an_older_bind_request_whose_pod_is_gone_promises_nothing(world: World) -> None:
    world.add_extended("older")
    world.delete_pod("older")
    world.server.clock.seconds = 60

    assert await world.run(world.add_extended()) == Bound(NODE)


@pytest.mark.parametrize(
    ("presence", "problem"),
    [(Presence.ABSENT, "is not published any more"), (Presence.ELSEWHERE, "cannot be reached from node n1")],
)
async def test_devices_that_are_not_there_are_refused(world: World, presence: Presence, problem: str) -> None:
    value = world.add_both_kinds()
    world.view.presences[device("gpu-2")] = presence

    assert await refuse(world, value) == f"device {device('gpu-2')} {problem}"


async def test_a_pool_that_is_being_published_again_cancels_nothing(world: World) -> None:
    value = world.add_both_kinds()
    world.view.presences[device("gpu-2")] = Presence.UPDATING

    assert await world.run(value) == Bound(NODE)


async def test_a_device_that_vanishes_after_its_claim_was_written_is_bound_nevertheless(world: World) -> None:
    value = world.add_extended(POD, "gpu-1", "gpu-2")
    world.add_stale("written", held=allocation("gpu-1", "gpu-2", request_name=SPECIAL_REQUEST))
    world.view.presences[device("gpu-1")] = Presence.ABSENT

    assert await world.run(value) == Bound(NODE)


async def test_an_allocation_for_another_node_is_refused(world: World) -> None:
    world.server.put(node("n2"))
    elsewhere = allocated(claim("shared", request()), device("gpu-0", "n2"))
    status = msgspec.structs.replace(elsewhere.status, allocation=allocation("gpu-0", node_name="n2"))
    world.server.put(msgspec.structs.replace(elsewhere, status=status))
    owner = world.server.put(pod(POD, claims={"gpu": "shared"}))
    value = world.add_extended()
    spec = msgspec.structs.replace(value.spec, extended_resource_claim_allocation=None)
    world.server.put(owner)

    reason = await refuse(world, world.server.put(msgspec.structs.replace(value, spec=spec)))

    assert "node n1 cannot reach" in reason


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"deletion_timestamp": "2026-01-01T00:00:00Z"}, "is being deleted"),
        ({"owner_references": ()}, "was not generated for pod"),
        ({"owner_references": (FORMER,)}, "was not generated for pod"),
        ({"annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}}, "nobody else may use"),
    ],
)
async def test_a_claim_that_the_pod_may_not_use_is_refused(
    world: World, change: dict[str, object], problem: str
) -> None:
    value = world.add_both_kinds()
    generated = world.claim(GENERATED)
    metadata = msgspec.structs.replace(generated.metadata, **change)
    world.server.put(msgspec.structs.replace(generated, metadata=metadata))

    assert problem in await refuse(world, value)


async def test_a_claim_allocated_to_other_devices_meanwhile_is_refused(world: World) -> None:
    value = world.add_both_kinds()
    world.server.put(allocated(world.claim(GENERATED), device("gpu-7")))

    assert "to other devices meanwhile" in await refuse(world, value)


async def test_a_claim_that_is_gone_is_refused(world: World) -> None:
    value = world.add_both_kinds()
    world.server.remove(ResourceClaim, ObjectKey("default", GENERATED))

    assert await refuse(world, value) == f"claim default/{GENERATED} does not exist"


async def test_a_node_that_does_not_exist_is_waited_for_and_then_given_up(world: World) -> None:
    value = world.add_extended()
    world.server.remove(Node, ObjectKey("", NODE))

    assert await refuse(world, value) == "node n1 does not exist"
    assert world.request(value).status.failed_attempts == 3


async def test_a_template_claim_that_does_not_exist_yet_is_waited_for(world: World) -> None:
    value = world.add_both_kinds()
    ready = world.pod()
    world.server.put(msgspec.structs.replace(ready, status=type(ready.status)()))

    def generate(number: int) -> None:
        if number == 1:
            world.server.put(ready)

    world.server.after_write = generate

    assert await world.run(value) == Bound(NODE)


async def test_devices_promised_to_a_claim_that_is_not_made_yet_are_refused(world: World) -> None:
    older = world.server.put(templated_pod("older", claims={"gpu": None}))
    world.server.put(bind_request(older, claims={"gpu": allocation("gpu-1")}))
    world.server.clock.seconds = 60
    value = world.add_extended()

    reason = await refuse(world, value)

    assert reason == f"device {device('gpu-1')} is promised to pod default/older by BindRequest default/older"


async def test_a_claim_that_was_made_anew_is_not_given_what_was_decided_for_the_former_one(world: World) -> None:
    value = world.add_shared(POD)
    former = world.server.put(claim("shared", request()))
    (entry,) = value.spec.resource_claim_allocations
    named = (msgspec.structs.replace(entry, claim_uid=former.metadata.uid),)
    spec = msgspec.structs.replace(value.spec, resource_claim_allocations=named)
    metadata = msgspec.structs.replace(former.metadata, uid="uid-of-the-next")
    world.server.put(msgspec.structs.replace(claim("shared", request(count=2)), metadata=metadata))

    assert "made anew" in await refuse(world, world.server.put(msgspec.structs.replace(value, spec=spec)))
