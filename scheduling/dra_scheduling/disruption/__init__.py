"""Nodes that go: what if they did, which of them should, and what is to be done for that, one write after the other."""

from dra_scheduling.disruption.candidates import Candidate, Kept, Unrest, still_replaced, survey
from dra_scheduling.disruption.carrying import first_steps, is_under_way, next_steps
from dra_scheduling.disruption.conditions import Prospect, beside, last_words
from dra_scheduling.disruption.deciding import next_decision
from dra_scheduling.disruption.drift import Difference, Drift
from dra_scheduling.disruption.methods import Decision, consolidation
from dra_scheduling.disruption.outlook import Outlook
from dra_scheduling.disruption.records import Record, record_of
from dra_scheduling.disruption.steps import Close, Create, GiveUp, Mark, Remove, Reopen, Stay, Step
from dra_scheduling.disruption.successors import Successors
from dra_scheduling.disruption.whatif import Move, Stuck, WhatIf, WhatIfOptions, simulate_without

__all__ = [
    "Candidate",
    "Close",
    "Create",
    "Decision",
    "Difference",
    "Drift",
    "GiveUp",
    "Kept",
    "Mark",
    "Move",
    "Outlook",
    "Prospect",
    "Record",
    "Remove",
    "Reopen",
    "Stay",
    "Step",
    "Stuck",
    "Successors",
    "Unrest",
    "WhatIf",
    "WhatIfOptions",
    "beside",
    "consolidation",
    "first_steps",
    "is_under_way",
    "last_words",
    "next_decision",
    "next_steps",
    "record_of",
    "simulate_without",
    "still_replaced",
    "survey",
]
