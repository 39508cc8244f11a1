"""One pod over thousands of nodes, by the library's whole cycle, and what a changed slice costs the pod after it."""

import gc
from collections.abc import Iterator, Sequence
from itertools import count

import msgspec

from dra_bench import upstream, world
from dra_bench.clock import Took, middle, milliseconds, timed
from dra_bench.fleets import GPUS, Fleet, fleets, nothing, pod_with_claim, wish
from dra_bench.report import Say, Table
from dra_bench.upstream import Theirs
from dra_bench.world import DRIVER, Json
from dra_oracle.kubernetes import Kubernetes
from dra_oracle.world import World
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.devices import NodePlace
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import KubernetesObject, read

RUNS = 5
EVENT_TARGET = 5.0
TOO_MANY = GPUS + 1
NEW_COUNTS = (2, 3, 4)


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """One fleet, medians of several pods each.

    `first`: the first pod of all, once. `anew`: a selector that no device was put to before. `counts`: a number of
    devices that no pod asked for before. `other`: a pod that differs from those before it in its cpu; `nowhere` the
    same for one that no node takes; `same`: another pod like the last one. `event`: a changed slice and one more such
    pod, without what the pod takes by itself.
    """

    fleet: str
    nodes: int
    target: float
    first: Took
    anew: Took
    counts: Took
    other: Took
    nowhere: Took
    same: Took
    event: Took
    theirs: Theirs | None


class Scene:
    """A cluster that pods are put to, one after the other."""

    __slots__ = ("_cluster", "_fleet", "_numbers")

    def __init__(self, fleet: Fleet) -> None:
        self._cluster = Cluster()
        self._fleet = fleet
        self._numbers = count()
        for item in fleet.objects():
            self._cluster.apply(read(item))
        # What the operator does after it has listed everything.
        gc.collect()
        gc.freeze()

    def measured(self, program: Kubernetes | None) -> Sweep:
        """Return what was measured."""
        fleet = self._fleet
        first = self._schedule(wish(1, fleet.kind))
        anew = middle(self._schedule(wish(1, fleet.kind, _always(number))) for number in range(RUNS))
        counts = middle(self._schedule(wish(number, fleet.kind)) for number in NEW_COUNTS)
        self._schedule(wish(1, fleet.kind))
        other = middle(self._schedule(wish(1, fleet.kind), cpu=f"{101 + number}m") for number in range(RUNS))
        self._schedule(wish(TOO_MANY, fleet.kind))
        nowhere = middle(self._schedule(wish(TOO_MANY, fleet.kind), cpu=f"{101 + number}m") for number in range(RUNS))
        self._schedule(wish(TOO_MANY, fleet.kind))
        same = middle(self._schedule(wish(TOO_MANY, fleet.kind)) for _ in range(RUNS))
        event = middle(self._schedule(wish(TOO_MANY, fleet.kind), after=change) for change in self._changes())
        return Sweep(
            fleet=fleet.name,
            nodes=fleet.nodes,
            target=fleet.target_ms,
            first=first,
            anew=anew,
            counts=counts,
            other=other,
            nowhere=nowhere,
            same=same,
            event=event - same,
            theirs=_theirs(fleet, program),
        )

    def _schedule(self, spec: Json, cpu: str = "100m", after: KubernetesObject | None = None) -> Took:
        claim, pod = (read(item) for item in pod_with_claim(next(self._numbers), spec, cpu))
        assert isinstance(pod, Pod)
        self._cluster.apply(claim)
        self._cluster.apply(pod)

        def act() -> None:
            if after is not None:
                self._cluster.apply(after)
            schedule(self._cluster, (pod,))

        return timed(act)

    def _changes(self) -> Iterator[KubernetesObject]:
        """Yield slices that lose a device, each of another node."""
        for number in range(RUNS):
            piece = self._fleet.pieces(self._fleet.nodes - 1 - number)[-1]
            piece["spec"]["devices"] = piece["spec"]["devices"][:-1]
            yield read(piece)


def measure(say: Say) -> list[Sweep]:
    """Measure every fleet."""
    with upstream.running(say) as program:
        return [_measure(fleet, program, say) for fleet in fleets()]


def _measure(fleet: Fleet, program: Kubernetes | None, say: Say) -> Sweep:
    result = Scene(fleet).measured(program)
    gc.unfreeze()
    gc.collect()
    say(f"{fleet.name}: {milliseconds(result.other.wall)} ms ({milliseconds(result.other.cpu)} ms of CPU) a pod")
    return result


def _always(number: int) -> str:
    return f'device.attributes["{DRIVER}"].driverVersion.compareTo(semver("{number}.0.0")) > 0'


def _theirs(fleet: Fleet, program: Kubernetes | None) -> Theirs | None:
    """Return what Kubernetes takes where a pod for one device looks at every node; it is not told what is in use."""
    if fleet.in_use is not nothing:
        return None
    names = [world.node_name(number) for number in range(fleet.nodes)]
    asked = World(
        node={},
        slices=tuple(piece for number in range(fleet.nodes) for piece in fleet.pieces(number)),
        classes=(world.device_class(),),
        claims=({"metadata": {"name": "c", "namespace": world.NAMESPACE}, "spec": wish(1, fleet.kind)},),
    )
    return upstream.ask(program, asked, [NodePlace(name, {"kubernetes.io/hostname": name}) for name in names])


def table(results: Sequence[Sweep]) -> Table:
    """Return one row a fleet."""
    columns = (
        "cluster",
        "nodes",
        "first pod",
        "new selector",
        "target ms",
        "new number of devices",
        "pod that fits",
        "pod that fits nowhere",
        "like the last pod",
        "target ms",
        "slice event, more",
        *upstream.COLUMNS,
    )
    return Table(columns, tuple(map(_row, results)))


def _row(one: Sweep) -> tuple[str, ...]:
    return (
        one.fleet,
        f"{one.nodes:,}",
        _both(one.first),
        _both(one.anew),
        f"{one.target:.0f}",
        _both(one.counts),
        _both(one.other),
        _both(one.nowhere),
        _both(one.same),
        f"{EVENT_TARGET:.0f}",
        _both(one.event),
        *upstream.cells(one.theirs, one.other),
    )


def _both(took: Took) -> str:
    return f"{milliseconds(took.wall)} ({milliseconds(took.cpu)})"
