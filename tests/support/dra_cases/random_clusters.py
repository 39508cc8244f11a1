"""Random clusters in the middle of their lives, with every device feature: pods that run or wait, and plans.

They are those of the oracle's random worlds, with what a life adds to these: some pods are bound by now and some only
placed, devices take of their nodes, a class serves an extended resource, and NodeClaims are made or only decided.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from msgspec.structs import replace

from dra_cases.domain_rules import APP, KEEPS_OUT, ZONE, KeptOut, ZoneSpread
from dra_oracle.clusters import random_cluster
from dra_scheduling.basics.features import features_named
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.fit.rules import RULES
from dra_scheduling.model.claims import ResourceClaimConsumerReference
from dra_scheduling.model.pod_claim_names import claim_keys
from dra_scheduling.provisioning import plan
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.wire import read

Json = dict[str, Any]
RESOURCE = "example.com/any"
OF_NODE = {"cpu": {"mapping": {"deviceMultiplier": "500m"}}, "memory": {"overhead": {"perPod": "1Gi"}}}


def living_cluster(seed: int) -> Cluster:
    """Return the cluster of this seed; each call makes another one, which is the same."""
    drawn = random_cluster(seed)
    rules = (*RULES, ZoneSpread(1), KeptOut())
    cluster = Cluster(features=features_named(f"{drawn.gates},DRANodeAllocatableResources=true"), rules=rules)
    for raw in _objects(deepcopy(drawn.objects)):
        cluster.apply(read(raw))
    waits = schedule(cluster, [pod for pod in cluster.pending() if not pod.metadata.name.startswith("late")]).outcomes
    for number, one in enumerate(one for one in waits if isinstance(one, Assignment)):
        if number % 2:
            _bind(cluster, one)
    for number, made in enumerate(plan(cluster, cluster.pending()).created):
        if number % 2:
            cluster.inventory.assume(made)
        else:
            cluster.apply(made)
    return cluster


def _objects(objects: tuple[Json, ...]) -> Iterator[Json]:
    yield from (_enriched(one) for one in objects if one["kind"] != "Pod")
    claims = [one["spec"] for one in objects if one["kind"] == "ResourceClaim" and "status" not in one]
    shared = [one["metadata"]["name"] for one in objects if one["kind"] == "ResourceClaim" and "status" not in one]
    for number, name in enumerate([*shared, *shared]):
        yield _pod(f"user-{number}", {"c": name}, {APP: "a"} if number % 2 else {KEEPS_OUT: "b"})
    for number, spec in enumerate([*claims[:1], *claims]):
        name = f"{'late' if number else 'early'}-{number}"
        metadata = {"name": name, "uid": name, "namespace": "default"}
        yield {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}
        yield _pod(name, {"c": name}, {APP: "b" if number % 2 else "a"})
    for name in ("early", "late"):
        yield _pod(f"{name}-extended", {}, {APP: "b"}, {RESOURCE: "1"})
        yield _pod(f"{name}-plain", {}, {APP: "a"}, port=8080)


def _enriched(one: Json) -> Json:
    if one["kind"] == "Node":
        one["metadata"].setdefault("labels", {})[ZONE] = f"zone-{one['metadata']['name'][-1]}"
    if one["kind"] == "DeviceClass" and one["metadata"]["name"] == "any":
        one["spec"]["extendedResourceName"] = RESOURCE
    if one["kind"] == "ResourceSlice":
        for device in one["spec"].get("devices", ())[::2]:
            device["nodeAllocatableResources"] = OF_NODE
    return one


def _pod(name: str, claims: dict[str, str], labels: Json, limits: Json | None = None, port: int = 0) -> Json:
    resources = {"requests": {"cpu": "1"}, "limits": limits or {}, "claims": [{"name": key} for key in claims]}
    ports = [{"containerPort": port, "hostPort": port}] if port else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "uid": name, "namespace": "default", "labels": labels},
        "spec": {
            "schedulerName": "dra-scheduler",
            "resourceClaims": [{"name": key, "resourceClaimName": value} for key, value in claims.items()],
            "containers": [{"name": "main", "image": "example.com/app", "resources": resources, "ports": ports}],
        },
    }


def _bind(cluster: Cluster, assignment: Assignment) -> None:
    """Let the API server show what was decided."""
    pod = assignment.pod
    user = ResourceClaimConsumerReference(resource="pods", name=pod.metadata.name, uid=pod.metadata.uid)
    given = dict(zip(assignment.claim_keys, assignment.claims, strict=True))
    for key in claim_keys(pod).values():
        claim = cluster.claims.get(key)
        if claim is not None:
            allocation = given[key].allocation if key in given else claim.status.allocation
            users = tuple(dict.fromkeys((*claim.status.reserved_for, user)))
            cluster.apply(replace(claim, status=replace(claim.status, allocation=allocation, reserved_for=users)))
    if assignment.extended is None:
        cluster.apply(replace(pod, spec=replace(pod.spec, node_name=assignment.node)))
        cluster.forget(pod.metadata.uid)
