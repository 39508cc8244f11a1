"""No more nodes are planned on an offering than it has machines left, those of the same plan included.

A NodeClaim whose machine is not chosen yet may take one of every offering that it allows, so it holds one of each.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dra_scheduling.basics.requirements import Requirement
from dra_scheduling.cluster import Cluster
from dra_scheduling.instancetypes import CAPACITY_TYPE_LABEL, ZONE_LABEL
from dra_scheduling.inventory import MachineTable, PoolTemplate
from dra_scheduling.inventory.reservations import (
    OfferingKey,
    limited_offerings,
    machines_in_use,
    told,
    without_offerings,
)
from dra_scheduling.provisioning.planned_node import PlannedNode


class LeftOffers(NamedTuple):
    """What nodes of a pool may still become, and in words which offerings are used up.

    `requirements` are the capacity types and zones that are left, so that nobody makes a machine of one that is not.
    """

    table: MachineTable
    used_up: tuple[str, ...] = ()
    requirements: tuple[Requirement, ...] = ()


class ReservedCapacity:
    """What is left of reservations in one plan."""

    __slots__ = ("_cluster", "_in_use", "_tables")

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._in_use: Counter[OfferingKey] | None = None
        self._tables: dict[tuple[str, frozenset[OfferingKey]], MachineTable] = {}

    def left(self, template: PoolTemplate, hosts: Iterable[PlannedNode]) -> LeftOffers:
        """Return what a new node of the pool may be, where these NodeClaims are planned or on their way already."""
        table = self._cluster.inventory.table(template)
        limited = list(limited_offerings(table))
        if not limited:
            return LeftOffers(table)
        held = self._in_use_now() + _held(hosts)
        used_up = {key: one.capacity for _, key, one in limited if held[key] >= (one.capacity or 0)}
        gone = frozenset(used_up)
        if not gone:
            return LeftOffers(table)
        known = self._tables.get((template.name, gone))
        if known is None:
            known = self._tables[template.name, gone] = without_offerings(table, gone)
        words = tuple(told(key, used_up[key] or 0) for key in sorted(used_up))
        return LeftOffers(known, words, tuple(_places_left(known)))

    def _in_use_now(self) -> Counter[OfferingKey]:
        if self._in_use is None:
            nodes = (state.node for state in self._cluster.nodes.values())
            self._in_use = machines_in_use(self._cluster.inventory.claims.values(), nodes)
        return self._in_use


def _places_left(table: MachineTable) -> Iterator[Requirement]:
    offered = [one.requirements for machine in table.machines for one in machine.offerings]
    for key in (CAPACITY_TYPE_LABEL, ZONE_LABEL):
        values = frozenset(value for some in offered for one in some if one.key == key for value in one.values)
        if values:
            yield Requirement(key=key, values=values)


def _held(hosts: Iterable[PlannedNode]) -> Counter[OfferingKey]:
    found: Counter[OfferingKey] = Counter()
    for host in hosts:
        for bit, key, offering in limited_offerings(host.spec.table):
            if host.types & bit and host.requirements.conflict(offering.requirements) is None:
                found[key] += 1
    return found
