"""A case of the library, brought about on a real API server and carried out by the running operator."""

import copy
from collections.abc import Iterator, Mapping

from dra_builders.manifests import HOSTNAME, consumer
from dra_cases import Case, Decisions, differences
from dra_cases.decisions import Pending
from dra_cluster.mirror import BIND_REQUESTS, CLAIMS, PODS
from dra_cluster.operators import RunningOperator
from dra_cluster.witness import named_special_claim
from dra_cluster.world import World
from dra_controlplane.client import ApiError, Json
from dra_controlplane.waiting import wait_until
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.wire import read_as

ORDER = ("Namespace", "PriorityClass", "DeviceClass", "Node", "ResourceSlice", "ResourceClaimTemplate", "ResourceClaim")
# Kinds that no operator watches.
UNSEEN = ("PriorityClass",)
HOME = "default"


class Play:
    """One case in one test's part of the cluster. What it finds wrong comes back as lines."""

    def __init__(self, world: World, case: Case) -> None:
        self._world = world
        self._expectation = case.expectation
        bodies: list[Json] = [dict(body) for body in case.objects]
        self._things = [body for body in bodies if body["kind"] != "Pod"]
        classes = {
            body["metadata"]["name"]: int(body["value"]) for body in self._things if body["kind"] == "PriorityClass"
        }
        pods = [body for body in bodies if body["kind"] == "Pod"]
        self._pods = sorted(pods, key=lambda one: _priority(one, classes))

    def set_up(self, *operators: RunningOperator) -> None:
        """Creates everything but the pods, and waits until the operators know it."""
        things = sorted(self._things, key=lambda one: ORDER.index(str(one["kind"])))
        made = [self._create(body) for body in things]
        for operator in operators:
            operator.wait_seen(*(one for one in made if one["kind"] not in UNSEEN))

    def pods_come(self) -> list[str]:
        """Creates the pods and returns what is not as the case expects it, of the first such pod.

        One comes after the other, each decided before the next: in the order of one cycle over all of them.
        """
        for body in self._pods:
            self._create(body)
            wrong = self._settled(body["metadata"]["name"])
            if wrong:
                return wrong
        return self._complaints()

    def pods_end(self) -> None:
        """Removes the pods, the last first so that none gets what another leaves; then no claim has devices."""
        for body in reversed(self._pods):
            self._world.remove(PODS, body["metadata"]["name"])
        self._world.mirror.until(lambda: not self.allocations(), "every claim to lose its devices")

    def allocations(self) -> dict[str, Json]:
        """The allocation of each claim that has one, by the claim's UID."""
        return {
            claim["metadata"]["uid"]: allocation
            for claim in self._world.mirror.items(CLAIMS, self._world.namespace)
            if (allocation := _allocation(claim))
        }

    def _settled(self, pod: str) -> list[str]:
        """Waits until all is as the case expects it of a pod, and returns what is not in time."""

        def wrong() -> list[str]:
            return self._complaints(pod) + list(not_carried_out(self._world, pod))

        try:
            self._world.mirror.until(lambda: not wrong(), f"{pod} to be settled")
        except TimeoutError:
            return wrong()
        return []

    def _complaints(self, pod: str = "") -> list[str]:
        """What is not decided as the case expects it, of one pod or of all."""
        found = differences(self._expectation, self._decisions())
        return [line for line in found if not pod or line.startswith(f"{HOME}/{pod}:")]

    def _decisions(self) -> Decisions:
        """What has become of the pods, as a cycle in namespace default would tell it."""
        world = self._world
        pods = {pod["metadata"]["uid"] for pod in world.mirror.items(PODS, world.namespace)}
        requests = {}
        for raw in world.mirror.items(BIND_REQUESTS, world.namespace):
            if raw["spec"]["podUID"] not in pods:
                continue
            moved = {**raw, "metadata": {**raw["metadata"], "namespace": HOME}}
            requests[f"{HOME}/{raw['metadata']['name']}"] = read_as(BindRequest, moved)
        pending = {}
        for pod in world.mirror.items(PODS, world.namespace):
            name = f"{HOME}/{pod['metadata']['name']}"
            message = world.message(pod["metadata"]["name"]).replace(f"{world.namespace}/", f"{HOME}/")
            if message and not pod["spec"].get("nodeName"):
                pending[name] = Pending(name, message)
        return Decisions(bind_requests=requests, pending=pending)

    def _create(self, body: Json) -> Json:
        """Creates an object of a case, and returns it; its namespace is the test's own."""
        world = self._world
        if body["kind"] == "Namespace":
            return world.label_namespace(**body["metadata"]["labels"])
        body = copy.deepcopy(body)
        body["metadata"].pop("namespace", None)
        if body["kind"] == "Node":
            body["metadata"].setdefault("labels", {}).setdefault(HOSTNAME, body["metadata"]["name"])
        elif body["kind"] == "Pod":
            _admit(world, body["spec"])
        made = wait_until(lambda: _admitted(world, body), "the server to know what the object names")
        if body["kind"] == "Pod" and "status" in body:
            world.patch_status(PODS, body["metadata"]["name"], body["status"])
        return made


def not_carried_out(world: World, name: str) -> Iterator[str]:
    """Yield what the API server does not hold yet of the decision about a pod: node, devices, reservations, mappings.

    A pod without a decision, as one that is pending, lacks nothing.
    """
    pod, decision = world.find_pod(name), world.request(name).get("spec")
    if not pod or decision is None or decision["podUID"] != pod["metadata"]["uid"]:
        return
    if world.node_of(name) != decision["selectedNode"]:
        yield f"{name} is not bound to {decision['selectedNode']}: {world.request(name).get('status')}"
    for entry in decision.get("resourceClaimAllocations") or ():
        yield from _other(
            f"{name}/{entry['name']}", entry["allocation"], _allocation(world.claim_of(name, entry["name"]))
        )
    for entry in (pod.get("spec") or {}).get("resourceClaims") or ():
        yield from _not_reserved(world.claim_of(name, entry["name"]), pod)
    field = "nodeAllocatableResourceClaimStatuses"
    yield from _other(f"{name}/{field}", decision.get(field), (pod.get("status") or {}).get(field))
    special = decision.get("extendedResourceClaimAllocation")
    if special is not None:
        claim = world.claim(named_special_claim(pod))
        yield from _other(f"{name}/extended", special["allocation"], _allocation(claim))
        yield from _not_reserved(claim, pod)
        shown = ((pod.get("status") or {}).get("extendedResourceClaimStatus") or {}).get("requestMappings")
        yield from _other(f"{name}/mappings", special["containerMappings"], shown)


def _other(what: str, decided: object, held: object) -> Iterator[str]:
    if decided != held:
        yield f"{what}: decided {decided}, the server holds {held}"


def _not_reserved(claim: Json, pod: Json) -> Iterator[str]:
    # A template may make no claim at all; then there is nothing to reserve.
    if claim and consumer(pod) not in ((claim.get("status") or {}).get("reservedFor") or ()):
        yield f"claim {claim['metadata']['name']} is not reserved for {pod['metadata']['name']}"


def _allocation(claim: Json) -> Json:
    """The allocation of a claim without the time at which it was made; empty if there is none."""
    found = dict((claim.get("status") or {}).get("allocation") or {})
    found.pop("allocationTimestamp", None)
    return found


def _priority(pod: Json, classes: Mapping[str, int]) -> tuple[int, str]:
    """The place of a pod in one cycle over all pods."""
    spec = pod["spec"]
    return -int(spec.get("priority") or classes.get(spec.get("priorityClassName", ""), 0)), pod["metadata"]["name"]


def _admitted(world: World, body: Json) -> Json | None:
    """Creates an object, unless the server does not know its classes or node yet, which are in caches of its own."""
    try:
        return world.create(body)
    except ApiError as error:
        if any(words in error.message for words in ("PriorityClass", "RuntimeClass", "not found for device")):
            return None
        raise


def _admit(world: World, spec: Json) -> None:
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
