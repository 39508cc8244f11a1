"""The scheduler played on a world: one cycle over all pending pods, decided one after the other."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import Protocol

import msgspec

from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle import schedule
from dra_scheduling.features import DEFAULT_FEATURES, Features
from dra_scheduling.model.ids import DeviceID, PoolKey
from dra_scheduling.model.outcomes import Assignment, Outcome, OutOfBudget, Unschedulable, Waiting
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.model.slices import ResourceSlice
from dra_simulator.complete import World

Left = Unschedulable | Waiting | OutOfBudget


class Watcher(Protocol):
    """Is shown each pod as it is decided."""

    def before(self, cluster: Cluster, pod: Pod) -> None:
        """The pod is the next one, and this is the cluster as it is then."""

    def after(self, outcome: Outcome) -> None:
        """This became of the pod."""


class Whose(Enum):
    """Which pending pods are scheduled."""

    OURS = auto()
    EVERYBODYS = auto()


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it: decisions by pod name, and figures. `cluster` is the cluster with all decisions counted."""

    assignments: tuple[Assignment, ...]
    pending: tuple[Left, ...]
    cluster: Cluster
    pods: int
    nodes: int
    steps: int
    published: frozenset[DeviceID]
    allocated: frozenset[DeviceID]


def simulate(
    world: World,
    whose: Whose = Whose.OURS,
    watchers: Sequence[Watcher] = (),
    features: Features = DEFAULT_FEATURES,
) -> Simulation:
    """Return what the scheduler decides about the pending pods of this world.

    Searches end by steps alone, by no clock, so that the same world has the same outcome on every machine.
    """
    cluster = cluster_of(world, whose, features)
    outcomes: list[Outcome] = []
    steps = 0
    for pod in cluster.pending():
        for watcher in watchers:
            watcher.before(cluster, pod)
        result = schedule(cluster, [pod])
        outcomes += result.outcomes
        for watcher in watchers:
            watcher.after(result.outcomes[0])
        steps += result.search_steps
    outcomes.sort(key=lambda outcome: outcome.pod.key)
    return Simulation(
        assignments=tuple(outcome for outcome in outcomes if isinstance(outcome, Assignment)),
        pending=tuple(outcome for outcome in outcomes if not isinstance(outcome, Assignment)),
        cluster=cluster,
        pods=len(world.of(Pod)),
        nodes=len(world.of(Node)),
        steps=steps,
        published=_published(world),
        allocated=frozenset(device for held in cluster.ledger.held.values() for device in held.everything),
    )


def cluster_of(world: World, whose: Whose = Whose.OURS, features: Features = DEFAULT_FEATURES) -> Cluster:
    """Return the world as the scheduler sees it; other schedulers' pods become ours where everybody's are wanted."""
    cluster = Cluster(features=features)
    for value in world.objects:
        if whose is Whose.EVERYBODYS and isinstance(value, Pod):
            spec = msgspec.structs.replace(value.spec, scheduler_name=cluster.scheduler_name)
            cluster.apply(msgspec.structs.replace(value, spec=spec))
        else:
            cluster.apply(value)
    return cluster


def _published(world: World) -> frozenset[DeviceID]:
    """Return the devices in the newest generation of every pool, usable or not."""
    newest: dict[PoolKey, int] = {}
    slices = [(PoolKey(value.spec.driver, value.spec.pool.name), value.spec) for value in world.of(ResourceSlice)]
    for key, spec in slices:
        newest[key] = max(newest.get(key, 0), spec.pool.generation)
    return frozenset(
        DeviceID(*key, device.name)
        for key, spec in slices
        if spec.pool.generation == newest[key]
        for device in spec.devices
    )
