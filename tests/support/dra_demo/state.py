"""What the server says about the demo's objects at one moment."""

from collections.abc import Iterator

import msgspec

from dra_controlplane.client import ApiClient, Json
from dra_demo.objects import GROUP, NAMESPACE

BIND_REQUESTS = "scheduling.run.ai/v1alpha2/bindrequests"

Device = tuple[str, str, str]
"""Driver, pool and name."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Pods, claims, BindRequests and nodes by name, and every ResourceSlice."""

    pods: dict[str, Json]
    claims: dict[str, Json]
    bind_requests: dict[str, Json]
    nodes: dict[str, Json]
    slices: tuple[Json, ...]

    def claims_of(self, pod: Json) -> tuple[Json, ...]:
        """Return the pod's claims as far as they exist, the one for its extended resources last."""
        return tuple(self.claims[name] for name in _claim_names(pod) if name in self.claims)


def load(api: ApiClient) -> State:
    """Return the present state."""

    def by_name(resource: str, namespace: str | None = NAMESPACE) -> dict[str, Json]:
        return {item["metadata"]["name"]: item for item in api.items(resource, namespace=namespace)}

    return State(
        pods=by_name("v1/pods"),
        claims=by_name(f"{GROUP}/resourceclaims"),
        bind_requests=by_name(BIND_REQUESTS),
        nodes=by_name("v1/nodes", None),
        slices=api.items(f"{GROUP}/resourceslices"),
    )


def devices_of(claim: Json) -> tuple[Device, ...]:
    """Return the devices that a claim has."""
    results = allocation_of(claim).get("devices", {}).get("results") or ()
    return tuple((result["driver"], result["pool"], result["device"]) for result in results)


def allocation_of(claim: Json) -> Json:
    """Return the claim's allocation, empty if it has none."""
    allocation: Json = (claim.get("status") or {}).get("allocation") or {}
    return allocation


def node_of(pod: Json) -> str:
    """Return the node that the pod is bound to, or nothing."""
    return str(pod["spec"].get("nodeName") or "")


def scheduled_condition(pod: Json) -> Json:
    """Return the pod's PodScheduled condition, empty if it has none."""
    conditions: list[Json] = (pod.get("status") or {}).get("conditions") or []
    return next((one for one in conditions if one["type"] == "PodScheduled"), {})


def extended_status(pod: Json) -> Json:
    """Return which claim and requests serve the pod's extended resources, empty if none do."""
    status: Json = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    return status


def _claim_names(pod: Json) -> Iterator[str]:
    statuses = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    made = {one["name"]: one.get("resourceClaimName") for one in statuses}
    for reference in pod["spec"].get("resourceClaims") or ():
        name = reference.get("resourceClaimName") or made.get(reference["name"])
        if name:
            yield name
    if extended := extended_status(pod):
        yield extended["resourceClaimName"]
