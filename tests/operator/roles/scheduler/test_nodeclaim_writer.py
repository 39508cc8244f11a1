import msgspec
import pytest

from dra_kube.errors import ApiError, ThrottledError, UnclearError
from dra_operating.api import Fault
from dra_operating.objects import at
from dra_operating.server import ServerInMemory
from dra_operating.supply import cpu_pod, instance_type, node_pool
from dra_operator.kinds import NODE_CLAIMS, PODS
from dra_operator.roles.scheduler.nodeclaim_writer import NodeClaimWriter, OrderReports
from dra_operator.watch.cache import Cache
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.decisions import NodeClaimOrder
from dra_scheduling.cycle.messages import nominated_to_nodeclaim
from dra_scheduling.inventory import nominees_of
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimStatus
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning import provision
from dra_scheduling.wire import read_as, write


class World:
    """A server, and orders for it as plans make them."""

    def __init__(self) -> None:
        self.server = ServerInMemory()
        self.cache = Cache()
        self.may_write = True
        self.told: list[str] = []
        self.refusals: list[str] = []
        reports = OrderReports(
            ended=lambda _, result: self.told.append(result.value),
            refused=lambda _, message: self.refusals.append(message),
        )
        self.writer = NodeClaimWriter(self.server, self.cache, reports, may_write=lambda: self.may_write)
        self.cluster = Cluster()
        self.cluster.apply(node_pool())
        self.cluster.apply(instance_type())

    def order(self, *names: str) -> NodeClaimOrder:
        """What a plan wants for these pods, which nothing else is planned for."""
        pods = [cpu_pod(name) for name in names]
        for pod in pods:
            self.cache.put(at(pod, 1))
            self.cluster.apply(pod)
            self.server.put(PODS.object_path(pod.key), write(pod))
        result = provision(self.cluster, pods)
        (claim,) = (*result.created, *result.extended)
        waiting = tuple(nominated_to_nodeclaim(one.pod, claim) for one in result.nominations)
        return NodeClaimOrder(claim=claim, is_new=bool(result.created), nominated=waiting)

    def see(self, claim: NodeClaim) -> NodeClaim:
        """The server has the NodeClaim, and cache and cluster have seen it."""
        found = read_as(NodeClaim, self.server.put(path_of(claim), write(claim)))
        self.cache.put(found)
        self.cluster.apply(found)
        return found

    def pods(self, claim: NodeClaim) -> list[str]:
        """The pods that the NodeClaim names on the server."""
        return [one.key.name for one in nominees_of(read_as(NodeClaim, self.server.objects[path_of(claim)]))]


def path_of(claim: NodeClaim) -> str:
    return f"{NODE_CLAIMS.path}/{claim.name}"


@pytest.fixture
def world() -> World:
    return World()


async def test_a_new_node_claim_is_one_write_with_its_pods(world: World) -> None:
    order = world.order("a", "b")

    await world.writer.write(order)

    assert (world.told, world.server.verbs(), world.pods(order.claim)) == (["Done"], ["create"], ["a", "b"])


@pytest.mark.parametrize("change", ["gone", "made anew", "being deleted", "bound"])
async def test_nothing_is_made_for_pods_that_only_the_cache_has(world: World, change: str) -> None:
    order = world.order("a")
    pod = order.nominated[0].pod
    path = PODS.object_path(pod.key)
    raw = world.server.objects.pop(path)
    now = {
        "made anew": {"metadata": raw["metadata"] | {"uid": "another"}},
        "being deleted": {"metadata": raw["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        "bound": {"spec": raw["spec"] | {"nodeName": "n1"}},
    }
    if change in now:
        world.server.put(path, raw | now[change])

    await world.writer.write(order)

    assert (world.told, world.server.verbs()) == (["Dropped"], [])


async def test_one_pod_that_is_left_is_enough(world: World) -> None:
    order = world.order("a", "b")
    del world.server.objects[PODS.object_path(order.nominated[0].pod.key)]

    await world.writer.write(order)

    assert (world.told, world.pods(order.claim)) == (["Done"], ["a", "b"])


async def test_a_node_claim_takes_more_pods_under_the_version_that_was_seen(world: World) -> None:
    world.see(world.order("a").claim)
    order = world.order("b")
    assert not order.is_new

    await world.writer.write(order)

    assert (world.told, world.server.verbs(), world.pods(order.claim)) == (["Done"], ["patch"], ["a", "b"])


async def test_a_node_claim_that_changed_unseen_is_left_to_the_next_plan(world: World) -> None:
    claim = world.see(world.order("a").claim)
    order = world.order("b")
    world.server.put(path_of(claim), write(claim))

    await world.writer.write(order)

    assert (world.told, world.pods(claim)) == (["Conflict"], ["a"])


async def test_a_newer_version_of_the_same_is_no_obstacle(world: World) -> None:
    claim = world.see(world.order("a").claim)
    order = world.order("b")
    world.cache.put(read_as(NodeClaim, world.server.put(path_of(claim), write(claim))))

    await world.writer.write(order)

    assert (world.told, world.pods(claim)) == (["Done"], ["a", "b"])


async def test_a_node_claim_whose_machine_is_chosen_meanwhile_is_not_extended(world: World) -> None:
    claim = world.see(world.order("a").claim)
    order = world.order("b")
    world.see(msgspec.structs.replace(claim, status=NodeClaimStatus(provider_id="x://1")))

    await world.writer.write(order)

    assert (world.told, world.server.verbs()) == (["Dropped"], [])


async def test_a_node_claim_that_is_gone_is_not_extended(world: World) -> None:
    claim = world.see(world.order("a").claim)
    order = world.order("b")
    del world.server.objects[path_of(claim)]

    await world.writer.write(order)

    assert (world.told, world.refusals) == (["Dropped"], [])


@pytest.mark.parametrize("is_applied", [False, True], ids=["lost", "applied"])
@pytest.mark.parametrize("verb", ["create", "patch"])
async def test_an_unclear_answer_is_followed_by_a_look(world: World, verb: str, *, is_applied: bool) -> None:
    order = world.order("a")
    if verb == "patch":
        world.see(order.claim)
        order = world.order("b")
    world.server.faults.append(Fault(verb=verb, path="", error=UnclearError(verb, 500), is_applied=is_applied))

    await world.writer.write(order)

    assert world.told == ["Done"]
    assert world.pods(order.claim) == [one.key.name for one in nominees_of(order.claim)]
    assert [path for path in world.server.objects if path.startswith(NODE_CLAIMS.path)] == [path_of(order.claim)]


async def test_what_another_replica_has_written_is_taken_in(world: World) -> None:
    order = world.order("a")
    world.server.put(path_of(order.claim), write(order.claim))

    await world.writer.write(order)

    assert world.told == ["Done"]
    assert [one["metadata"]["name"] for one in world.server.learned] == [order.claim.name]


async def test_a_node_claim_of_that_name_for_other_pods_is_not_ours(world: World) -> None:
    order = world.order("a")
    metadata = msgspec.structs.replace(order.claim.metadata, annotations={})
    world.server.put(path_of(order.claim), write(msgspec.structs.replace(order.claim, metadata=metadata)))

    await world.writer.write(order)

    assert world.told == ["Conflict"]


async def test_a_busy_server_is_asked_again(world: World) -> None:
    world.server.faults.append(Fault(verb="create", path="", error=ThrottledError("create", 429)))

    await world.writer.write(world.order("a"))

    assert world.told == ["Done"]


async def test_a_refusal_is_told_to_the_pods(world: World) -> None:
    error = ApiError("create nodeclaims", 403, reason="Forbidden", message="no permission")
    world.server.faults.append(Fault(verb="create", path="", error=error))

    await world.writer.write(world.order("a"))

    assert (world.told, len(world.refusals)) == (["Refused"], 1)


async def test_nothing_is_written_without_leadership(world: World) -> None:
    world.may_write = False

    await world.writer.write(world.order("a"))

    assert (world.told, world.server.calls) == (["Dropped"], [])


async def test_no_node_is_made_for_pods_that_are_all_gone(world: World) -> None:
    order = world.order("a")
    world.cache.drop(Pod, ObjectKey("default", "a"), "uid-default-a")

    await world.writer.write(order)

    assert (world.told, world.server.calls) == (["Dropped"], [])


async def test_a_node_claim_that_is_too_many_is_deleted_as_it_was_seen(world: World) -> None:
    double = world.see(world.order("a").claim)

    await world.writer.take_back(double)

    assert path_of(double) not in world.server.objects


@pytest.mark.parametrize("change", ["touched", "not leading"])
async def test_a_node_claim_that_may_not_be_too_many_any_more_stays(world: World, change: str) -> None:
    double = world.see(world.order("a").claim)
    if change == "touched":
        world.server.put(path_of(double), write(double))
    world.may_write = change != "not leading"

    await world.writer.take_back(double)

    assert path_of(double) in world.server.objects
