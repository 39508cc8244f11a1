"""Cases as data: a cluster and its pods as ordinary manifests, and one document that says what must come of them."""

from dra_cases.case import Case, Expectation, cases
from dra_cases.decisions import Decisions, Pending, differences, faults

__all__ = ["Case", "Decisions", "Expectation", "Pending", "cases", "differences", "faults"]
