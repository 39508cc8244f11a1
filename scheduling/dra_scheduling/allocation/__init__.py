"""Which devices the claims of one pod get on one node: claims read once, bounds before the search, search on bit masks."""
