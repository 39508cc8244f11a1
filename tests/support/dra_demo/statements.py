"""Sentences about a node that is made for a pod, each with what contradicts it on the server."""

import orjson

from dra_controlplane.client import Json
from dra_demo.check import Finding
from dra_demo.state import node_of, scheduled_condition
from dra_demo.supply import INITIALIZED_LABEL, TYPE_LABEL, Supply, condition_of

DRIVERS_ANNOTATION = "karpenter.sh/requested-dra-drivers"
NOMINATED_ANNOTATION = "dra-scheduler.dev/nominated-pods"


def usable(supply: Supply) -> Finding:
    """Every InstanceType and NodePool was found to be right."""
    asked = [("InstanceType", one, "Valid") for one in supply.types]
    asked += [("NodePool", one, "Ready") for one in supply.pools]
    problems = [
        f"{kind} {one['metadata']['name']} is not {condition}"
        for kind, one, condition in asked
        if not _is_true(one, condition)
    ]
    if not supply.types or not supply.pools:
        problems.append("there are none")
    return Finding(
        f"{len(supply.types)} InstanceTypes are Valid, {len(supply.pools)} NodePools are Ready", tuple(problems)
    )


def lacking(supply: Supply, driver: str) -> Finding:
    """No node has a device of the driver, and no NodeClaim is there."""
    problems = [
        f"ResourceSlice {one['metadata']['name']} is of {driver}"
        for one in supply.slices
        if one["spec"]["driver"] == driver
    ]
    problems += [f"there is NodeClaim {one['metadata']['name']}" for one in supply.node_claims]
    return Finding(
        f"none of {len(supply.nodes)} nodes has a device of {driver}, and no NodeClaim is there", tuple(problems)
    )


def planned(supply: Supply, kind: str, drivers: str) -> Finding:
    """There is one NodeClaim, for this pod alone, restricted to one type, with these drivers to wait for."""
    meta = supply.node_claim.get("metadata", {})
    notes = meta.get("annotations") or {}
    requirements = supply.node_claim.get("spec", {}).get("requirements") or ()
    types = [value for one in requirements if one["key"] == TYPE_LABEL for value in one.get("values") or ()]
    pods = [one.split("/")[1] for one in orjson.loads(notes.get(NOMINATED_ANNOTATION, "[]"))]
    problems = [] if supply.node_claim else [f"there are {len(supply.node_claims)} NodeClaims"]
    if types != [kind]:
        problems.append(f"it may be {', '.join(types) or 'any type'}, expected {kind} alone")
    if notes.get(DRIVERS_ANNOTATION) != drivers:
        problems.append(f"expected it to wait for {drivers}")
    if pods != [supply.pod.get("metadata", {}).get("name")]:
        problems.append("it is for other pods")
    return Finding(
        f"one NodeClaim: {supply.name}, of type {', '.join(types)} alone, for {', '.join(pods)}; "
        f"drivers to wait for: {notes.get(DRIVERS_ANNOTATION, '')}",
        tuple(problems),
    )


def waiting(supply: Supply) -> Finding:
    """The pod is not bound, has no devices, and says which NodeClaim it waits for."""
    name, condition = supply.pod.get("metadata", {}).get("name"), scheduled_condition(supply.pod)
    message = str(condition.get("message", ""))
    problems = []
    if node_of(supply.pod) or supply.devices():
        problems.append("it is bound, or has devices")
    if condition.get("status") != "False" or not supply.name or f"NodeClaim {supply.name} " not in message:
        problems.append("its PodScheduled condition does not name the NodeClaim")
    return Finding(f"{name} is pending: {message}", tuple(problems))


def registered(supply: Supply) -> Finding:
    """The node is there and ready, and belongs to the NodeClaim."""
    labels = supply.node.get("metadata", {}).get("labels") or {}
    problems = [] if _is_true(supply.node, "Ready") else ["there is no node that is Ready"]
    problems += [f"{kind} is not True" for kind in ("Launched", "Registered") if not _is_true(supply.node_claim, kind)]
    facts = [labels.get(key, "?") for key in (TYPE_LABEL, "karpenter.sh/capacity-type", "topology.kubernetes.io/zone")]
    return Finding(f"node {supply.name} is registered: {', '.join(facts)}", tuple(problems))


def published(supply: Supply, driver: str, count: int) -> Finding:
    """The driver has published so many devices on the node; 0: not even a slice."""
    slices, names = supply.slices_of(driver), supply.published().get(driver, [])
    problems = [] if len(names) == len(set(names)) == count and bool(slices) == bool(count) else [f"expected {count}"]
    if not count:
        return Finding(f"{driver} has published nothing", tuple(problems))
    many = "slices" if slices > 1 else "slice"
    return Finding(f"{driver} has published {len(names)} devices in {slices} {many}", tuple(problems))


def shut(supply: Supply, missing: str) -> Finding:
    """The node is shut, and says that it waits for this driver."""
    condition = condition_of(supply.node_claim, "Initialized")
    message, problems = str(condition.get("message", "")), []
    if (condition.get("status"), condition.get("reason")) != ("Unknown", "DRADriverPoolsNotPublished"):
        problems.append("it waits for something else")
    if f'"{missing}"' not in message:
        problems.append(f"expected it to wait for {missing}")
    if _is_open(supply.node):
        problems.append("the node is labelled as initialized")
    return Finding(f"Initialized={condition.get('status')}, {condition.get('reason')}: {message}", tuple(problems))


def opened(supply: Supply) -> Finding:
    """The node is initialized, and the NodeClaim is ready."""
    problems = [f"{kind} is not True" for kind in ("Initialized", "Ready") if not _is_true(supply.node_claim, kind)]
    if not _is_open(supply.node):
        problems.append("the node is not labelled as initialized")
    return Finding(f"NodeClaim {supply.name} is Initialized and Ready", tuple(problems))


def running(supply: Supply, count: int) -> Finding:
    """The pod runs on the node with so many devices, all of them published there."""
    name, node = supply.pod.get("metadata", {}).get("name"), node_of(supply.pod) if supply.pod else ""
    there = {(driver, one) for driver, names in supply.published().items() for one in names}
    devices = supply.devices()
    problems = []
    if not node or node != supply.name:
        problems.append(f"it is on {node or 'no node'}, expected {supply.name}")
    if len(set(devices)) != count:
        problems.append(f"expected {count} devices, has {len(set(devices))}")
    problems += [f"{'/'.join(one)} is not published there" for one in devices if (one[0], one[2]) not in there]
    if supply.pod.get("status", {}).get("phase") != "Running":
        problems.append("it is not Running")
    drivers = sorted({driver for driver, _, _ in devices})
    listed = "; ".join(f"{driver} {', '.join(one[2] for one in devices if one[0] == driver)}" for driver in drivers)
    return Finding(f"{name} is Running on {node} with {listed}: all of them published there", tuple(problems))


def single(supply: Supply) -> Finding:
    """No second NodeClaim was made."""
    count = len(supply.node_claims)
    return Finding("no second NodeClaim was made", () if count == 1 else (f"there are {count}",))


def gone(supply: Supply, name: str) -> Finding:
    """Nothing is left of the node."""
    problems = [f"NodeClaim {one['metadata']['name']} is there" for one in supply.node_claims]
    problems += [f"node {name} is there"] if name in supply.nodes else []
    problems += [
        f"ResourceSlice {one['metadata']['name']} is there"
        for one in supply.slices
        if one["spec"].get("nodeName") == name
    ]
    return Finding(f"NodeClaim, node and ResourceSlices of {name} are gone", tuple(problems))


def _is_true(item: Json, kind: str) -> bool:
    return bool(condition_of(item, kind).get("status") == "True")


def _is_open(node: Json) -> bool:
    return (node.get("metadata", {}).get("labels") or {}).get(INITIALIZED_LABEL) == "true"
