import json

import pytest
from aiohttp import web

from dra_builders.manifests import from_claim, from_template
from dra_cluster.apart import Apart
from dra_cluster.faults import Exchange, Match, answer
from dra_cluster.operators import BY_KOPF, BY_PROGRAM, RunningOperator
from dra_cluster.proxy import Proxy
from dra_cluster.world import World, devices
from dra_controlplane.client import ApiClient, Json
from dra_controlplane.waiting import wait_until

RULES = "devicetaintrules"
TAINT = {"key": "example.com/broken", "value": "fan"}
GROUP = "/apis/resource.k8s.io"


def served(api: ApiClient) -> str:
    """The version in which the server has DeviceTaintRules, empty if in none."""
    group = next(one for one in api.request("GET", "/apis")["groups"] if one["name"] == "resource.k8s.io")
    for version in (entry["version"] for entry in group["versions"]):
        resources = api.request("GET", f"{GROUP}/{version}")["resources"]
        if RULES in {entry["name"] for entry in resources}:
            return str(version)
    return ""


@pytest.fixture
def ruled(world: World) -> World:
    """A part of a cluster that serves DeviceTaintRules without any flag."""
    if not served(world.api):
        pytest.skip("this version of Kubernetes serves no DeviceTaintRules unless told to")
    return world


def taint(
    world: World, name: str, effect: str = "NoSchedule", *, known_to: RunningOperator | None = None, **selector: str
) -> str:
    """Taints devices of the world's driver, and returns the name of the rule once the operator knows of it."""
    body: Json = {
        "apiVersion": f"resource.k8s.io/{served(world.api)}",
        "kind": "DeviceTaintRule",
        "metadata": {"name": world.named(name)},
        "spec": {"taint": {**TAINT, "effect": effect}, "deviceSelector": {"driver": world.driver, **selector}},
    }
    made = world.create(body)
    if known_to is not None:
        known_to.wait_seen(made)
    return str(made["metadata"]["name"])


def lift(world: World, name: str) -> None:
    world.api.request("DELETE", f"{GROUP}/{served(world.api)}/{RULES}/{name}")


def wants_one(world: World) -> None:
    """A node with one device, and a pod that wants one."""
    world.gpu_node("n1", 1)
    world.gpu_template(world.gpu_class())


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_a_rule_keeps_a_pod_pending_until_it_goes(ruled: World, scheduler: RunningOperator, effect: str) -> None:
    wants_one(ruled)
    name = taint(ruled, "maintenance", effect, known_to=scheduler)
    ruled.pod("trainer", from_template("gpu", "gpus"))
    ruled.pending("trainer", f"not tolerated: example.com/broken=fan:{effect} of DeviceTaintRule {name}")

    lift(ruled, name)

    assert ruled.bound("trainer") == ruled.named("n1")


def test_a_rule_for_one_pool_leaves_the_others_alone(ruled: World, scheduler: RunningOperator) -> None:
    kept, tainted = (ruled.gpu_node(name, 1) for name in ("n2", "n1"))
    ruled.gpu_template(ruled.gpu_class())
    lifted = taint(ruled, "maintenance", known_to=scheduler, pool=tainted)
    ruled.pod("trainer", from_template("gpu", "gpus"))

    assert ruled.bound("trainer") == kept
    lift(ruled, lifted)


def test_who_tolerates_the_taint_for_a_while_is_placed(ruled: World) -> None:
    ruled.gpu_node("n1", 1)
    lifted = taint(ruled, "leaving", "NoExecute")
    briefly = {"key": TAINT["key"], "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600}
    ruled.gpu_claim("tolerant", ruled.gpu_class(), tolerations=[briefly])
    ruled.pod("trainer", from_claim("gpu", "tolerant"))

    assert ruled.bound("trainer") == ruled.named("n1")
    assert devices(ruled.claim("tolerant")) == ["gpu-0"]
    lift(ruled, lifted)


def test_a_rule_that_was_there_first_is_known_before_anything_is_decided(
    ruled: World, proxy: Proxy, scheduler: RunningOperator
) -> None:
    wants_one(ruled)
    scheduler.terminate()
    name = taint(ruled, "maintenance")
    ruled.pod("trainer", from_template("gpu", "gpus"))

    with proxy.disturbed(Match(path=f"/{RULES}\\?"), answer(500)) as held:
        scheduler.start()
        held.wait()
        wait_until(lambda: f"{RULES}: not listed yet" in scheduler.ask("/readyz")[1], "the rules to be waited for")
    scheduler.wait_ready()

    ruled.pending("trainer", f"DeviceTaintRule {name}")
    lift(ruled, name)
    ruled.bound("trainer")


async def without_rules(exchange: Exchange) -> web.StreamResponse:
    """Answers as a server of 1.36 that was told nothing."""
    found = await exchange.forward()
    assert isinstance(found, web.Response)
    assert isinstance(found.body, bytes)
    content = json.loads(found.body)
    content["resources"] = [one for one in content.get("resources", ()) if not one["name"].startswith(RULES)]
    return web.json_response(content, status=found.status)


@pytest.mark.controlplane
def test_a_cluster_without_rules_is_served_all_the_same(apart: Apart, site: World) -> None:
    # Any process that looks again what is served ends when rules are gone, so that it is to be one of the test's own.
    with apart.proxy.disturbed(Match(method="GET", path=f"{GROUP}/v1(beta2)?$"), without_rules):
        operator = apart.operator("unruled")
        wants_one(site)
        site.pod("trainer", from_template("gpu", "gpus"))

        assert site.bound("trainer") == site.named("n1")
        operator.kill()
    log = operator.log_tail(most=10_000_000)
    assert "optional kinds" in log
    assert f"{RULES} in resource.k8s.io" not in log
    assert "Unresolved resources" not in log


@pytest.mark.controlplane
@pytest.mark.parametrize("command", [BY_KOPF, BY_PROGRAM], ids=["kopf run", "dra-operator"])
def test_rules_are_read_in_the_version_that_there_is(apart: Apart, site: World, command: tuple[str, ...]) -> None:
    operator = apart.operator(f"ruled-{len(command)}", command)
    wants_one(site)
    name = taint(site, "maintenance", known_to=operator)
    site.pod("trainer", from_template("gpu", "gpus"))
    site.pending("trainer", f"DeviceTaintRule {name}")

    lift(site, name)

    assert site.bound("trainer") == site.named("n1")
    assert f"devicetaintrules in resource.k8s.io/{served(site.api)}" in operator.log_tail(most=10_000_000)
    operator.kill()
