import msgspec
import pytest

from dra_binder.binder import Failed
from dra_binder.plan import Bound
from dra_binding.world import GENERATED, NAMESPACE, NODE, POD, World, allocation, device
from dra_builders.values import allocated, claim, pod, request
from dra_scheduling.model.bindrequests import SUCCEEDED
from dra_scheduling.model.claims import CLAIM_FINALIZER, EXTENDED_CLAIM_ANNOTATION, MAX_CONSUMERS_PER_CLAIM
from dra_scheduling.model.pods import Pod


@pytest.fixture
def world() -> World:
    return World()


async def test_a_pod_with_extended_resources_costs_five_writes(world: World) -> None:
    value = world.add_extended()

    assert await world.run(value) == Bound(NODE)
    assert world.verbs() == [
        "create resourceclaims",
        "update resourceclaims/status",
        "patch pods/status",
        "create pods/binding",
        "patch bindrequests/status",
    ]


async def test_a_template_claim_costs_three_writes_and_one_for_its_finalizer(world: World) -> None:
    world.server.put(claim("shared", request()))
    value = world.add_shared("a")

    assert await world.run(value) == Bound(NODE)
    assert world.verbs() == [
        "update resourceclaims",
        "update resourceclaims/status",
        "create pods/binding",
        "patch bindrequests/status",
    ]


async def test_a_pod_without_claims_is_only_bound(world: World) -> None:
    value = world.add_shared("a")
    plain = world.server.put(pod("a"))
    spec = msgspec.structs.replace(value.spec, resource_claim_allocations=())
    value = world.server.put(msgspec.structs.replace(value, spec=spec))

    assert await world.run(value) == Bound(NODE)
    assert world.verbs() == ["create pods/binding", "patch bindrequests/status"]
    assert world.server.bindings == [(plain.metadata.uid, NODE)]


async def test_both_kinds_of_claims_are_written_before_the_binding(world: World) -> None:
    value = world.add_both_kinds()

    await world.run(value)

    assert world.verbs()[-2:] == ["create pods/binding", "patch bindrequests/status"]
    assert world.held() == [device("gpu-0"), device("gpu-1"), device("gpu-2")]
    assert world.consumers(GENERATED) == [POD]
    assert world.request(value).phase == SUCCEEDED


async def test_the_special_claim_is_one_that_quota_charges_once(world: World) -> None:
    value = world.add_extended()

    await world.run(value)

    (special,) = world.special_claims()
    owner = special.metadata.controller
    assert special.metadata.annotations == {EXTENDED_CLAIM_ANNOTATION: "true"}
    assert special.metadata.generate_name == "trainer-0-extended-resources-"
    assert owner is not None
    assert (owner.kind, owner.uid, owner.block_owner_deletion) == ("Pod", world.pod().metadata.uid, False)


async def test_the_pod_says_which_claim_serves_which_container(world: World) -> None:
    value = world.add_extended()

    await world.run(value)

    status = world.pod().status.extended_resource_claim_status
    assert status is not None
    assert status.resource_claim_name == world.special_claims()[0].metadata.name
    assert [one.request_name for one in status.request_mappings] == ["container-0-request-0"]


async def test_every_claim_has_its_finalizer_before_it_is_allocated(world: World) -> None:
    value = world.add_both_kinds()

    await world.run(value)

    for change in world.server.changes:
        status = getattr(change.value, "status", None)
        if getattr(status, "allocation", None) is not None:
            assert change.value is not None
            assert CLAIM_FINALIZER in change.value.metadata.finalizers


async def test_two_pods_share_a_claim_and_no_entry_is_lost(world: World) -> None:
    world.server.put(claim("shared", request()))
    first, second = world.add_shared("a"), world.add_shared("b")

    assert await world.run(first) == await world.run(second) == Bound(NODE)
    assert world.consumers("shared") == ["a", "b"]
    assert world.held() == [device("gpu-0")]


async def test_a_consumer_that_is_there_already_is_not_added_again(world: World) -> None:
    consumer = pod("a")
    world.server.put(allocated(claim("shared", request()), device("gpu-0"), consumers=(consumer,)))
    value = world.add_shared("a")
    held = world.claim("shared").status.allocation
    spec = msgspec.structs.replace(value.spec, resource_claim_allocations=())
    value = world.server.put(msgspec.structs.replace(value, spec=spec))

    await world.run(value)

    assert held == world.claim("shared").status.allocation
    assert world.consumers("shared") == ["a"]


async def test_an_allocated_claim_needs_no_entry_in_the_bind_request(world: World) -> None:
    world.server.put(allocated(claim("shared", request()), device("gpu-0")))
    value = world.add_shared("a")
    spec = msgspec.structs.replace(value.spec, resource_claim_allocations=())

    assert await world.run(world.server.put(msgspec.structs.replace(value, spec=spec))) == Bound(NODE)
    assert world.consumers("shared") == ["a"]


async def test_the_257th_consumer_is_refused_and_nobody_loses_its_place(world: World) -> None:
    crowd = [pod(f"p{number}") for number in range(MAX_CONSUMERS_PER_CLAIM)]
    full = allocated(claim("shared", request()), consumers=crowd)
    status = msgspec.structs.replace(full.status, allocation=allocation("gpu-0"))
    world.server.put(msgspec.structs.replace(full, status=status))
    value = world.add_shared("a")

    ending = await world.run(value)

    assert isinstance(ending, Failed)
    assert "256 consumers" in ending.reason
    assert len(world.consumers("shared")) == MAX_CONSUMERS_PER_CLAIM


async def test_a_claim_that_two_names_of_the_pod_mean_is_written_once(world: World) -> None:
    world.server.put(claim("shared", request()))
    value = world.add_shared("a")
    owner = world.server.put(pod("a", claims={"gpu": "shared", "again": "shared"}))
    entries = value.spec.resource_claim_allocations
    both = (*entries, msgspec.structs.replace(entries[0], name="again"))
    spec = msgspec.structs.replace(value.spec, resource_claim_allocations=both)

    assert await world.run(world.server.put(msgspec.structs.replace(value, spec=spec))) == Bound(NODE)
    assert world.consumers("shared") == [owner.metadata.name]


async def test_success_is_reported_once_and_only_for_success(world: World) -> None:
    value = world.add_both_kinds()

    await world.run(value)
    await world.run(value)

    assert [event for event, _, _ in world.report.events] == ["Scheduled"]


async def test_a_pod_bound_before_a_crash_only_gets_its_bind_request_finished(world: World) -> None:
    value = world.add_extended()
    spec = msgspec.structs.replace(world.pod().spec, node_name=NODE)
    world.server.put(msgspec.structs.replace(world.pod(), spec=spec))

    assert await world.run(value) == Bound(NODE)
    assert world.verbs() == ["patch bindrequests/status"]


async def test_a_pod_that_the_cache_does_not_show_yet_is_read(world: World) -> None:
    value = world.add_extended()
    world.lag = 0.5
    shown = world.pod()
    world.server.remove(Pod, shown.key)
    world.start()
    world.server.put(shown)

    assert await world.run(value) == Bound(NODE)


async def test_a_long_pod_name_leaves_a_valid_claim_name(world: World) -> None:
    name = "a" * 37 + "-" + "b" * 30
    value = world.add_extended(name)

    await world.run(value)

    (special,) = world.special_claims(name)
    assert len(special.metadata.name) <= 63
    assert special.metadata.name.startswith("a" * 37 + "-extended-resources-")
    assert special.metadata.namespace == NAMESPACE
