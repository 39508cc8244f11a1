"""Which devices the claims of one pod get on one node: claims read once, bounds, then a search on bit masks."""
