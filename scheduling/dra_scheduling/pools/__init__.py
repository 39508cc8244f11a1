"""Pools of published devices, kept up to date slice by slice, and what one node sees of them."""

from dra_scheduling.pools.generations import INCOMPLETE, INVALID
from dra_scheduling.pools.index import PoolIndex
from dra_scheduling.pools.nodepools import NodePool, Problem
from dra_scheduling.pools.pieces import EVERY_NODE, NO_NODE, NodePlace, Reach

__all__ = ["EVERY_NODE", "INCOMPLETE", "INVALID", "NO_NODE", "NodePlace", "NodePool", "PoolIndex", "Problem", "Reach"]
