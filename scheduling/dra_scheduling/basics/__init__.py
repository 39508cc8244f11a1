"""Values that every part of the library shares: requirements, resources, refusals, feature gates, times."""
