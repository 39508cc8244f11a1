"""Whether this process may do what its roles have to do, asked of the API server before anything depends on it."""

from collections.abc import Iterable

import msgspec

from dra_kube.api import Api, Json
from dra_kube.resources import Resource
from dra_operator.api.leases import lease_name
from dra_operator.kinds import (
    BIND_REQUESTS,
    CLAIMS,
    INSTANCE_TYPES,
    NODE_CLAIMS,
    NODE_POOLS,
    NODES,
    PODS,
    SLICES,
    WATCHED,
    WatchedKinds,
)
from dra_operator.settings import NodeClaimsMode, Role, Settings

LEADING = frozenset(Role)
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Permission(msgspec.Struct, frozen=True, kw_only=True):
    """A verb on a resource, in one namespace or (empty) in all, on one object of that name or (empty) on any."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        name = f"{self.resource}.{self.group}" if self.group else self.resource
        what = f"{name}/{self.subresource}" if self.subresource else f"{name} {self.name}".rstrip()
        return f"{self.verb} {what} {f'in namespace {self.namespace}' if self.namespace else 'in every namespace'}"


def needed(settings: Settings, served: Iterable[Resource] = WATCHED) -> tuple[Permission, ...]:
    """Return what the roles of this process need where these kinds are served, of which they watch theirs."""
    kinds = WatchedKinds.of(settings.roles)
    watched = tuple(one for one in served if one in {*kinds.required, *kinds.optional})
    wanted = [_on(resource, verb) for resource in watched for verb in ("list", "watch")]
    if Role.SCHEDULER in settings.roles:
        wanted += [_on(BIND_REQUESTS, verb) for verb in ("get", "create", "update", "delete")]
        wanted.append(_on(PODS, "patch", "status"))
        if settings.nodeclaims is NodeClaimsMode.OWN and NODE_CLAIMS in watched:
            wanted += [_on(PODS, "get"), *(_on(NODE_CLAIMS, verb) for verb in ("get", "create", "patch", "delete"))]
            if settings.disruption:
                wanted += [_on(NODES, "get"), _on(NODES, "patch")]
    if Role.BINDER in settings.roles:
        wanted += [_on(CLAIMS, verb) for verb in ("get", "create", "patch", "delete")]
        # Since 1.36 whoever writes allocation or reservedFor needs the second one as well, for the whole cluster.
        wanted += [_on(CLAIMS, verb, below) for below in ("status", "binding") for verb in ("update", "patch")]
        wanted += [_on(PODS, "get"), _on(PODS, "patch", "status"), _on(PODS, "create", "binding")]
        wanted += [_on(BIND_REQUESTS, "patch", "status"), _on(BIND_REQUESTS, "delete")]
    if Role.NODECLAIMS in settings.roles:
        wanted += _for_nodeclaims(settings.nodeclaims, frozenset(watched))
    if Role.KWOK in settings.roles and NODE_CLAIMS in watched:
        wanted += _for_kwok()
    if settings.leader_elect:
        lease = Permission(verb="create", group="coordination.k8s.io", resource="leases", namespace=settings.namespace)
        wanted.append(lease)
        # Only creation cannot be granted for one name.
        wanted += [
            msgspec.structs.replace(lease, verb=verb, name=lease_name(role))
            for role in sorted(settings.roles & LEADING)
            for verb in ("get", "update")
        ]
    return tuple(dict.fromkeys(wanted))


def _for_nodeclaims(mode: NodeClaimsMode, watched: frozenset[Resource]) -> list[Permission]:
    if mode is NodeClaimsMode.OFF:
        return []
    wanted = [_on(INSTANCE_TYPES, "patch", "status")] if INSTANCE_TYPES in watched else []
    if NODE_CLAIMS not in watched or mode is NodeClaimsMode.PLAN:
        return wanted
    wanted += [_on(NODES, verb) for verb in ("get", "patch")]
    if mode is NodeClaimsMode.OWN:
        wanted += [_on(NODE_CLAIMS, verb) for verb in ("patch", "delete")]
        wanted += [_on(NODE_CLAIMS, "patch", "status"), _on(PODS, "create", "eviction"), _on(PODS, "delete")]
        wanted += [_on(NODE_POOLS, "patch", "status")] if NODE_POOLS in watched else []
    return wanted


def _for_kwok() -> list[Permission]:
    wanted = [_on(NODE_CLAIMS, "patch"), _on(NODE_CLAIMS, "patch", "status"), _on(NODE_CLAIMS, "delete")]
    wanted += [_on(NODES, verb) for verb in ("get", "create", "delete")] + [_on(NODES, "patch", "status")]
    wanted += [_on(SLICES, verb) for verb in ("create", "update", "delete")]
    wanted += [_on(PODS, "delete"), _on(PODS, "patch", "status")]
    lease = Permission(verb="", group="coordination.k8s.io", resource="leases", namespace="kube-node-lease")
    return wanted + [msgspec.structs.replace(lease, verb=verb) for verb in ("create", "patch", "delete")]


async def missing(api: Api, permissions: Iterable[Permission]) -> tuple[str, ...]:
    """Return a line for each permission that the API server would not grant. Raises `ApiError`."""
    return tuple([f"no permission to {one}" for one in permissions if not await _is_granted(api, one)])


def _on(resource: Resource, verb: str, subresource: str = "") -> Permission:
    return Permission(verb=verb, group=resource.group, resource=resource.plural, subresource=subresource)


async def _is_granted(api: Api, permission: Permission) -> bool:
    attributes = {
        "verb": permission.verb,
        "group": permission.group,
        "resource": permission.resource,
        "subresource": permission.subresource,
        "namespace": permission.namespace,
        "name": permission.name,
    }
    review: Json = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    return bool((await api.request("POST", REVIEWS, review))["status"].get("allowed"))
