"""Pools of published devices, kept up to date slice by slice, and what one node sees of them."""

from dra_scheduling.devices.generations import INCOMPLETE, INVALID
from dra_scheduling.devices.indexed_slice import EVERY_NODE, NO_NODE, NodePlace, Reach
from dra_scheduling.devices.node_view import PoolOnNode, PoolProblem
from dra_scheduling.devices.pool_index import PoolIndex

__all__ = [
    "EVERY_NODE",
    "INCOMPLETE",
    "INVALID",
    "NO_NODE",
    "NodePlace",
    "PoolIndex",
    "PoolOnNode",
    "PoolProblem",
    "Reach",
]
