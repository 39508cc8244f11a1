"""What nodes cost, and how a planned node is held to something cheaper."""

from collections.abc import Iterable, Mapping

from dra_scheduling.basics.requirements import Requirement, Requirements
from dra_scheduling.instancetypes import CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL, offering_requirements
from dra_scheduling.inventory import Inventory
from dra_scheduling.provisioning.plan_context import PlanContext
from dra_scheduling.provisioning.planned_node import PlannedNode
from kube_cel.quantity import NANO_PER_UNIT


class Prices:
    """What nodes that are there cost by the hour, whether or not they can be had now."""

    __slots__ = ("_kinds", "_known")

    def __init__(self, inventory: Inventory) -> None:
        found = (inventory.expanded(name) for name in sorted(inventory.instance_types))
        self._kinds = {one.name: one for one in found if one is not None}
        self._known: dict[tuple[str | None, ...], float | None] = {}

    def of(self, labels: Mapping[str, str]) -> float | None:
        """Return the price of a node with these labels, None if nobody knows it."""
        key = tuple(map(labels.get, (INSTANCE_TYPE_LABEL, ZONE_LABEL, CAPACITY_TYPE_LABEL)))
        if key not in self._known:
            self._known[key] = self._price(labels)
        return self._known[key]

    def _price(self, labels: Mapping[str, str]) -> float | None:
        kind = self._kinds.get(labels.get(INSTANCE_TYPE_LABEL, ""))
        node = Requirements.of_labels(labels)
        offerings = kind.offerings if kind is not None else ()
        within = (one for one in offerings if node.conflict(offering_requirements(one)) is None)
        return next((one.price.nano / NANO_PER_UNIT for one in within), None)


def price_of(host: PlannedNode) -> float:
    """Return the lowest price by the hour of what the host may still become, 0 where there is none."""
    cheapest = host.spec.table.by_price(host.types, host.requirements)
    return (cheapest[0].price_within(host.requirements) or 0.0) if cheapest else 0.0


def keep_cheaper(host: PlannedNode, limit: float, context: PlanContext, *, but_not: Iterable[str] = ()) -> bool:
    """Hold the host to types and capacity types that cost less than `limit` by the hour; return whether any is left.

    Capacity types in `but_not` are taken away. One under which no type is cheap enough goes as well, or else a node
    could come out that costs more than the one that it replaces.
    """
    kept: dict[str, int] = {}
    for value in sorted(_capacity_types(host).difference(but_not)):
        cheaper = _cheaper(host, value, limit)
        if cheaper:
            kept[value] = cheaper
    types = 0
    for mask in kept.values():
        types |= mask
    requirements = host.requirements.narrowed((Requirement(key=CAPACITY_TYPE_LABEL, values=frozenset(kept)),))
    return bool(types) and host.narrow(types, requirements, context)


def _capacity_types(host: PlannedNode) -> set[str]:
    return {
        value
        for machine in host.spec.table.members(host.types)
        for offering in machine.offerings
        for one in offering.requirements
        if one.key == CAPACITY_TYPE_LABEL
        for value in one.values
    }


def _cheaper(host: PlannedNode, capacity_type: str, limit: float) -> int:
    within = host.requirements.narrowed((Requirement(key=CAPACITY_TYPE_LABEL, values=frozenset((capacity_type,))),))
    mask = 0
    for number, machine in enumerate(host.spec.table.machines):
        if host.types >> number & 1:
            price = machine.price_within(within)
            if price is not None and price < limit:
                mask |= 1 << number
    return mask
