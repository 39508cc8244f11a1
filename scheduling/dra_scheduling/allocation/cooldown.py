"""Devices in cool-down are given out only where no equivalent device is free.

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


def avoid_cooldown(
    query: ClaimQuery, choice: tuple[int, ...], picks: tuple[int, ...], board: SearchSpace, cooldown: Cooldown
) -> tuple[int, ...]:
    """Return the picks with equivalent free devices of the same pool in place of those in cool-down, if there are any.

    Equivalent are devices that the same requests may have and that agree in every attribute a constraint compares.
    Those that are shared, draw from counters, or come with admin access stay: another one would draw something else.
    """
    taken, found = reduce(or_, picks, 0), list(picks)
    mine = [place for place, number in enumerate(choice) if not query.asks[place][number].alternative.is_admin]
    for offset, pool, _ in board.pools:
        plain = pool.everything & ~(pool.shareable | pool.profile.consumers | pool.profile.sharers)
        for place in mine:
            for picked in members(found[place] >> offset & plain):
                if _id(pool, picked) not in cooldown:
                    continue
                equivalent = _equivalent(query, board, offset + picked) & ~taken
                others = members(equivalent >> offset & plain)
                spare = next((one for one in others if _can_replace(pool, one, picked, cooldown)), None)
                if spare is not None:
                    change = (1 << picked | 1 << spare) << offset
                    found[place] ^= change
                    taken ^= change
    return tuple(found)


def _equivalent(query: ClaimQuery, board: SearchSpace, number: int) -> int:
    bit, equivalent = 1 << number, -1
    wishes = (board.available(wish) for wish in query.wishes)
    groups = (mask for source in query.attributes for mask in board.groups(source).values())
    for side in chain(wishes, groups):
        equivalent &= side if side & bit else ~side
    return equivalent


def _can_replace(pool: PoolOnNode, other: int, picked: int, cooldown: Cooldown) -> bool:
    """Whether the other device is not in cool-down, and choosing it changes nothing else of the result."""
    return _id(pool, other) not in cooldown and _beside(pool, other) == _beside(pool, picked)


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
