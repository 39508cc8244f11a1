"""From the answer of a board to the devices, what they require of nodes, and what they draw."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from dra_scheduling.allocation.allocation_outcomes import Chosen
from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.flat_requests import FlatRequest
from dra_scheduling.basics.requirements import Requirement, Requirements, merged, on_new_nodes
from dra_scheduling.devices import PoolOnNode
from dra_scheduling.devices.bits import members
from dra_scheduling.devices.compatibility_groups import memberships_of
from dra_scheduling.devices.partitionable_devices import charge_of
from dra_scheduling.devices.selections import DeviceCriteria
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.template_devices.device_uses import ClaimServed, DeviceUse, TypeServed
from dra_scheduling.template_devices.template_search_space import TemplateSearchSpace


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where devices are looked for: the box, and which of its labels decide about "all devices" of a wish."""

    box: Requirements
    deciding: Mapping[DeviceCriteria, frozenset[str]] = {}


def served_by(name: str, query: ClaimQuery, chosen: Chosen, board: TemplateSearchSpace, place: Place) -> TypeServed:
    """Return what the type gives to each claim."""
    claims, first = [], 0
    for claim in query.claims:
        numbers = range(first, first + len(claim.requests))
        asks = [query.asks[number][chosen.choice[number]] for number in numbers]
        claims.append(_claim(asks, [chosen.picks[number] for number in numbers], board, place))
        first += len(claim.requests)
    return TypeServed(name=name, claims=tuple(claims), choice=chosen.choice)


def required_by(pool: PoolOnNode, mask: int) -> Iterator[Requirement]:
    """Yield what the devices of the mask require of nodes that do not exist yet."""
    for number in members(mask):
        term = pool.placement(number).term
        if term is not None:
            yield from on_new_nodes(term) or ()


def _claim(asks: Sequence[FlatRequest], picks: Sequence[int], board: TemplateSearchSpace, place: Place) -> ClaimServed:
    uses, required, is_bound = list[DeviceUse](), list[Requirement](), False
    for ask, picked in zip(asks, picks, strict=True):
        for offset, pool, _ in board.pools:
            mask = picked >> offset & pool.everything
            if not mask:
                continue
            is_template = offset >= board.first_template
            uses += _uses(ask, pool, mask, is_template=is_template)
            is_bound |= is_template or _is_local(pool, mask)
            required += () if is_template else required_by(pool, mask)
        if ask.alternative.wants_all:
            # All devices of a place are all only there: the place itself is part of the answer.
            required += [place.box.of(key) for key in place.deciding.get(ask.alternative.wish, ())]
    return ClaimServed(uses=tuple(uses), requirements=merged(required), is_bound=is_bound)


def _is_local(pool: PoolOnNode, mask: int) -> bool:
    """Whether some of the devices are of one node, or of nodes that are told by their names."""
    if mask & pool.pinned:
        return True
    terms = (pool.placement(number).term for number in members(mask))
    return any(term is not None and on_new_nodes(term) is None for term in terms)


def _uses(ask: FlatRequest, pool: PoolOnNode, mask: int, *, is_template: bool) -> Iterator[DeviceUse]:
    alternative = ask.alternative
    for number in members(mask):
        device = pool.device(number)
        is_share = not alternative.is_admin and bool(pool.shareable >> number & 1)
        yield DeviceUse(
            request=alternative.name,
            device=DeviceID(*pool.key, device.name),
            is_template=is_template,
            consumed=pool.portions(alternative.wish)[number] if is_share else None,
            is_admin=alternative.is_admin,
            charge=charge_of(device),
            memberships=memberships_of(device),
        )
