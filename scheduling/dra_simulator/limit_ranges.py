"""LimitRanges: what admission adds to containers that say nothing, and which pods it refuses (plugin LimitRanger).

A pod that a server holds already has been admitted: only new ones are looked at.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.pods import Container, Pod
from dra_scheduling.wire import WireFault
from kube_cel.quantity import Quantity

Amounts = Mapping[str, Quantity]
CONTAINER, POD = "Container", "Pod"
ALWAYS = "Always"
NONE = Quantity(0)


class LimitRangeItem(Value, frozen=True):
    """Bounds and defaults for one type of object (core/v1)."""

    type: str
    max: dict[str, Quantity] = msgspec.field(default_factory=dict)
    min: dict[str, Quantity] = msgspec.field(default_factory=dict)
    default: dict[str, Quantity] = msgspec.field(default_factory=dict)
    default_request: dict[str, Quantity] = msgspec.field(default_factory=dict)
    max_limit_request_ratio: dict[str, Quantity] = msgspec.field(default_factory=dict)

    @property
    def default_limits(self) -> Amounts:
        """The limits of a container that has none: where no default is stated, the most that it may have."""
        return {**self.max, **self.default}

    @property
    def default_requests(self) -> Amounts:
        """The requests of a container that has none: else its default limits, else the least that it must have."""
        return {**self.min, **self.default_limits, **self.default_request}


class LimitRangeSpec(Value, frozen=True):
    """The bounds of a namespace."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(Value, frozen=True):
    """Bounds and defaults for the pods of one namespace (core/v1)."""

    metadata: ObjectMeta
    spec: LimitRangeSpec = LimitRangeSpec()

    def items(self, kind: str) -> Iterator[LimitRangeItem]:
        """Yield what is said of this type of object."""
        return (one for one in self.spec.limits if one.type == kind)


def with_default_resources(pod: Pod, ranges: Iterable[LimitRange]) -> Pod:
    """Return the pod with the defaults of the LimitRanges of its namespace; the first one that states one counts."""
    items = [item for one in ranges for item in one.items(CONTAINER)]
    if not items:
        return pod
    containers = tuple(_defaulted(one, items) for one in pod.spec.containers)
    init_containers = tuple(_defaulted(one, items) for one in pod.spec.init_containers)
    return replace(pod, spec=replace(pod.spec, containers=containers, init_containers=init_containers))


def outside_of_limits(pod: Pod, ranges: Iterable[LimitRange]) -> Iterator[WireFault]:
    """Yield what is outside of the LimitRanges of the pod's namespace, defaults included."""
    for one in ranges:
        by = f"by LimitRange {one.metadata.namespace}/{one.metadata.name}"
        for item in one.items(CONTAINER):
            for path, container in _containers(pod):
                used = container.resources
                yield from _outside(_Use(f"{path}.resources", used.requests, used.limits), item, by)
        for item in one.items(POD):
            yield from _outside(_of_pod(pod), item, by)


class _Use(NamedTuple):
    path: str
    requests: Amounts
    limits: Amounts


def _defaulted(container: Container, items: Iterable[LimitRangeItem]) -> Container:
    resources = container.resources
    # The server takes limits for the requests that are not stated before admission looks at the pod.
    limits, requests = dict(resources.limits), {**resources.limits, **resources.requests}
    for item in items:
        limits = {**item.default_limits, **limits}
        requests = {**item.default_requests, **requests}
    return replace(container, resources=replace(resources, limits=limits, requests=requests))


def _containers(pod: Pod) -> Iterator[tuple[str, Container]]:
    for field, containers in (("initContainers", pod.spec.init_containers), ("containers", pod.spec.containers)):
        for number, container in enumerate(containers):
            yield f"$.spec.{field}[{number}]", container


def _outside(use: _Use, item: LimitRangeItem, by: str) -> Iterator[WireFault]:
    yield from _below(use, item.min, by)
    yield from _above(use, item.max, by)
    yield from _beyond_ratio(use, item.max_limit_request_ratio, by)


def _below(use: _Use, bounds: Amounts, by: str) -> Iterator[WireFault]:
    for name, least in bounds.items():
        request, limit = use.requests.get(name), use.limits.get(name)
        expected = f"expected at least {least} {by}, got"
        if request is None or request.nano < least.nano:
            yield WireFault(f'{use.path}.requests["{name}"]', f"{expected} {request or 'nothing'}")
        if limit is not None and limit.nano < least.nano:
            yield WireFault(f'{use.path}.limits["{name}"]', f"{expected} {limit}")


def _above(use: _Use, bounds: Amounts, by: str) -> Iterator[WireFault]:
    for name, most in bounds.items():
        request, limit = use.requests.get(name), use.limits.get(name)
        expected = f"expected at most {most} {by}, got"
        if limit is None or limit.nano > most.nano:
            yield WireFault(f'{use.path}.limits["{name}"]', f"{expected} {limit or 'nothing'}")
        if request is not None and request.nano > most.nano:
            yield WireFault(f'{use.path}.requests["{name}"]', f"{expected} {request}")


def _beyond_ratio(use: _Use, bounds: Amounts, by: str) -> Iterator[WireFault]:
    for name, ratio in bounds.items():
        request, limit = use.requests.get(name), use.limits.get(name)
        path = f'{use.path}.limits["{name}"]'
        if request is None or limit is None or not request.nano:
            yield WireFault(path, f"expected a request, and a limit of at most {ratio} times as much {by}")
        elif limit.nano * 10**9 > ratio.nano * request.nano:
            yield WireFault(path, f"expected at most {ratio} times the request of {request} {by}, got {limit}")


def _of_pod(pod: Pod) -> _Use:
    """Return what the pod uses as a whole: containers and sidecars together, or an init container if that is more."""
    requests, limits = _sum(pod, lambda one: one.resources.requests), _sum(pod, lambda one: one.resources.limits)
    stated = pod.spec.resources
    return _Use("$.spec", {**requests, **stated.requests}, {**limits, **stated.limits})


def _sum(pod: Pod, amounts: Callable[[Container], Amounts]) -> Amounts:
    sidecars = [one for one in pod.spec.init_containers if one.restart_policy == ALWAYS]
    total: dict[str, Quantity] = {}
    for container in (*pod.spec.containers, *sidecars):
        for name, amount in amounts(container).items():
            total[name] = Quantity(total.get(name, NONE).nano + amount.nano, amount.family)
    for container in pod.spec.init_containers:
        for name, amount in amounts(container).items():
            total[name] = max(total.get(name, NONE), amount, key=lambda one: one.nano)
    return total
