"""Kubernetes objects as plain mappings, as short as a server accepts them."""

from collections.abc import Mapping, Sequence

from dra_kube.api import Json

SCHEDULER = "dra-scheduler"
HOSTNAME = "kubernetes.io/hostname"
ROOM = {"cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"}


def namespace(name: str) -> Json:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def node(name: str, *, labels: Mapping[str, str] | None = None, resources: Mapping[str, str] | None = None) -> Json:
    """A ready node with plenty of room."""
    room = {**ROOM, **(resources or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **(labels or {})}},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def device(name: str, **attributes: bool | int | str) -> Json:
    """A device; attributes get the type of their values."""
    kinds = {bool: "bool", int: "int", str: "string"}
    return {"name": name, "attributes": {key: {kinds[type(value)]: value} for key, value in attributes.items()}}


def numbered(count: int, *, first: int = 0, **attributes: bool | int | str) -> list[Json]:
    """Equal devices gpu-0, gpu-1 and so on."""
    return [device(f"gpu-{number}", **attributes) for number in range(first, first + count)]


def resource_slice(name: str, *, driver: str, pool: Json, devices: Sequence[Json], **reach: object) -> Json:
    """A piece of a pool, for the nodes that `reach` says: `nodeName`, `nodeSelector` or `allNodes`."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {"driver": driver, "pool": pool, "devices": list(devices), **reach},
    }


def pool(name: str, *, generation: int = 1, count: int = 1) -> Json:
    """The pool that a piece belongs to."""
    return {"name": name, "generation": generation, "resourceSliceCount": count}


def device_class(name: str, *expressions: str, extended: str = "") -> Json:
    """A DeviceClass of the devices that all expressions hold for."""
    spec: Json = {"selectors": [{"cel": {"expression": text}} for text in expressions]}
    if extended:
        spec["extendedResourceName"] = extended
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def request(name: str, class_name: str, *expressions: str, **rest: object) -> Json:
    """A request for devices of a class; `rest` are fields such as `count` and `allocationMode`."""
    selectors = [{"cel": {"expression": text}} for text in expressions]
    return {"name": name, "exactly": {"deviceClassName": class_name, "selectors": selectors, **rest}}


def claim(name: str, *requests: Json, **devices: object) -> Json:
    """A ResourceClaim."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": list(requests), **devices}},
    }


def template(name: str, *requests: Json, **devices: object) -> Json:
    """A ResourceClaimTemplate."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": {"devices": {"requests": list(requests), **devices}}},
    }


def container(name: str, *claims: str, limits: Mapping[str, str | int] | None = None, **rest: object) -> Json:
    """A container that uses claims of its pod by their names there, and extended resources."""
    resources: Json = {"limits": {key: str(value) for key, value in (limits or {}).items()}}
    if claims:
        resources["claims"] = [{"name": one} for one in claims]
    return {"name": name, "image": "example.com/app", "resources": resources, **rest}


def from_claim(name: str, claim_name: str) -> Json:
    """An entry of `spec.resourceClaims` for a claim that exists by itself."""
    return {"name": name, "resourceClaimName": claim_name}


def from_template(name: str, template_name: str) -> Json:
    """An entry of `spec.resourceClaims` for a claim that is made for the pod."""
    return {"name": name, "resourceClaimTemplateName": template_name}


def pod(
    name: str, *claims: Json, limits: Mapping[str, str | int] | None = None, on: str | None = None, **spec: object
) -> Json:
    """A pod for our scheduler: one container that uses all claims and the limits, wanted on the node `on`."""
    used = [str(entry["name"]) for entry in claims]
    wanted: Json = {
        "schedulerName": SCHEDULER,
        "terminationGracePeriodSeconds": 0,
        "containers": [container("main", *used, limits=limits)],
    }
    if claims:
        wanted["resourceClaims"] = list(claims)
    if on is not None:
        wanted["nodeSelector"] = {HOSTNAME: on}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {**wanted, **spec}}


def allocation(node_name: str, *results: Json) -> Json:
    """An allocation that only one node can use."""
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    return {
        "devices": {"results": list(results)},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }


def result(request_name: str, *, driver: str, pool_name: str, device_name: str) -> Json:
    """One device of an allocation."""
    return {"request": request_name, "driver": driver, "pool": pool_name, "device": device_name}


def consumer(of: Json) -> Json:
    """An entry of `status.reservedFor` for a pod as the server holds it."""
    return {"resource": "pods", "name": of["metadata"]["name"], "uid": of["metadata"]["uid"]}
