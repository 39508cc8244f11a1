"""What the API server serves of the kinds that are watched."""

from dra_kube.api import Api
from dra_kube.errors import ApiError
from dra_kube.resources import Kind, Resource
from dra_operator.kinds import BIND_REQUESTS, EVERY_KIND, NODES, PODS, WatchedKinds


async def unserved(api: Api, kinds: WatchedKinds = EVERY_KIND) -> tuple[str, ...]:
    """Return a line for each kind that the API server does not serve in the version needed. Raises `ApiError`."""
    lines: list[str] = []
    for root in dict.fromkeys(resource.root for resource in kinds.required):
        served = await _served(api, root)
        lines += [
            f"the cluster does not serve {resource.plural} in {resource.api_version}{_advice(resource)}"
            for resource in kinds.required
            if resource.root == root and resource.plural not in served
        ]
    return tuple(lines)


async def optional(api: Api, kinds: WatchedKinds = EVERY_KIND) -> tuple[Resource, ...]:
    """Return the optional kinds that the API server serves, each in the first version that it has.

    Raises `ApiError`.
    """
    served = {root: await _served(api, root) for root in dict.fromkeys(resource.root for resource in kinds.optional)}
    found: dict[Kind, Resource] = {}
    for resource in kinds.optional:
        if resource.plural in served[resource.root]:
            found.setdefault(resource.kind, resource)
    return tuple(found.values())


async def _served(api: Api, root: str) -> set[str]:
    try:
        return {str(entry["name"]) for entry in (await api.request("GET", root)).get("resources") or ()}
    except ApiError as error:
        if error.code == 404:  # noqa: PLR2004  HTTP's Not Found: there is no such group or version
            return set()
        raise


def _advice(resource: Resource) -> str:
    if resource is BIND_REQUESTS:
        return ": apply the CustomResourceDefinitions in crds/"
    return ": Kubernetes 1.36 or newer is needed" if resource not in {PODS, NODES} else ""
