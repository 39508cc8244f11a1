"""What becomes of a world, turn by turn: pods are bound where nodes take them, and nodes are planned for the rest."""

import random
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from dra_cases.planning import Json, needs_of
from dra_cases.worlds import SHORT, amounts, manifests, standard_classes, taint
from dra_scheduling.basics.features import Features
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.inventory import nominees_of, requested_drivers
from dra_scheduling.inventory.nodepool_templates import required
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node
from dra_scheduling.provisioning import PlanOptions, ProvisioningResult, provision
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.wire import KINDS, KubernetesObject, read, read_as

NOW = "2030-01-01T00:30:00Z"
KIND_OF = {"pods": "Pod", "claims": "ResourceClaim", "types": "InstanceType", "pools": "NodePool", "nodes": "Node"}
KIND_OF |= {
    "nodeclaims": "NodeClaim",
    "daemons": "DaemonSet",
    "devicetaints": "DeviceTaintRule",
    "templates": "ResourceClaimTemplate",
}


class Turn:
    """What came of one turn, in the words of the cases."""

    def __init__(self, binds: Mapping[str, Assignment], planned: ProvisioningResult, made: Mapping[str, str]) -> None:
        self.planned = planned
        self.binds = {name: one.node for name, one in sorted(binds.items())}
        self.makes = [told(claim) for claim in planned.created]
        new = {claim.name for claim in planned.created}
        joins: dict[str, list[str]] = {}
        for one in planned.nominations:
            host = one.node_claim or one.node
            if host not in new:
                joins.setdefault(f"with {made[host]}" if host in made else host, []).append(one.pod.metadata.name)
        self.joins = {host: sorted(pods) for host, pods in sorted(joins.items())}
        self.widens = {made.get(claim.name, claim.name): list(requested_drivers(claim)) for claim in planned.extended}
        self.refuses = {one.pod.metadata.name: one.message for one in planned.refused}


class Play:
    """A cluster that is filled with worlds, and in which pods are planned for."""

    def __init__(self, features: Mapping[str, bool] | None = None, order: random.Random | None = None) -> None:
        self.cluster = Cluster(features=Features.of(features or {}))
        self._order = order
        self._made: dict[str, str] = {}
        """The first pod of each NodeClaim that was planned here, which nobody can name beforehand."""
        for raw in standard_classes():
            self.cluster.apply(read(raw))

    def add(self, world: Mapping[str, Any]) -> None:
        """Apply what the world holds, after taking away what it says is gone."""
        for kind, names in world.get("gone", {}).items():
            for name in names:
                self.cluster.remove(_kind(KIND_OF[kind]), _key(KIND_OF[kind], name))
        found = list(manifests(world))
        if self._order is not None:
            self._order.shuffle(found)
        for raw in found:
            self.cluster.apply(read(raw))
        for of, said in world.get("launched", {}).items():
            self.launch(of, said)

    def turn(self, now: str = NOW) -> Turn:
        """Bind what can be bound, and plan for the rest."""
        outcomes = schedule(self.cluster, self.cluster.pending()).outcomes
        binds = {one.pod.metadata.name: one for one in outcomes if isinstance(one, Assignment)}
        left = [one.pod for one in outcomes if not isinstance(one, Assignment)]
        planned = provision(self.cluster, left, PlanOptions(now=now))
        found = Turn(binds, planned, self._made)
        self._made |= {claim.name: nominees_of(claim)[0].key.name for claim in planned.created}
        return found

    def claim_for(self, pod: str) -> NodeClaim:
        """Return the NodeClaim of that name, or the one that the pod is nominated to."""
        claims = self.cluster.inventory.claims
        if pod in claims:
            return claims[pod]
        return next(one for one in claims.values() if pod in {each.uid for each in nominees_of(one)})

    def launch(self, of: str, said: Json) -> None:
        """Let a NodeClaim become a machine: launched, and with a `node` a node that is set up, or even ready."""
        claim = self.claim_for(of)
        chosen = said["type"]
        labels = {SHORT.get(key, key): value for key, value in said.items() if key in {"type", "zone", "capacity"}}
        labels = {"topology.kubernetes.io/zone": "z1", "karpenter.sh/capacity-type": "on-demand", **labels}
        labels = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", **claim.metadata.labels, **labels}
        node = said.get("node", "")
        launched = [Condition(type="Launched", status="True")]
        if "registered" in said:
            launched.append(Condition(type="Registered", status="True", last_transition_time=said["registered"]))
        self.cluster.apply(
            replace(
                claim,
                metadata=replace(claim.metadata, uid=claim.name, labels=labels),
                status=replace(claim.status, node_name=node, conditions=tuple(launched)),
            )
        )
        if node:
            self._come_up(node, chosen, labels, said)

    def _come_up(self, node: str, chosen: str, labels: Mapping[str, str], said: Json) -> None:
        expanded = self.cluster.inventory.expanded(chosen)
        assert expanded is not None, chosen
        own = {**labels, "kubernetes.io/hostname": node}
        if said.get("ready"):
            own["karpenter.sh/initialized"] = "true"
        offered = amounts(dict(expanded.offered))
        status = {"allocatable": offered, "capacity": amounts(dict(expanded.capacity))}
        spec = {"taints": [taint(each) for each in said.get("taints", [])]}
        meta = {"name": node, "uid": node, "labels": own}
        self.cluster.apply(read_as(Node, {"metadata": meta, "spec": spec, "status": status}))
        for piece in expanded.slices_for_node(node, node_uid=node):
            if piece.spec.driver in said.get("publishes", expanded.drivers):
                self.cluster.apply(piece)


def told(claim: NodeClaim) -> Json:
    """Return what a case may say of a NodeClaim."""
    wanted = required(claim.spec.requirements)
    types = next((one.values for one in claim.spec.requirements if one.key == INSTANCE_TYPE_LABEL), ())
    short = {name: key for key, name in SHORT.items()}
    least = {one.key: one.min_values for one in claim.spec.requirements if one.min_values is not None}
    return {
        "pods": sorted(one.key.name for one in nominees_of(claim)),
        "types": list(types),
        "needs": {
            short.get(key, key): values
            for key, values in needs_of(wanted).items()
            if key not in {INSTANCE_TYPE_LABEL, "type", "karpenter.sh/nodepool"}
        },
        "drivers": list(requested_drivers(claim)),
        "pool": claim.metadata.labels["karpenter.sh/nodepool"],
        "requests": {key: str(value) for key, value in claim.spec.resources.requests.items() if key != "pods"},
        "taints": [f"{one.key}:{one.effect}" for one in claim.spec.taints],
        "startup": [f"{one.key}:{one.effect}" for one in claim.spec.startup_taints],
        "minValues": {short.get(key, key): value for key, value in least.items()},
    }


def unlike(turn: Turn, expected: Json) -> list[str]:
    """Return how the turn differs from what a case says; what it does not mention must not happen."""
    found = [*_differing("binds", turn.binds, expected.get("binds", {}))]
    found += _differing("joins", turn.joins, {key: sorted(pods) for key, pods in expected.get("joins", {}).items()})
    found += _makes(turn.makes, [each or {} for each in expected.get("makes", [])])
    if "widens" in expected:
        found += _differing("widens", turn.widens, expected["widens"])
    refuses = expected.get("refuses", {})
    if set(turn.refuses) != set(refuses):
        found.append(f"refuses {turn.refuses}, expected {refuses}")
    for name, parts in refuses.items():
        message = turn.refuses.get(name, "")
        found += [
            f"{name}: {part!r} is not in {message!r}"
            for part in (parts if isinstance(parts, list) else [parts])
            if part not in message
        ]
    return found


def _differing(word: str, actual: Json, expected: Json) -> list[str]:
    return [] if actual == expected else [f"{word} {actual}, expected {expected}"]


def _makes(actual: list[Json], expected: list[Json]) -> list[str]:
    """Return the differences of NodeClaims, which are told apart by their pods."""
    left = sorted(actual, key=lambda one: one["pods"])
    wanted = sorted(expected, key=lambda one: sorted(one["pods"]))
    if [one["pods"] for one in left] != [sorted(one["pods"]) for one in wanted]:
        return [f"makes {left}, expected {wanted}"]
    return [
        f"{one['pods']}: {key} is {one[key]}, expected {value}"
        for one, expectation in zip(left, wanted, strict=True)
        for key, value in expectation.items()
        if key != "pods" and one[key] != value
    ]


def steps_of(case: Json) -> Iterable[Json]:
    """Yield the first turn of a case and those after it."""
    yield case
    yield from case.get("then", [])


def _kind(name: str) -> type[KubernetesObject]:
    return next(kind for (_, each), kind in KINDS.items() if each == name)


def _key(kind: str, name: str) -> ObjectKey:
    own = {"Pod": "default", "ResourceClaim": "default"}
    own |= {"DaemonSet": "kube-system", "ResourceClaimTemplate": "kube-system"}
    namespace, _, short = name.rpartition("/")
    return ObjectKey(namespace or own.get(kind, ""), short)
