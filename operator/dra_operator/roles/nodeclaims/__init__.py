"""The role that looks after NodeClaims: their life cycle, their end, and the status of NodePools and InstanceTypes."""
