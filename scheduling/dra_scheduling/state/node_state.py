"""One node as scheduling sees it: what it offers, what pods on it and plans for it have taken."""

from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec

from dra_scheduling.basics.pod_requests import pod_requests
from dra_scheduling.basics.requirements import term_matches
from dra_scheduling.basics.resources import CPU
from dra_scheduling.devices.indexed_slice import NodePlace
from dra_scheduling.extended_resources.resource_names import is_extended_name
from dra_scheduling.model.node_selectors import NodeSelectorTerm
from dra_scheduling.model.pods import Node, NodeAllocatableResourceClaimStatus, Pod
from dra_scheduling.state.host_ports import HostPort, host_ports
from kube_cel.quantity import NANO_PER_MILLI, NANO_PER_UNIT

DAEMON_SET = "DaemonSet"


class PodCharge(msgspec.Struct, frozen=True):
    """What one pod takes from a node: amounts in base units (cpu in milli) and host ports.

    `is_daemon` tells pods of DaemonSets, which every node like this one has, `is_going` those that are being deleted.
    """

    amounts: dict[str, int]
    ports: tuple[HostPort, ...]
    is_daemon: bool = False
    is_going: bool = False


class NodeOffer(msgspec.Struct, frozen=True, eq=False):
    """What a node offers by itself: amounts in base units, their names, and whether devices are among them."""

    allocatable: Mapping[str, int]
    offered: frozenset[str]
    offers_devices: bool


class NodeSignature:
    """What a node offers and what is left of it. Nodes with one standing have the same; told apart by identity."""

    __slots__ = ()


def charge_of(pod: Pod, of_claims: Iterable[NodeAllocatableResourceClaimStatus] = ()) -> PodCharge:
    """Return what the pod takes from the node it is on, whatever serves its extended resources.

    `of_claims` is what its devices take of the node.
    """
    owner = pod.metadata.controller
    return PodCharge(
        dict(pod_requests(pod, of_claims).items()),
        host_ports(pod),
        is_daemon=owner is not None and owner.kind == DAEMON_SET,
        is_going=pod.metadata.is_deleting,
    )


class NodeState:
    """Room left on one node. Charged are only the resources that the node offers: others are devices of DRA.

    That rule keeps `free` from going below zero for a resource that the node has none of (KAI design, "Reserve").
    """

    __slots__ = (
        "_offer",
        "_standing",
        "allocatable",
        "charges",
        "free",
        "is_guarded",
        "node",
        "offered",
        "offers_devices",
        "place",
    )

    def __init__(self, node: Node, charges: dict[str, PodCharge]) -> None:
        self.charges = charges
        """By pod uid. The dictionary may be older than the node: pods can be seen before the node they are on."""
        self.update(node)

    def update(self, node: Node) -> None:
        """Take over the node's new state; the charges stay."""
        self.node = node
        self.place = NodePlace(name=node.name, labels=node.metadata.labels)
        self.is_guarded = _is_guarded(node)
        self._offer = offer = _offer_of(tuple(_base_units(node).items()))
        self.allocatable, self.offered, self.offers_devices = offer.allocatable, offer.offered, offer.offers_devices
        self._standing: NodeSignature | None = None
        self.free = dict(self.allocatable)
        for charge in self.charges.values():
            self._subtract(charge.amounts)

    def is_changed_by(self, node: Node) -> bool:
        """Whether the new state differs in anything that scheduling reads; heartbeats do not."""
        known = self.node
        return (
            known.metadata.uid != node.metadata.uid
            or known.metadata.labels != node.metadata.labels
            or known.spec != node.spec
            or known.status.allocatable != node.status.allocatable
        )

    def take(self, charge: PodCharge) -> None:
        """Let a pod that was added to `charges` take its room."""
        self._subtract(charge.amounts)

    def give_back(self, charge: PodCharge) -> None:
        """Give back the room of a pod that was taken out of `charges`."""
        free = self.free
        self._standing = None
        for name, amount in charge.amounts.items():
            if name in free:
                free[name] += amount

    @property
    def standing(self) -> NodeSignature:
        """What the node offers and has left, as one object for all nodes of which the same is true."""
        if self._standing is None:
            self._standing = _standing_of(self._offer, tuple(self.free.values()))
        return self._standing

    @property
    def used_ports(self) -> frozenset[HostPort]:
        """The host ports that are taken."""
        return frozenset(port for charge in self.charges.values() for port in charge.ports)

    def meets(self, term: NodeSelectorTerm) -> bool:
        """Whether the term holds for the node."""
        return term_matches(term, self.node.name, self.node.metadata.labels)

    def _subtract(self, amounts: Mapping[str, int]) -> None:
        free = self.free
        self._standing = None
        for name, amount in amounts.items():
            if name in free:
                free[name] -= amount


@lru_cache(maxsize=4096)
def _offer_of(amounts: tuple[tuple[str, int], ...]) -> NodeOffer:
    """Return one object for all nodes that offer the same: looking at thousands of nodes waits for memory most."""
    names = frozenset(name for name, _ in amounts)
    return NodeOffer(dict(amounts), names, any(map(is_extended_name, names)))


@lru_cache(maxsize=65_536)
def _standing_of(offer: NodeOffer, free: tuple[int, ...]) -> NodeSignature:  # noqa: ARG001 - the cache keeps one for each
    return NodeSignature()


def _base_units(node: Node) -> dict[str, int]:
    """Return what the node offers; a resource with the amount 0 is the same as one that is absent."""
    amounts = {
        name: quantity.nano // (NANO_PER_MILLI if name == CPU else NANO_PER_UNIT)
        for name, quantity in node.status.allocatable.items()
    }
    return {name: amount for name, amount in amounts.items() if amount > 0}


def _is_guarded(node: Node) -> bool:
    """Whether the node keeps some pods off, or would rather not have them."""
    return bool(node.spec.unschedulable or node.spec.taints or node.is_being_set_up)
