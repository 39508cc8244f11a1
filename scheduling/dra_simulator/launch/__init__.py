"""Nodes that do not exist yet: how they come up, and why a pod would or would not get one."""
