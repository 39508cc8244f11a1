"""How long Kubernetes' allocator takes, for the benchmark: the same worlds, given as our own values."""

from collections.abc import Iterable, Sequence
from statistics import median

import msgspec

from dra_oracle.kubernetes import Kubernetes
from dra_oracle.world import Json, World
from dra_scheduling.devices import NodePlace
from dra_scheduling.model.claims import DeviceRequestAllocationResult, ResourceClaimSpec
from dra_scheduling.model.slices import DeviceClass, ResourceSlice
from dra_scheduling.wire import write
from dra_scheduling.wire.objects import write_value

DEFAULTS: Json = {"allocationMode": "ExactCount", "count": 1}


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """The median of several rounds over all nodes; `is_finished` is false where the first one ran out of time.

    `steps` are calls of the recursive search over all nodes of one round, `able` counts the nodes that could serve.
    """

    is_finished: bool
    steps: int
    able: int
    milliseconds: float


def world_of(
    slices: Iterable[ResourceSlice],
    specs: Iterable[ResourceClaimSpec],
    classes: Iterable[DeviceClass],
    held: Iterable[DeviceRequestAllocationResult] = (),
) -> World:
    """The world that Kubernetes is asked about; it has no node yet."""
    return World(
        node={},
        slices=tuple(_published(piece) for piece in slices),
        classes=tuple(write(each) for each in classes),
        claims=tuple(
            {"metadata": {"name": f"c{number}", "namespace": "default"}, "spec": _stored(write_value(spec))}
            for number, spec in enumerate(specs)
        ),
        held=tuple(write_value(result) for result in held),
    )


def timed(
    kubernetes: Kubernetes, world: World, nodes: Sequence[NodePlace], limit_seconds: float = 10.0, rounds: int = 5
) -> Timed:
    """How long one pod takes on all nodes, one after the other; kube-scheduler itself gives up on a node after 10 s."""
    plain = tuple({"metadata": {"name": node.name, "labels": node.labels}} for node in nodes)
    answer = kubernetes.measure(plain, world, int(limit_seconds * 1000), rounds)
    return Timed(
        is_finished=answer.verdict != "timeout",
        steps=answer.steps,
        able=answer.able,
        milliseconds=median(answer.nanoseconds) / 1e6,
    )


def _published(piece: ResourceSlice) -> Json:
    """The slice with the field that our values leave out and the API does not."""
    plain: Json = write(piece)
    plain["spec"]["pool"]["resourceSliceCount"] = piece.spec.pool.resource_slice_count
    return plain


def _stored(spec: Json) -> Json:
    """The spec with what the API server fills in."""
    for request in spec["devices"].get("requests", ()):
        for wish in (*([request["exactly"]] if "exactly" in request else ()), *request.get("firstAvailable", ())):
            missing = DEFAULTS if wish.get("allocationMode") != "All" else {}
            wish.update({name: value for name, value in missing.items() if name not in wish})
    return spec
