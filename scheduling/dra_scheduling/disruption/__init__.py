"""Nodes that go: what if they did, which of them should, and what is to be done for that, one write after the other."""

from dra_scheduling.disruption.whatif import Move, Stuck, WhatIf, WhatIfOptions, simulate_without

__all__ = ["Move", "Stuck", "WhatIf", "WhatIfOptions", "simulate_without"]
