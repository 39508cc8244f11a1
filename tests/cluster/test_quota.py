from dra_builders import manifests
from dra_builders.manifests import request
from dra_cluster.binds import POD, WRITES, begin_bind
from dra_cluster.faults import answer
from dra_cluster.mirror import CLAIMS, PODS
from dra_cluster.proxy import Proxy
from dra_cluster.world import World
from dra_controlplane.client import ApiError, Json, path_of
from dra_controlplane.waiting import wait_until

QUOTAS = "v1/resourcequotas"


def limit(world: World, name: str, amount: int, too_much: Json) -> None:
    """Puts a quota on the namespace; `too_much` is an object that it forbids."""
    hard = {name: str(amount)}
    world.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}, "spec": {"hard": hard}})
    # What the quota controller would do, if one ran here.
    path = path_of(QUOTAS, "few", namespace=world.namespace, subresource="status")
    world.api.patch(path, {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}})
    wait_until(lambda: is_refused(world, too_much), "the quota to be in force")


def is_refused(world: World, body: Json) -> bool:
    """Whether the server would refuse an object because of quota."""
    resource = PODS if body["kind"] == "Pod" else CLAIMS
    try:
        world.api.request("POST", path_of(resource, namespace=world.namespace) + "?dryRun=All", body)
    except ApiError as error:
        return "exceeded quota" in error.message
    return False


def test_an_undone_bind_is_charged_once(world: World, proxy: Proxy) -> None:
    limit(world, f"requests.{world.resource}", 2, manifests.pod("probe", limits={world.resource: 3}))
    with proxy.disturbed(WRITES["bind"], answer(403)):
        begin_bind(world)
        world.failed(POD)

    assert world.bound(POD) == world.named("n1")
    assert len(world.special_claims()) == 1


def test_a_special_claim_that_quota_forbids_is_explained(world: World) -> None:
    gpu = f"{world.named('gpu')}.example.com"
    limit(world, f"{gpu}.deviceclass.resource.k8s.io/devices", 1, manifests.claim("probe", request("r", gpu, count=2)))
    begin_bind(world)

    world.pending(POD, "exceeded quota")
    assert world.special_claims() == ()
