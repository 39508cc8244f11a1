"""A bind with every kind of write in it, and how each of its writes is recognised."""

from collections.abc import Mapping
from types import MappingProxyType

from dra_builders.manifests import from_claim, from_template
from dra_cluster.faults import Match
from dra_cluster.mirror import CLAIMS
from dra_cluster.witness import SPECIAL
from dra_cluster.world import World, consumers, devices
from dra_controlplane.client import Json

POD = "worker"
OF_SPECIAL = rf"/resourceclaims/{POD}-extended-resources-[^/]+"
OF_TEMPLATE = rf"/resourceclaims/{POD}-made-[^/]+"

DECISION = Match(method="POST", path=r"/bindrequests$")
WRITES: Mapping[str, Match] = MappingProxyType(
    {
        "create special claim": Match(method="POST", path=r"/resourceclaims$"),
        "reserve special claim": Match(method="PUT", path=rf"{OF_SPECIAL}/status"),
        "protect template claim": Match(method="PATCH", path=rf"{OF_TEMPLATE}$"),
        "reserve template claim": Match(method="PUT", path=rf"{OF_TEMPLATE}/status"),
        "show special claim": Match(method="PATCH", path=rf"/pods/{POD}/status", body="extendedResourceClaimStatus"),
        "bind": Match(method="POST", path=rf"/pods/{POD}/binding"),
        "record success": Match(method="PATCH", path=rf"/bindrequests/{POD}/status", body='"Succeeded"'),
    }
)


def begin_bind(world: World) -> Json:
    """Creates a node with two devices, and a pod that needs both: by a template claim and as an extended resource."""
    world.gpu_node("n1", 2)
    world.gpu_template(world.gpu_class(extended=world.resource))
    return world.pod(POD, from_template("made", "gpus"), limits={world.resource: 1})


def begin_bind_with_named_claim(world: World) -> Json:
    """As `begin_bind`, with a third device by a claim that outlives the pod."""
    world.gpu_node("n1", 3)
    gpu = world.gpu_class(extended=world.resource)
    world.gpu_template(gpu)
    world.gpu_claim("named", gpu)
    return again(world)


def again(world: World) -> Json:
    """Creates the pod of `begin_bind_with_named_claim`, perhaps once more."""
    claims = (from_template("made", "gpus"), from_claim("named", "named"))
    return world.pod(POD, *claims, limits={world.resource: 1})


def assert_bound_once(world: World) -> None:
    """Holds when the pod is bound with one device in each of its claims, and never had a second special claim."""
    assert world.bound(POD) == world.named("n1")
    world.ended(POD)
    claims = [world.special_claim(POD), world.claim_of(POD, "made")]
    assert sorted(name for claim in claims for name in devices(claim)) == ["gpu-0", "gpu-1"]
    assert [consumers(claim) for claim in claims] == [[POD], [POD]]
    made = {
        claim["metadata"]["uid"]
        for _, claim in world.mirror.history(CLAIMS, world.namespace)
        if SPECIAL in (claim["metadata"].get("annotations") or {})
    }
    assert len(made) == 1
