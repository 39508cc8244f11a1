"""One test's part of the cluster: names that nobody else has, what it creates, and what it waits for."""

import uuid
from collections.abc import Mapping, Sequence

from dra_builders import manifests
from dra_cluster.mirror import BIND_REQUESTS, CLAIMS, EVENTS, PODS, Mirror
from dra_cluster.witness import SPECIAL, exclusive_devices, named_special_claim, phase_of
from dra_controlplane.client import ApiClient, ApiError, Json, path_of
from dra_controlplane.waiting import PATIENCE

NODES = "v1/nodes"
SLICES = "resource.k8s.io/v1/resourceslices"
CLASSES = "resource.k8s.io/v1/deviceclasses"
OF_CLUSTER = {
    "Node": NODES,
    "ResourceSlice": SLICES,
    "DeviceClass": CLASSES,
    "PriorityClass": "scheduling.k8s.io/v1/priorityclasses",
    "RuntimeClass": "node.k8s.io/v1/runtimeclasses",
}
NOT_FOUND = 404
CONFLICT = 409


class World:
    """Nodes, slices and classes are removed by :meth:`leave`; the rest goes with the namespace.

    `is_contested` says that another scheduler gives out the same devices.
    """

    def __init__(self, api: ApiClient, mirror: Mirror, namespace: str) -> None:
        self.api = api
        self.mirror = mirror
        self.namespace = namespace
        self.id = uuid.uuid4().hex[:6]
        self.driver = f"gpu-{self.id}.example.com"
        self.resource = f"{self.id}.example.com/gpu"
        self.is_contested = False
        self._of_cluster: dict[tuple[str, str], None] = {}

    def named(self, stem: str) -> str:
        """A name for an object without namespace."""
        return f"{stem}-{self.id}"

    def create(self, body: Json) -> Json:
        """Creates an object; one without namespace is removed in the end."""
        if body["kind"] in OF_CLUSTER:
            self._of_cluster[OF_CLUSTER[body["kind"]], body["metadata"]["name"]] = None
        return self.api.create(body, namespace=self.namespace)

    def ensure(self, body: Json) -> None:
        """Creates an object unless there is one of that name."""
        try:
            self.create(body)
        except ApiError as error:
            if error.code != CONFLICT:
                raise

    def remove(self, resource: str, name: str) -> None:
        """Deletes an object at once; one that is gone already is fine."""
        namespace = None if resource in OF_CLUSTER.values() else self.namespace
        options: Json | None = {"gracePeriodSeconds": 0} if resource == PODS else None
        try:
            self.api.delete(resource, name, namespace=namespace, options=options)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise

    def leave(self) -> None:
        """Removes what has no namespace, and every pod."""
        for pod in self.api.items(PODS, namespace=self.namespace):
            self.remove(PODS, pod["metadata"]["name"])
        for resource, name in reversed(self._of_cluster):
            self.remove(resource, name)

    def label_namespace(self, **labels: str | None) -> Json:
        """Gives the namespace labels, takes those away that are None, and returns it."""
        return self.api.patch(path_of("v1/namespaces", self.namespace), {"metadata": {"labels": labels}})

    # What clusters are made of

    def node(
        self, stem: str, *, labels: Mapping[str, str] | None = None, resources: Mapping[str, str] | None = None
    ) -> str:
        """Creates a node and returns its name."""
        return str(
            self.create(manifests.node(self.named(stem), labels=labels, resources=resources))["metadata"]["name"]
        )

    def publish(
        self, node: str, devices: Sequence[Json], *, stem: str = "gpus", generation: int = 1, count: int = 1
    ) -> str:
        """Publishes devices of the node as one slice of the pool of that name, and returns the slice's name."""
        name = f"{node}-{stem}-{generation}"
        pool = manifests.pool(node, generation=generation, count=count)
        self.create(manifests.resource_slice(name, driver=self.driver, pool=pool, devices=devices, nodeName=node))
        return name

    def gpu_node(self, stem: str, count: int, **rest: Mapping[str, str]) -> str:
        """Creates a node with that many equal devices, and returns its name."""
        name = self.node(stem, **rest)
        self.publish(name, manifests.numbered(count))
        return name

    def gpu_class(self, *expressions: str, stem: str = "gpu", extended: str = "") -> str:
        """Creates a class of the driver's devices and returns its name."""
        by_driver = f"device.driver == '{self.driver}'"
        name = f"{self.named(stem)}.example.com"
        self.create(manifests.device_class(name, by_driver, *expressions, extended=extended))
        return name

    def gpu_template(self, class_name: str, *expressions: str, stem: str = "gpus", **rest: object) -> str:
        """Creates a template with the one request `gpu`, and returns its name."""
        self.create(manifests.template(stem, manifests.request("gpu", class_name, *expressions, **rest)))
        return stem

    def gpu_claim(self, name: str, class_name: str, *expressions: str, **rest: object) -> Json:
        """Creates a claim with the one request `gpu`."""
        return self.create(manifests.claim(name, manifests.request("gpu", class_name, *expressions, **rest)))

    def pod(self, name: str, *claims: Json, **rest: object) -> Json:
        """Creates a pod as `manifests.pod` describes it."""
        return self.create(manifests.pod(name, *claims, **rest))  # type: ignore[arg-type]

    def allocate(self, claim: str, allocation: Json, *consumers: Json) -> Json:
        """Gives devices to a claim, as some scheduler would."""
        current = self.api.get(CLAIMS, claim, namespace=self.namespace)
        current["status"] = {"allocation": allocation, "reservedFor": [manifests.consumer(pod) for pod in consumers]}
        return self.api.put(current, subresource="status")

    def patch_status(self, resource: str, name: str, status: Json) -> None:
        """Merges something into the status of an object."""
        namespace = None if resource in OF_CLUSTER.values() else self.namespace
        self.api.patch(path_of(resource, name, namespace=namespace, subresource="status"), {"status": status})

    # What has become of them

    def find_pod(self, name: str) -> Json:
        """A pod as last seen; empty if there is none."""
        return self.mirror.find(PODS, self.namespace, name) or {}

    def node_of(self, name: str) -> str:
        """The node that a pod is bound to, empty while it is not."""
        return str((self.find_pod(name).get("spec") or {}).get("nodeName") or "")

    def bound(self, name: str, *, seconds: float = PATIENCE) -> str:
        """Waits until a pod is bound, and its claims are seen as they are by then, and returns its node."""
        node = self.mirror.until(lambda: self.node_of(name), f"pod {name} to be bound", seconds=seconds)
        self._see_all_of(name)
        return node

    def bound_pods(self) -> list[str]:
        """The names of the pods that are bound, sorted."""
        pods = self.mirror.items(PODS, self.namespace)
        return sorted(pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName"))

    def message(self, name: str) -> str:
        """Why a pod is pending, as its condition PodScheduled says."""
        conditions = (self.find_pod(name).get("status") or {}).get("conditions") or ()
        found = [one for one in conditions if one["type"] == "PodScheduled" and one["status"] == "False"]
        return str(found[0].get("message") or "") if found else ""

    def pending(self, name: str, *texts: str, seconds: float = PATIENCE) -> str:
        """Waits until a pod says why it is pending, with all of the texts, and returns the message."""

        def says() -> str:
            message = self.message(name)
            return message if all(text in message for text in texts) and not self.node_of(name) else ""

        try:
            return self.mirror.until(says, f"pod {name} to be pending with {texts}", seconds=seconds)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; it is on {self.node_of(name)!r} and says {self.message(name)!r}") from None

    def claim(self, name: str) -> Json:
        """A claim as last seen; empty if there is none."""
        return self.mirror.find(CLAIMS, self.namespace, name) or {}

    def claim_of(self, pod: str, entry: str = "gpu") -> Json:
        """The claim behind an entry of a pod's `spec.resourceClaims`, as last seen; empty if there is none yet."""
        return self.claim(_claims_named_by(self.find_pod(pod)).get(entry, ""))

    def special_claims(self, pod: str | None = None) -> tuple[Json, ...]:
        """The claims for extended resources, of one pod's name or of all."""
        return tuple(
            claim
            for claim in self.mirror.items(CLAIMS, self.namespace)
            if (claim["metadata"].get("annotations") or {}).get(SPECIAL) == "true"
            and pod in {None, *(owner["name"] for owner in claim["metadata"].get("ownerReferences") or ())}
        )

    def special_claim(self, pod: str) -> Json:
        """Waits until the claim that a pod's status names is there, of a bound pod with its devices, and returns it.

        Pods and claims are watched apart: of what was written first the news may come last.
        """

        def found() -> Json:
            claim = self.claim(named_special_claim(self.find_pod(pod)))
            is_whole = not self.node_of(pod) or "allocation" in (claim.get("status") or {})
            return claim if is_whole else {}

        return self.mirror.until(found, f"the special claim of pod {pod}")

    def request(self, pod: str) -> Json:
        """The BindRequest of a pod, as last seen; empty if there is none."""
        return self.mirror.find(BIND_REQUESTS, self.namespace, pod) or {}

    def ended(self, pod: str) -> Json:
        """Waits until the BindRequest of a pod is carried out, and claims are seen as they are by then; returns it."""

        def found() -> Json | None:
            request = self.request(pod)
            return request if request and phase_of(request) == "Succeeded" else None

        request = self.mirror.until(found, f"the BindRequest of {pod} to be carried out")
        self._see_all_of(pod)
        return request

    def failed(self, pod: str) -> Json:
        """Waits until a BindRequest of a pod has failed, and returns it as it was: the next one may be there by now."""

        def found() -> Json | None:
            history = (one for _, one in self.mirror.history(BIND_REQUESTS, self.namespace))
            return next((one for one in history if one["metadata"]["name"] == pod and phase_of(one) == "Failed"), None)

        return self.mirror.until(found, f"a BindRequest of {pod} to fail")

    def events(self, name: str, reason: str = "") -> tuple[Json, ...]:
        """The Events about an object of that name, of one reason or of any; others may write Events about nothing."""
        return tuple(
            event
            for namespace in (self.namespace, "default")
            for event in self.mirror.items(EVENTS, namespace)
            if event["involvedObject"].get("name") == name and reason in {"", event["reason"]}
        )

    def told(self, name: str, reason: str, *texts: str) -> str:
        """Waits for an Event about an object with all of the texts, and for all before it; returns its message."""

        def says() -> str:
            messages = [str(event.get("message")) for event in self.events(name, reason)]
            return next((message for message in messages if all(text in message for text in texts)), "")

        message = self.mirror.until(says, f"an event {reason} about {name} with {texts}")
        self.mirror.catch_up(self.namespace)
        return message

    def _see_all_of(self, name: str) -> None:
        """Waits until a pod, its BindRequest and its claims are seen as they are by now."""
        self.mirror.see(PODS, self.namespace, name)
        self.mirror.see(BIND_REQUESTS, self.namespace, name)
        pod = self.find_pod(name)
        for claim in {*_claims_named_by(pod).values(), named_special_claim(pod)} - {""}:
            self.mirror.see(CLAIMS, self.namespace, claim)


def _claims_named_by(pod: Json) -> dict[str, str]:
    """The name of the claim behind each entry of a pod's `spec.resourceClaims`, as far as there is one."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    entries = (*(spec.get("resourceClaims") or ()), *(status.get("resourceClaimStatuses") or ()))
    return {one["name"]: str(one["resourceClaimName"]) for one in entries if one.get("resourceClaimName")}


def devices(claim: Json) -> list[str]:
    """The names of a claim's devices, sorted."""
    return sorted(name for _, _, name in exclusive_devices(claim))


def consumers(claim: Json) -> list[str]:
    """The names of a claim's consumers, sorted."""
    return sorted(entry["name"] for entry in (claim.get("status") or {}).get("reservedFor") or ())
