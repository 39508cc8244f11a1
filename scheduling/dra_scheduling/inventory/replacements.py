"""What NodeClaims say of themselves about nodes that are to go: which one goes, and which stands in for it."""

from dra_scheduling.model.nodeclaims import NodeClaim

DISRUPTION = "dra-scheduler.dev/disruption"
"""On a NodeClaim that is to go, until it is deleted or the decision is given up: why, since when, and what comes."""
REPLACES = "dra-scheduler.dev/replaces"
"""On a NodeClaim that stands in for others: what it was decided for, with their names."""


def is_to_go(claim: NodeClaim) -> bool:
    """Whether it is decided that the NodeClaim goes, or being done."""
    return claim.metadata.is_deleting or DISRUPTION in claim.metadata.annotations


def is_replacement(claim: NodeClaim) -> bool:
    """Whether the NodeClaim was made for pods that have other nodes still."""
    return REPLACES in claim.metadata.annotations
