"""The cluster as scheduling sees it, kept up to date object by object."""

from dra_scheduling.cluster.cluster import DEFAULT_SCHEDULER_NAME, Cluster, in_scheduling_order

__all__ = ["DEFAULT_SCHEDULER_NAME", "Cluster", "in_scheduling_order"]
