import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from dra_builders import manifests
from dra_cluster.faults import Match
from dra_cluster.proxy import Proxy
from dra_cluster.world import World
from dra_controlplane.client import ApiError, Json
from dra_controlplane.waiting import wait_until
from dra_scheduling.cycle.queue import backoff

ADMISSION = "admissionregistration.k8s.io/v1"
POLICIES = f"{ADMISSION}/validatingadmissionpolicies"
BINDINGS = f"{ADMISSION}/validatingadmissionpolicybindings"
REASON = "this pod may not run"
TRIES = 4
# Statuses say when something failed in whole seconds.
COARSE = 1.0
WRITES_A_TRY = 12


def policy(name: str, pod: str) -> tuple[Json, Json]:
    """An admission policy that refuses to bind a pod."""
    operation = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
    spec = {
        "matchConstraints": {"resourceRules": [operation]},
        "validations": [{"expression": f"object.metadata.name != '{pod}'", "message": REASON}],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    return (
        {"apiVersion": ADMISSION, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec},
        {
            "apiVersion": ADMISSION,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": binding,
        },
    )


@contextmanager
def refused(world: World, pod: str) -> Iterator[None]:
    """Nobody can bind a pod of that name while the block lasts."""
    name = world.named("policy")
    for body in policy(name, pod):
        world.api.create(body)
    try:
        wait_until(lambda: is_refused(world, pod), "the policy to be in force")
        yield
    finally:
        for kind in (BINDINGS, POLICIES):
            world.api.delete(kind, name)


def is_refused(world: World, pod: str) -> bool:
    """Whether the server would refuse to bind a pod of that name."""
    target = {"apiVersion": "v1", "kind": "Node", "name": "anywhere"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
    path = f"/api/v1/namespaces/{world.namespace}/pods/{pod}/binding?dryRun=All"
    try:
        world.api.request("POST", path, binding)
    except ApiError as error:
        return REASON in error.message
    return False


def test_a_pod_that_nobody_may_bind_neither_blocks_others_nor_floods_the_server(world: World, proxy: Proxy) -> None:
    world.gpu_node("n1", 1)
    world.gpu_template(world.gpu_class(extended=world.resource))
    with refused(world, "hopeless"):
        world.pod("hopeless", limits={world.resource: 1})
        world.told("hopeless", "BindFailed", REASON)

        world.pod("hopeful", manifests.from_template("gpu", "gpus"))
        world.bound("hopeful")

        assert REASON in world.failed("hopeless")["status"]["reason"]
        world.remove("v1/pods", "hopeless")


def test_retries_of_a_refused_pod_grow_apart(world: World, proxy: Proxy) -> None:
    world.gpu_node("n1", 1)
    world.gpu_class(extended=world.resource)
    tries = Match(method="POST", path=f"{world.namespace}/pods/hopeless/binding")
    with refused(world, "hopeless"):
        world.pod("hopeless", limits={world.resource: 1})
        wait_until(lambda: len(proxy.writes(tries)) >= TRIES, "some tries")
        moments = [one.moment for one in proxy.writes(tries)][:TRIES]
        writes = proxy.writes(Match(path=world.namespace))

    pauses = [after - before for before, after in itertools.pairwise(moments)]
    assert [pause >= backoff(tries) - COARSE for tries, pause in enumerate(pauses, start=1)] == [True] * len(pauses)
    assert len(writes) <= WRITES_A_TRY * TRIES
    assert world.bound("hopeless") == world.named("n1")


def test_a_refused_pod_says_why_it_waits(world: World) -> None:
    world.gpu_node("n1", 1)
    world.gpu_class(extended=world.resource)
    with refused(world, "hopeless"):
        world.pod("hopeless", limits={world.resource: 1})

        world.pending("hopeless", REASON)
