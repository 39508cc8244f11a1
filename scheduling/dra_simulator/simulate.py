"""The scheduler played on a world: all pending pods, decided one after the other, and nodes planned for the rest."""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto

import msgspec

from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.cluster import DEFAULT_SCHEDULER_NAME
from dra_scheduling.fit.score_profiles import PACK, PROFILES
from dra_scheduling.model.ids import DeviceID, PoolKey
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.provisioning import Nomination
from dra_scheduling.state.assignments import Assignment, Nominated, OutOfBudget, Unschedulable, Waiting
from dra_scheduling.wire import KubernetesObject, key_of
from dra_simulator.complete import World
from dra_simulator.launch.made_up_provider import Catalogue, Provider
from dra_simulator.launch.played_cluster import HORIZON_SECONDS, PlayedCluster, Watcher, nomination_of

Left = Unschedulable | Waiting | OutOfBudget


class Whose(Enum):
    """Which pending pods are scheduled."""

    OURS = auto()
    EVERYBODYS = auto()


class Nodes(Enum):
    """What becomes of NodeClaims."""

    PLANNED = auto()
    LAUNCHED = auto()


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it: decisions by pod name, and figures. `cluster` is the cluster with all decisions counted.

    A pod is in one of `assignments`, `nominations` and `pending`. `node_claims` were made, changed or brought up.
    """

    assignments: tuple[Assignment, ...]
    nominations: tuple[Nomination, ...] = ()
    pending: tuple[Left, ...]
    node_claims: tuple[NodeClaim, ...] = ()
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
    nodes: Nodes = Nodes.PLANNED,
    profile: str = PACK.name,
) -> Simulation:
    """Return what the scheduler decides about the pending pods of this world, and which nodes it plans for the rest.

    `profile` names what makes a node the best, one of `PROFILES`.

    Searches end by steps alone, by no clock, so that the same world has the same outcome on every machine.
    """
    played = PlayedCluster(_objects(world, whose), features, watchers, world.now, profile)
    played.run()
    if nodes is Nodes.LAUNCHED:
        provider = Provider(played.cluster, Catalogue(played.cluster), world.of(ResourceSlice), world.now)
        while played.launch(provider):
            played.run(HORIZON_SECONDS)
    outcomes = [outcome for _, outcome in sorted(played.outcomes.items())]
    everything = (*world.objects, *played.arrived)
    held = played.cluster.ledger.held.values()
    return Simulation(
        assignments=tuple(outcome for outcome in outcomes if isinstance(outcome, Assignment)),
        nominations=tuple(nomination_of(outcome) for outcome in outcomes if isinstance(outcome, Nominated)),
        pending=tuple(outcome for outcome in outcomes if isinstance(outcome, Left)),
        node_claims=played.node_claims,
        cluster=played.cluster,
        pods=_number_of(Pod, everything),
        nodes=_number_of(Node, everything),
        steps=played.steps,
        published=_published(value for value in everything if isinstance(value, ResourceSlice)),
        allocated=frozenset(device for one in held for device in one.everything),
    )


def cluster_of(
    world: World, whose: Whose = Whose.OURS, features: Features = DEFAULT_FEATURES, profile: str = PACK.name
) -> Cluster:
    """Return the world as the scheduler sees it; other schedulers' pods become ours where everybody's are wanted."""
    cluster = Cluster(features=features, profile=PROFILES[profile])
    for value in _objects(world, whose):
        cluster.apply(value)
    return cluster


def _objects(world: World, whose: Whose) -> Iterator[KubernetesObject]:
    for value in world.objects:
        if whose is Whose.EVERYBODYS and isinstance(value, Pod):
            spec = msgspec.structs.replace(value.spec, scheduler_name=DEFAULT_SCHEDULER_NAME)
            yield msgspec.structs.replace(value, spec=spec)
        else:
            yield value


def _number_of(kind: type[KubernetesObject], objects: Iterable[KubernetesObject]) -> int:
    return len({key_of(value) for value in objects if isinstance(value, kind)})


def _published(pieces: Iterable[ResourceSlice]) -> frozenset[DeviceID]:
    """Return the devices in the newest generation of every pool, usable or not."""
    newest: dict[PoolKey, int] = {}
    slices = [(PoolKey(value.spec.driver, value.spec.pool.name), value.spec) for value in pieces]
    for key, spec in slices:
        newest[key] = max(newest.get(key, 0), spec.pool.generation)
    return frozenset(
        DeviceID(*key, device.name)
        for key, spec in slices
        if spec.pool.generation == newest[key]
        for device in spec.devices
    )
