"""Which devices the claims of one pod get on one node: claims read once, bounds first, then a search on bit masks."""
