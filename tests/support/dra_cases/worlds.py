"""Worlds in which nodes are planned, written as short YAML, as ordinary manifests.

The words are those of `tests/scheduling/provisioning/README.md`. Whoever has the manifests can hand them to the
library, to `dra simulate` or to an API server.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dra_cases.planning import CLASSES, LABELS, Json, Written, claim_of, device, expressions, slice_of
from dra_scheduling.model.instancetypes import NODE_CLASS_LABEL
from dra_scheduling.model.namespaces import ADMIN_ACCESS_LABEL
from dra_scheduling.wire import write

BORN = "2030-01-01T00:00:00Z"
SOON = "2030-01-01T01:00:00Z"
NODE_CLASS = {"group": "dra-scheduler.dev", "kind": "NodeClass", "name": "default"}
POOL_LABEL = "karpenter.sh/nodepool"
TYPE_LABEL = "node.kubernetes.io/instance-type"
SHORT = {**LABELS, "type": TYPE_LABEL, "pool": POOL_LABEL}


def manifests(world: Mapping[str, Any]) -> tuple[Json, ...]:
    """Return the objects of a world, those that others refer to first."""
    return tuple(_objects(world))


def _objects(world: Mapping[str, Any]) -> Iterator[Json]:
    for name, spec in world.get("classes", {}).items():
        yield made("resource.k8s.io/v1", "DeviceClass", name, spec=spec)
    for word, maker in MAKERS.items():
        for name, said in world.get(word, {}).items():
            yield maker(name, said or {})
    for name, said in world.get("daemons", {}).items():
        if "wants" in (said or {}):
            yield claim_template(f"{name}-gpu", said["wants"])
    for number, said in enumerate(world.get("slices", [])):
        yield write(slice_of(number, said))
    for name, said in world.get("claims", {}).items():
        yield write(claim_of(name, said))
    for key, said in world.get("pods", {}).items():
        for name in _copies(key, said or {}):
            yield from pod(name, said or {})


def standard_classes() -> tuple[Json, ...]:
    """Return the classes that every world has: one for each of the drivers `a` and `b`, and one for any device."""
    return tuple(made("resource.k8s.io/v1", "DeviceClass", name, spec=spec) for name, spec in CLASSES.items())


def made(api_version: str, kind: str, name: str, *, spec: Json, status: Json | None = None, **meta: object) -> Json:
    """Return an object; its uid is its name."""
    metadata = {"name": name, "uid": name, "creationTimestamp": BORN, **meta}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, "status": status or {}}


def requirements(written: Json) -> list[Json]:
    """`zone: [a, b]`, `zone: [!a]` or `zone: {operator: ..., values: ..., minValues: ...}`; labels have short names."""
    return expressions({SHORT.get(key, key): values for key, values in written.items()})


def namespace(name: str, said: Json) -> Json:
    """Return a namespace; `admin` lets its claims ask for admin access."""
    labels = {ADMIN_ACCESS_LABEL: "true"} if said.get("admin") else {}
    return made("v1", "Namespace", name, spec={}, labels=labels)


def node_pool(name: str, said: Json) -> Json:
    """Return a NodePool."""
    template = {
        "metadata": {"labels": said.get("labels", {}), "annotations": said.get("notes", {})},
        "spec": {
            "nodeClassRef": {**NODE_CLASS, "name": said.get("class", "default")},
            "requirements": requirements(said.get("needs", {})),
            "taints": [taint(each) for each in said.get("taints", [])],
            "startupTaints": [taint(each) for each in said.get("startup", [])],
        },
    }
    spec = {
        "template": template,
        "limits": amounts(said.get("limits", {})),
        **({"weight": said["weight"]} if said.get("weight") else {}),
        **({"replicas": said["replicas"]} if "replicas" in said else {}),
    }
    invalid = {"type": "ValidationSucceeded", "status": "False", "reason": "Invalid"}
    status = {"conditions": [invalid]} if said.get("invalid") else {}
    gone = {"deletionTimestamp": SOON} if said.get("deleting") else {}
    return made("karpenter.sh/v1", "NodePool", name, spec=spec, status=status, **gone)


def instance_type(name: str, said: Json) -> Json:
    """Return an InstanceType; without offerings of its own it is to be had on demand in the zones named, or in `z1`."""
    price = said.get("price", 1)
    offerings = said.get("offers", [{"zone": zone} for zone in said.get("zones", ["z1"])])
    spec = {
        "requirements": requirements({"arch": "amd64", "kubernetes.io/os": "linux", **said.get("needs", {})}),
        "offerings": [
            {
                "zone": each.get("zone", "z1"),
                "price": str(each.get("price", price)),
                "capacityType": each.get("kind", "on-demand"),
                "available": each.get("available", True),
                **({"capacity": each["capacity"]} if "capacity" in each else {}),
            }
            for each in offerings
        ],
        "capacity": amounts({"cpu": 8, "memory": "32Gi", **room(said), **said.get("has", {})}),
        "overhead": amounts(said.get("overhead", {})),
        "devices": {
            "groups": list(_groups(said.get("devices", {}))),
            "sharedCounters": [_counters(each) for each in said.get("counters", [])],
            "bindings": said.get("bindings", []),
        },
    }
    labels = {NODE_CLASS_LABEL: said["class"]} if "class" in said else {}
    return made(
        "dra-scheduler.dev/v1alpha1", "InstanceType", name, spec=spec, status=said.get("status", {}), labels=labels
    )


def node(name: str, said: Json) -> Json:
    """Return a node; `labels` may have short names."""
    labels = {SHORT.get(key, key): str(value) for key, value in said.get("labels", {}).items()}
    room_of_it = amounts({"cpu": 8, "memory": "32Gi", "pods": 110, **room(said), **said.get("has", {})})
    spec = {
        "taints": [taint(each) for each in said.get("taints", [])],
        "unschedulable": said.get("closed", False),
        "providerID": said.get("machine", ""),
    }
    return made(
        "v1", "Node", name, spec=spec, status={"allocatable": room_of_it, "capacity": room_of_it}, labels=labels
    )


def node_claim(name: str, said: Json) -> Json:
    """Return a NodeClaim made before; `types` are those that it may become, `is` the labels of a launched one."""
    pool = said.get("pool", "default")
    labels = {POOL_LABEL: pool, **{SHORT.get(key, key): value for key, value in said.get("is", {}).items()}}
    listed = [{"key": TYPE_LABEL, "operator": "In", "values": said["types"]}] if "types" in said else []
    spec = {
        "nodeClassRef": NODE_CLASS,
        "requirements": [*requirements({"pool": pool, **said.get("needs", {})}), *listed],
        "taints": [taint(each) for each in said.get("taints", [])],
    }
    notes = {"dra-scheduler.dev/nominated-pods": _nominees(said.get("pods", []))} if "pods" in said else {}
    if "drivers" in said:
        notes["karpenter.sh/requested-dra-drivers"] = ",".join(said["drivers"])
    status = {
        "nodeName": said.get("node", ""),
        "providerID": said.get("machine", ""),
        "capacity": amounts(said.get("has", {})),
        "conditions": [_condition(kind, value) for kind, value in said.get("conditions", {}).items()],
    }
    gone = {"deletionTimestamp": SOON} if said.get("deleting") else {}
    return made(
        "karpenter.sh/v1", "NodeClaim", name, spec=spec, status=status, labels=labels, annotations=notes, **gone
    )


def daemon_set(name: str, said: Json) -> Json:
    """Return a DaemonSet; the template of its `wants` is another object."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod_spec(said)}
    if "wants" in said:
        template["spec"]["resourceClaims"].append({"name": "gpu", "resourceClaimTemplateName": f"{name}-gpu"})
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return made("apps/v1", "DaemonSet", name, spec=spec, namespace="kube-system")


def taint_rule(name: str, said: Json) -> Json:
    """Return a DeviceTaintRule with the `taint`, for devices of the `driver`, `pool` and name (`device`) if said."""
    chosen = {key: said[key] for key in ("driver", "pool", "device") if key in said}
    spec = {"deviceSelector": chosen, "taint": taint(said["taint"])}
    return made("resource.k8s.io/v1", "DeviceTaintRule", name, spec=spec)


def claim_template(name: str, asked: list[Written] | Json) -> Json:
    """Return the ResourceClaimTemplate of a DaemonSet."""
    spec = {"spec": write(claim_of(name, asked))["spec"]}
    return made("resource.k8s.io/v1", "ResourceClaimTemplate", name, spec=spec, namespace="kube-system")


def pod(name: str, said: Json) -> Iterator[Json]:
    """Yield a pod and, before it, the claim that a controller made for it: `wants` is what that one asks for."""
    owned = {"gpu": said["wants"]} if "wants" in said else {}
    status: Json = {"phase": said.get("phase", "Pending")}
    statuses = [{"name": key, "resourceClaimName": f"{name}-{key}"} for key in owned]
    statuses += [{"name": key, **named} for key, named in said.get("made", {}).items()]
    if statuses:
        status["resourceClaimStatuses"] = statuses
    for key, asked in owned.items():
        claim = write(claim_of(f"{name}-{key}", asked))
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True}
        yield {**claim, "metadata": {**claim["metadata"], "ownerReferences": [owner]}}  # type: ignore[dict-item]
    meta: Json = {"deletionTimestamp": SOON} if said.get("deleting") else {}
    if "daemon" in said:
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": said["daemon"], "uid": said["daemon"]}
        meta |= {"ownerReferences": [{**owner, "controller": True}]}
    spec = pod_spec(said)
    spec["resourceClaims"] += [{"name": key, "resourceClaimTemplateName": "t"} for key in owned]
    yield made("v1", "Pod", name, spec=spec, status=status, namespace=namespace_of(said), **meta)


def namespace_of(said: Json) -> str:
    """Return the namespace of a pod: that of its DaemonSet, if it has one."""
    return "kube-system" if "daemon" in said else "default"


def pod_spec(said: Json) -> Json:
    """Return the spec of a pod, without claims that are made of templates."""
    wanted = amounts({"cpu": 1, **room(said), **said.get("asks", {})})
    container: Json = {"name": "main", "resources": {"requests": wanted, "limits": amounts(said.get("asks", {}))}}
    container["ports"] = [{"containerPort": port, "hostPort": port} for port in said.get("ports", [])]
    claims = [{"name": each, "resourceClaimName": each} for each in said.get("claims", [])]
    claims += [{"name": key, "resourceClaimTemplateName": "t"} for key in said.get("made", {})]
    return {
        "schedulerName": said.get("scheduler", "dra-scheduler"),
        "priority": said.get("priority", 0),
        "nodeName": said.get("runs", ""),
        "nodeSelector": {SHORT.get(key, key): str(value) for key, value in said.get("selector", {}).items()},
        "affinity": {"nodeAffinity": _affinity(said)},
        "tolerations": [_toleration(each) for each in said.get("tolerates", [])],
        "containers": [container],
        "resourceClaims": claims,
    }


def room(said: Json) -> Json:
    """Return the amounts of a node, type or pod that have a word of their own."""
    return {key: said[key] for key in ("cpu", "memory", "pods") if key in said}


def amounts(written: Json) -> Json:
    """Return amounts as the API has them."""
    return {key: str(value) for key, value in written.items()}


def taint(written: str) -> Json:
    """`key:Effect` or `key=value:Effect`."""
    text, _, effect = written.rpartition(":")
    key, _, value = text.partition("=")
    return {"key": key, **({"value": value} if value else {}), "effect": effect}


def _affinity(said: Json) -> Json:
    """`needs` is one term or a list of terms of which one is enough; `prefers` are terms with a `weight`."""
    found: Json = {}
    if "needs" in said:
        terms = said["needs"] if isinstance(said["needs"], list) else [said["needs"]]
        listed = [{"matchExpressions": requirements(each)} for each in terms]
        found["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": listed}
    found["preferredDuringSchedulingIgnoredDuringExecution"] = [
        {
            "weight": each.get("weight", 1),
            "preference": {"matchExpressions": requirements({k: v for k, v in each.items() if k != "weight"})},
        }
        for each in said.get("prefers", [])
    ]
    return found


def _toleration(written: str) -> Json:
    key, _, effect = written.rpartition(":")
    return {"key": key, "operator": "Exists", "effect": effect}


def _copies(key: str, said: Json) -> list[str]:
    count = said.get("count", 0)
    return [f"{key}-{number:02}" for number in range(count)] if count else [key]


def _groups(written: Json | list[Json]) -> Iterator[Json]:
    """`{a: 4}` are four plain devices of driver `a`; in a list each group has the words of a device, too."""
    if isinstance(written, dict):
        written = [{"driver": driver, "count": count} for driver, count in written.items()]
    for said in written:
        name = said.get("name", said["driver"].partition(".")[0] + "-{index}")
        yield {**device({**said, "name": name}), "driver": said["driver"], "count": said.get("count", 1)}


def _counters(said: Json) -> Json:
    values = {key: {"value": str(amount)} for key, amount in said["has"].items()}
    return {"driver": said["driver"], "name": said["name"], "count": said.get("count", 1), "counters": values}


def _nominees(pods: list[str]) -> str:
    return "[" + ",".join(f'"default/{name}/{name}"' for name in pods) + "]"


MAKERS = {
    "namespaces": namespace,
    "pools": node_pool,
    "types": instance_type,
    "daemons": daemon_set,
    "devicetaints": taint_rule,
    "nodes": node,
    "nodeclaims": node_claim,
}


def _condition(kind: str, value: object) -> Json:
    """A condition with that status, or `since TIME`; any other word is why it is `False`."""
    if str(value) in {"True", "False", "Unknown"}:
        return {"type": kind, "status": str(value)}
    if str(value).startswith("since "):
        return {"type": kind, "status": "True", "lastTransitionTime": str(value).removeprefix("since ")}
    return {"type": kind, "status": "False", "reason": str(value)}
