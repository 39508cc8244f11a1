"""The special claim: one ResourceClaim for all extended resources of a pod that DRA serves on the node it goes to.

Names, counts and mappings are kube-scheduler's, since kubelet reads them: every container that runs for good asks for
devices of its own, init containers take over what later containers asked for, and one more request covers the largest
need of theirs that is left (KEP-5004; the DynamicResources plugin of 1.36).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from dra_scheduling.basics.pod_requests import container_requests, is_sidecar, pod_requests
from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.extended_resources.device_plugin_or_dra import extended_names, split
from dra_scheduling.model.claims import EXACT_COUNT, MAX_DEVICES_PER_CLAIM, DeviceRequest, ExactDeviceRequest
from dra_scheduling.model.pods import ContainerExtendedResourceRequest, Pod


class SpecialClaim(msgspec.Struct, frozen=True):
    """What the special claim asks for, in order of name, and which request serves which container's resource.

    `words` say of each request by name for what it is, and whose.
    """

    requests: tuple[DeviceRequest, ...] = ()
    mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    words: tuple[tuple[str, tuple[str, str]], ...] = ()


class _Need(msgspec.Struct, frozen=True):
    """A container's need of one resource and the name of the request for it; init containers are counted first."""

    position: int
    container: str
    request: str
    count: int


class _Shares(NamedTuple):
    """For one resource: how many devices each request asks for, and (container, request) for whoever is served."""

    counts: dict[str, int]
    served: list[tuple[str, str]]


def special_claim(pod: Pod, dra: Mapping[str, str]) -> SpecialClaim:
    """Return what the pod's special claim asks for where DRA serves these resources (class name by resource name).

    Fractions and zeros ask for nothing.
    """
    requests: list[DeviceRequest] = []
    mappings: list[ContainerExtendedResourceRequest] = []
    words: list[tuple[str, tuple[str, str]]] = []
    for resource, class_name in sorted(dra.items()):
        lasting, passing = _needs(pod, resource)
        shares = _share_out(lasting, passing)
        words += (
            (need.request, (f"extended resource {resource}", f'container "{need.container}"'))
            for need in (*lasting, *passing)
            if need.request in shares.counts
        )
        requests += (_request(name, class_name, count) for name, count in shares.counts.items())
        mappings += (
            ContainerExtendedResourceRequest(container_name=container, resource_name=resource, request_name=request)
            for container, request in shares.served
        )
    ordered = sorted(requests, key=lambda request: request.name)
    return SpecialClaim(requests=tuple(ordered), mappings=tuple(mappings), words=tuple(words))


def limit_refusal(claim: SpecialClaim) -> Refusal | None:
    """Return the refusal of a claim with more devices than one claim can be given.

    A node that serves the resources by device plugin could still take the pod, so that is what the refusal waits for.
    """
    counts: dict[str, int] = {}
    for request in claim.requests:
        if request.exactly is not None:
            name = request.exactly.device_class_name
            counts[name] = counts.get(name, 0) + request.exactly.count
    if sum(counts.values()) <= MAX_DEVICES_PER_CLAIM:
        return None
    asked = " and ".join(f"{count} of DeviceClass {name}" for name, count in sorted(counts.items()))
    message = f"too many devices for one ResourceClaim: {asked}, at most {MAX_DEVICES_PER_CLAIM} in total"
    return Refusal(
        reason="TooManyDevices", message=message, wake=ClusterEvent.POD | ClusterEvent.NODE | ClusterEvent.CLASSES
    )


def over_limit_everywhere(pod: Pod, offers: Iterable[frozenset[str]], index: ClassIndex) -> Refusal | None:
    """Return the refusal that holds for the whole pod if no kind of node keeps its special claim within the limit.

    `offers` are the distinct sets of resources that the cluster's nodes offer. A node that offers none of the pod's
    extended resources is always thought of, so that an empty cluster refuses such a pod, too.
    """
    requests = pod_requests(pod)
    names = extended_names(requests)
    found: Refusal | None = None
    for offered in sorted({frozenset[str](), *(offer & names for offer in offers)}, key=sorted):
        choice = split(requests, offered, index)
        if isinstance(choice, Refusal):
            continue
        refusal = limit_refusal(special_claim(pod, choice.dra))
        if refusal is None:
            return None
        found = found or refusal
    return found


def _needs(pod: Pod, resource: str) -> tuple[list[_Need], list[_Need]]:
    """Return the needs of containers that run for good, and those of init containers that end."""
    lasting: list[_Need] = []
    passing: list[_Need] = []
    init_containers = pod.spec.init_containers
    for position, container in enumerate((*init_containers, *pod.spec.containers)):
        requests = container_requests(container)
        quantity = requests.get(resource)
        if quantity is None or not quantity.is_integer() or quantity.nano <= 0:
            continue
        request = f"container-{position}-request-{sorted(requests).index(resource)}"
        is_passing = position < len(init_containers) and not is_sidecar(container)
        (passing if is_passing else lasting).append(_Need(position, container.name, request, quantity.ceil_value()))
    return lasting, passing


def _share_out(lasting: Sequence[_Need], passing: Sequence[_Need]) -> _Shares:
    counts = {need.request: need.count for need in lasting}
    served = [(need.container, need.request) for need in lasting]
    extras: dict[str, int] = {}
    for need in passing:
        missing = need.count
        for later in lasting:
            if missing > 0 and later.position > need.position:
                served.append((need.container, later.request))
                missing -= later.count
        if missing > 0:
            served.append((need.container, need.request))
            extras[need.request] = missing
    if extras:
        # Init containers run one after another, so the devices of the largest extra request do for all of them.
        kept = max(extras, key=extras.__getitem__)
        counts[kept] = extras[kept]
        served = [(container, kept if request in extras else request) for container, request in served]
    return _Shares(counts, served)


def _request(name: str, class_name: str, count: int) -> DeviceRequest:
    exactly = ExactDeviceRequest(device_class_name=class_name, allocation_mode=EXACT_COUNT, count=count)
    return DeviceRequest(name=name, exactly=exactly)
