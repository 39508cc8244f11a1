"""The cases of the library, brought about on a real API server and carried out by the running operator."""

import copy
from collections.abc import Iterator, Mapping

import pytest

from dra_cases import Case, Decisions, cases, differences
from dra_cases.decisions import Pending
from dra_cluster.mirror import BIND_REQUESTS, PODS
from dra_cluster.objects import HOSTNAME
from dra_cluster.operators import RunningOperator
from dra_cluster.witness import devices_taken, leftovers
from dra_cluster.world import World
from dra_controlplane.client import ApiError, Json, path_of
from dra_controlplane.waiting import wait_until
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.wire import read_as

ORDER = ("Namespace", "PriorityClass", "DeviceClass", "Node", "ResourceSlice", "ResourceClaimTemplate", "ResourceClaim")
CASES = [case for case in cases() if not case.expectation.offline]
HOME = "default"
DECIDED_SECONDS = 10.0


@pytest.fixture
def empty(world: World, scheduler: RunningOperator) -> Iterator[World]:
    """A cluster in which nothing is taken: cases use the same names, of devices too, as others before them."""
    world.mirror.until(
        lambda: devices_taken(world.mirror) == 0 and scheduler.metric("dra_devices_held") == 0, "free devices"
    )
    yield world
    # A bind that is under way may hold its devices once more after its pod has gone.
    world.mirror.until(lambda: not leftovers(world.mirror, world.namespace), "every bind to end")
    world.leave()


def create(world: World, body: Json) -> None:
    """Creates an object of a case; its namespace is the test's own."""
    if body["kind"] == "Namespace":
        world.api.patch(path_of("v1/namespaces", world.namespace), {"metadata": {"labels": body["metadata"]["labels"]}})
        return
    body = copy.deepcopy(body)
    body["metadata"].pop("namespace", None)
    if body["kind"] == "Node":
        body["metadata"].setdefault("labels", {}).setdefault(HOSTNAME, body["metadata"]["name"])
    elif body["kind"] == "Pod":
        admit(world, body["spec"])
        wait_until(lambda: is_admitted(world, body), "the classes of the pod to be known")
    world.create(body)


def is_admitted(world: World, pod: Json) -> bool:
    """Whether the server knows the pod's classes by now: it keeps them in a cache of its own."""
    try:
        world.api.request("POST", path_of(PODS, namespace=world.namespace) + "?dryRun=All", pod)
    except ApiError as error:
        if "PriorityClass" in error.message or "RuntimeClass" in error.message:
            return False
        raise
    return True


def admit(world: World, spec: Json) -> None:
    """Lets a pod ask for its priority and overhead by classes: an API server takes them in no other way."""
    if "priority" in spec:
        value = spec.pop("priority")
        spec["priorityClassName"] = world.named(f"{'minus' if value < 0 else 'plus'}-{abs(value)}")
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": value}
        world.ensure({**kind, "metadata": {"name": spec["priorityClassName"]}})
    if "overhead" in spec:
        spec["runtimeClassName"] = world.named("heavy")
        kind = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "any"}
        overhead = {"podFixed": spec["overhead"]}
        world.ensure({**kind, "metadata": {"name": spec["runtimeClassName"]}, "overhead": overhead})


def priority(pod: Json, classes: Mapping[str, int]) -> tuple[int, str]:
    """The place of a pod in one cycle over all pods."""
    spec = pod["spec"]
    return -int(spec.get("priority") or classes.get(spec.get("priorityClassName", ""), 0)), pod["metadata"]["name"]


def decisions(world: World) -> Decisions:
    """What has become of the pods, as a cycle in namespace default would tell it."""

    def at_home(name: str) -> str:
        return f"{HOME}/{name}"

    requests = {}
    for raw in world.mirror.items(BIND_REQUESTS, world.namespace):
        moved = {**raw, "metadata": {**raw["metadata"], "namespace": HOME}}
        requests[at_home(raw["metadata"]["name"])] = read_as(BindRequest, moved)
    pending = {}
    for pod in world.mirror.items(PODS, world.namespace):
        name = pod["metadata"]["name"]
        message = world.message(name).replace(f"{world.namespace}/", f"{HOME}/")
        if message and not pod["spec"].get("nodeName"):
            pending[at_home(name)] = Pending(at_home(name), message)
    return Decisions(bind_requests=requests, pending=pending)


def complaints(world: World, case: Case, pod: str = "") -> list[str]:
    """What is not as the case expects it, of one pod or of all."""
    found = differences(case.expectation, decisions(world))
    return [line for line in found if not pod or line.startswith(f"{HOME}/{pod}:")]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_case_comes_true_on_an_api_server(empty: World, case: Case) -> None:
    bodies: list[Json] = [dict(body) for body in case.objects]
    things = [body for body in bodies if body["kind"] != "Pod"]
    classes = {body["metadata"]["name"]: int(body["value"]) for body in things if body["kind"] == "PriorityClass"}
    pods = [body for body in bodies if body["kind"] == "Pod"]
    for body in sorted(things, key=lambda one: ORDER.index(str(one["kind"]))):
        create(empty, body)
    # One after the other, each decided before the next: so they come in the order of one cycle over all of them.
    for body in sorted(pods, key=lambda one: priority(one, classes)):
        create(empty, body)
        wait_for(empty, case, body["metadata"]["name"])

    assert complaints(empty, case) == []


def wait_for(world: World, case: Case, pod: str) -> None:
    """Waits until all is as the case expects it of a pod."""
    try:
        world.mirror.until(lambda: not complaints(world, case, pod), f"{pod} to be decided", seconds=DECIDED_SECONDS)
    except TimeoutError:
        pytest.fail("\n".join(complaints(world, case, pod)))
