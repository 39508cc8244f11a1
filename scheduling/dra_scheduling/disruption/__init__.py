"""Nodes that go: what if they did, which of them should, and what is to be done for that, one write after the other."""

from dra_scheduling.disruption.candidates import Candidate, Ineligible, NodeActivity, still_replaced, survey
from dra_scheduling.disruption.decision_annotations import DecisionRecord, record_of
from dra_scheduling.disruption.disruption_conditions import Prospect, beside, last_words
from dra_scheduling.disruption.disruption_steps import (
    AbandonDecision,
    Close,
    Create,
    MarkNodeClaim,
    Remove,
    Reopen,
    Stay,
    Step,
)
from dra_scheduling.disruption.disruption_view import DisruptionView
from dra_scheduling.disruption.drift import Difference, Drift
from dra_scheduling.disruption.execution import first_steps, is_under_way, next_steps
from dra_scheduling.disruption.methods import Decision, consolidation
from dra_scheduling.disruption.next_decision import next_decision
from dra_scheduling.disruption.replacement_pods import Successors
from dra_scheduling.disruption.simulate_scheduling import Move, Stuck, WhatIf, WhatIfOptions, simulate_without

__all__ = [
    "AbandonDecision",
    "Candidate",
    "Close",
    "Create",
    "Decision",
    "DecisionRecord",
    "Difference",
    "DisruptionView",
    "Drift",
    "Ineligible",
    "MarkNodeClaim",
    "Move",
    "NodeActivity",
    "Prospect",
    "Remove",
    "Reopen",
    "Stay",
    "Step",
    "Stuck",
    "Successors",
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
