"""Whether what was shown is true, read from the server once more and compared with what Kubernetes promises."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from dra_controlplane.client import Json
from dra_demo.objects import RESOURCE
from dra_demo.rows import Row, limits_of, rows
from dra_demo.state import (
    Device,
    State,
    allocation_of,
    devices_of,
    extended_status,
    node_of,
    scheduled_condition,
)
from dra_demo.world import Place

EXTENDED_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at; `problems` are the ways in which it is not true."""

    text: str
    problems: tuple[str, ...] = ()

    @property
    def is_true(self) -> bool:
        """Whether nothing contradicts it."""
        return not self.problems


def findings(shown: Sequence[Row], state: State, expected: Mapping[str, Place]) -> Iterator[Finding]:
    """Yield everything that was looked at, pod by pod and then for all of them together."""
    for name, place in expected.items():
        pod = state.pods.get(name)
        if pod is None:
            yield Finding(f"{name}: exists", ("there is no such pod",))
        elif place.nodes:
            yield _bound(pod, place, state)
            if state.claims_of(pod):
                yield _reserved(pod, place, state)
            if extended_status(pod):
                yield _mapped(pod, state)
        else:
            yield _pending(pod, state)
    yield _once(state)
    yield _published(state)
    yield _faithful(shown, rows(state, expected))


def _bound(pod: Json, place: Place, state: State) -> Finding:
    name, node = pod["metadata"]["name"], node_of(pod)
    problems = []
    if node not in place.nodes:
        problems.append(f"expected to be bound to {' or '.join(place.nodes)}, is {node or 'unbound'}")
    request = state.bind_requests.get(name, {})
    if request.get("spec", {}).get("selectedNode") != node:
        problems.append("no BindRequest names this node")
    if (request.get("status") or {}).get("phase") != "Succeeded":
        problems.append("its BindRequest has not succeeded")
    served, offered = _from_plugin(pod), _offered_by_plugin(state, node)
    if sum(_from_plugin(one) for one in state.pods.values() if node_of(one) == node) > offered:
        problems.append(f"pods on {node} take more than the {offered} {RESOURCE} that it offers")
    if not place.devices and state.claims_of(pod):
        problems.append("has a claim though it needs none")
    if place.devices and not state.claims_of(pod):
        problems.append("has no claim")
    how = f", {served} {RESOURCE} from its device plugin" if served else ""
    return Finding(f"{name}: bound to {node}{how}; BindRequest Succeeded", tuple(problems))


def _reserved(pod: Json, place: Place, state: State) -> Finding:
    name, uid, problems = pod["metadata"]["name"], pod["metadata"]["uid"], []
    claims = state.claims_of(pod)
    for claim in claims:
        reserved = (claim.get("status") or {}).get("reservedFor") or ()
        if uid not in {one["uid"] for one in reserved}:
            problems.append(f"claim {claim['metadata']['name']} is not reserved for it")
        if not _selects(allocation_of(claim), node_of(pod)):
            problems.append(f"claim {claim['metadata']['name']} is not allocated for node {node_of(pod)}")
    devices = [device for claim in claims for device in devices_of(claim)]
    if len(devices) != place.devices:
        problems.append(f"expected {place.devices} devices, has {len(devices)}")
    names = ", ".join(claim["metadata"]["name"] for claim in claims)
    return Finding(f"{name}: claim {names} is reserved for it, with {_listed(devices)}", tuple(problems))


def _mapped(pod: Json, state: State) -> Finding:
    status, name = extended_status(pod), pod["metadata"]["name"]
    claim = state.claims.get(status["resourceClaimName"])
    if claim is None:
        return Finding(f"{name}: its status names its claim", (f"there is no claim {status['resourceClaimName']}",))
    meta, problems = claim["metadata"], []
    owner: Json = next((one for one in meta.get("ownerReferences") or () if one.get("controller")), {})
    if owner.get("uid") != pod["metadata"]["uid"] or (meta.get("annotations") or {}).get(EXTENDED_ANNOTATION) != "true":
        problems.append(f"claim {meta['name']} is not the extended resource claim of this pod")
    got = Counter(result["request"] for result in allocation_of(claim).get("devices", {}).get("results") or ())
    mappings = status.get("requestMappings") or []
    for resource, amount in limits_of(pod).items():
        requests = [
            one["requestName"] for one in mappings if (one["containerName"], one["resourceName"]) == ("main", resource)
        ]
        if sum(got[request] for request in requests) != int(amount):
            problems.append(f"its container does not get {amount} devices for {resource}")
    text = "; ".join(f"{one['containerName']}'s {one['resourceName']} is {one['requestName']}" for one in mappings)
    return Finding(f"{name}: its status tells kubelet that {text} of claim {meta['name']}", tuple(problems))


def _pending(pod: Json, state: State) -> Finding:
    name, uid, condition = pod["metadata"]["name"], pod["metadata"]["uid"], scheduled_condition(pod)
    problems = []
    if node_of(pod):
        problems.append(f"is bound to {node_of(pod)}, where it cannot run")
    if (condition.get("status"), condition.get("reason")) != ("False", "Unschedulable") or not condition.get("message"):
        problems.append("its PodScheduled condition does not say why it waits")
    held = [claim["metadata"]["name"] for claim in state.claims.values() if _is_held_by(claim, uid)]
    problems += [f"claim {one} holds devices for it" for one in held]
    if name in state.bind_requests:
        problems.append("it has a BindRequest")
    return Finding(f"{name}: pending, holds nothing, and its PodScheduled condition says why", tuple(problems))


def _once(state: State) -> Finding:
    holders = [(device, claim["metadata"]["name"]) for claim in state.claims.values() for device in devices_of(claim)]
    counts = Counter(device for device, _ in holders)
    problems = tuple(
        f"{'/'.join(device)} is in {' and '.join(name for one, name in holders if one == device)}"
        for device, count in sorted(counts.items())
        if count > 1
    )
    claims = len({name for _, name in holders})
    return Finding(f"{len(counts)} devices are in {claims} claims, none of them twice", problems)


def _published(state: State) -> Finding:
    offered = dict(_current_devices(state.slices))
    problems = [
        f"{'/'.join(device)} of {name} is not published for node {node_of(pod)}"
        for name, pod in state.pods.items()
        for claim in state.claims_of(pod)
        for device in devices_of(claim)
        if offered.get(device) != node_of(pod)
    ]
    return Finding("every device is in its pool's newest and complete generation, on its pod's node", tuple(problems))


def _faithful(shown: Sequence[Row], true: Sequence[Row]) -> Finding:
    by_name = {row.pod: row for row in shown}
    problems = tuple(f"{row.pod} was shown otherwise" for row in true if by_name.get(row.pod) != row)
    return Finding("what was shown is what the server says now", problems)


def _current_devices(slices: Iterable[Json]) -> Iterator[tuple[Device, str]]:
    """Yield the devices that may be handed out, each with the node that it is on."""
    pools: dict[tuple[str, str], list[Json]] = {}
    for piece in slices:
        pools.setdefault((piece["spec"]["driver"], piece["spec"]["pool"]["name"]), []).append(piece["spec"])
    for (driver, pool), specs in pools.items():
        newest = max(spec["pool"]["generation"] for spec in specs)
        current = [spec for spec in specs if spec["pool"]["generation"] == newest]
        if len(current) == current[0]["pool"]["resourceSliceCount"]:
            for spec in current:
                yield from (((driver, pool, device["name"]), spec["nodeName"]) for device in spec["devices"])


def _from_plugin(pod: Json) -> int:
    return 0 if extended_status(pod) else int(limits_of(pod).get(RESOURCE, "0"))


def _offered_by_plugin(state: State, node: str) -> int:
    return int(state.nodes.get(node, {}).get("status", {}).get("allocatable", {}).get(RESOURCE, "0"))


def _selects(allocation: Json, node: str) -> bool:
    terms = allocation.get("nodeSelector", {}).get("nodeSelectorTerms") or ()
    fields = [field for term in terms for field in term.get("matchFields") or ()]
    return any(field["key"] == "metadata.name" and field["values"] == [node] for field in fields)


def _is_held_by(claim: Json, uid: str) -> bool:
    owners = {owner["uid"] for owner in claim["metadata"].get("ownerReferences") or ()}
    consumers = {one["uid"] for one in (claim.get("status") or {}).get("reservedFor") or ()}
    return uid in consumers or (uid in owners and bool(allocation_of(claim)))


def _listed(devices: Sequence[Device]) -> str:
    return ", ".join("/".join(device) for device in devices) or "no device"
