"""Claims that have devices already: their pods go where these can be used."""

from typing import ClassVar

from dra_scheduling.allocation.pod_claims import ResolvedClaims, reach_refusal
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.fit.rule import Host, Rule, RuleView, Wanted
from dra_scheduling.model.pods import Pod


class AllocatedClaims(Rule[ResolvedClaims]):
    """Keeps pods off nodes that cannot use the devices that their claims have; a part of DynamicResources."""

    name: ClassVar[str] = "AllocatedClaims"
    is_of_instance_type: ClassVar[bool] = True

    def signature(self, _: Pod) -> object:
        """Return nothing: the claims themselves are part of what makes a class."""
        return None

    def prepare(self, wanted: Wanted, _: RuleView) -> ResolvedClaims | None:
        """Return the claims, None where none of them has devices."""
        resolved = wanted.resolved
        return resolved if any(item.allocation is not None for item in resolved.claims) else None

    def filter(self, prepared: ResolvedClaims, host: Host) -> Refusal | None:
        """Return the refusal for the first claim whose devices are out of reach."""
        return reach_refusal(prepared, host.meets)
