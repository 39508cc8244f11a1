"""The devices that a pod has through its claims."""

from collections.abc import Iterator

import msgspec

from dra_scheduling.cluster import Cluster
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pod_claim_names import claim_keys
from dra_scheduling.model.pods import ContainerExtendedResourceRequest, Pod
from dra_simulator.tables import Table


class HeldDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One device of a pod: `wanted` is its entry in the pod's claims, or the extended resource with its containers.

    A claim that has nothing, or is not there, has neither request nor device.
    """

    wanted: str
    claim: str
    request: str = ""
    device: str = ""


def held_by(cluster: Cluster, pod: Pod) -> tuple[HeldDevice, ...]:
    """Return what the pod has: claim after claim in the order of its spec, the one for extended resources last."""
    return (*_of_entries(cluster, pod), *_of_resources(cluster, pod))


def held_table(held: tuple[HeldDevice, ...]) -> Table:
    """Return the devices as people read them."""
    rows = tuple((one.wanted, one.claim, one.request or "-", one.device or "none") for one in held)
    return Table(headers=("WANTED AS", "CLAIM", "REQUEST", "DEVICE"), rows=rows)


def _of_entries(cluster: Cluster, pod: Pod) -> Iterator[HeldDevice]:
    for entry, key in claim_keys(pod).items():
        devices = [*_devices(cluster.claims.get(key))]
        for request, device in devices or [("", "")]:
            yield HeldDevice(wanted=entry, claim=key.name, request=request, device=device)


def _of_resources(cluster: Cluster, pod: Pod) -> Iterator[HeldDevice]:
    status, meta = pod.status.extended_resource_claim_status, pod.metadata
    if status is None:
        return
    claim = cluster.claims.get(ObjectKey(meta.namespace, status.resource_claim_name))
    # The server never clears the name, so it may be that of a claim that is gone.
    if claim is None or not claim.is_special_claim_of(meta.name, meta.uid):
        return
    for request, device in _devices(claim):
        served = [one for one in status.request_mappings if one.request_name == request]
        yield HeldDevice(wanted=_called(served) or "-", claim=claim.metadata.name, request=request, device=device)


def _devices(claim: ResourceClaim | None) -> Iterator[tuple[str, str]]:
    allocation = claim.status.allocation if claim is not None else None
    for result in allocation.devices.results if allocation is not None else ():
        yield result.request, str(result.device_id)


def _called(served: list[ContainerExtendedResourceRequest]) -> str:
    resources = sorted({one.resource_name for one in served})
    containers = list(dict.fromkeys(one.container_name for one in served))
    return f"{', '.join(resources)} of {', '.join(containers)}" if served else ""
