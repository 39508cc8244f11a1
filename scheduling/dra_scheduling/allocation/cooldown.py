"""Devices that somebody had a moment ago are left to cool down where others would do as well.

The API calls a device free as soon as no claim names it. On the node its last user may still be there: after a forced
deletion, or while a driver has not unprepared it (dra-driver-nvidia-gpu issue 1162).
"""

from functools import reduce
from itertools import chain
from operator import or_

from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.devices import PoolOnNode
from dra_scheduling.devices.bits import members
from dra_scheduling.devices.ledger import Cooldown
from dra_scheduling.model.ids import DeviceID


def without_warm(
    query: ClaimQuery, choice: tuple[int, ...], picks: tuple[int, ...], board: SearchSpace, cooldown: Cooldown
) -> tuple[int, ...]:
    """Return the picks with others in the place of warm devices, as far as the same pool has free ones that are alike.

    Alike are devices that the same wishes may have and that agree in every attribute a constraint compares. Those that
    are shared, draw from counters, or come with admin access stay: another one would draw something else.
    """
    taken, found = reduce(or_, picks, 0), list(picks)
    mine = [place for place, number in enumerate(choice) if not query.asks[place][number].alternative.is_admin]
    for offset, pool, _ in board.pools:
        plain = pool.everything & ~(pool.shareable | pool.profile.consumers | pool.profile.sharers)
        for place in mine:
            for warm in members(found[place] >> offset & plain):
                if _id(pool, warm) not in cooldown:
                    continue
                alike = _alike(query, board, offset + warm) & ~taken
                others = members(alike >> offset & plain)
                cold = next((one for one in others if _can_replace(pool, one, warm, cooldown)), None)
                if cold is not None:
                    change = (1 << warm | 1 << cold) << offset
                    found[place] ^= change
                    taken ^= change
    return tuple(found)


def _alike(query: ClaimQuery, board: SearchSpace, number: int) -> int:
    bit, alike = 1 << number, -1
    wishes = (board.available(wish) for wish in query.wishes)
    groups = (mask for source in query.attributes for mask in board.groups(source).values())
    for side in chain(wishes, groups):
        alike &= side if side & bit else ~side
    return alike


def _can_replace(pool: PoolOnNode, other: int, warm: int, cooldown: Cooldown) -> bool:
    """Whether the other device is cold, and choosing it changes nothing of what is written beside its name."""
    return _id(pool, other) not in cooldown and _beside(pool, other) == _beside(pool, warm)


def _id(pool: PoolOnNode, number: int) -> DeviceID:
    return DeviceID(*pool.key, pool.device(number).name)


def _beside(pool: PoolOnNode, number: int) -> tuple[object, ...]:
    device = pool.device(number)
    return (
        pool.placement(number),
        device.allow_multiple_allocations,
        device.binds_to_node,
        device.binding_conditions,
        device.binding_failure_conditions,
        device.node_allocatable_resources,
        device.node_allocatable_resource_mappings,
    )
