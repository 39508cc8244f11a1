"""Claims that have devices already: their pods go where these can be used."""

from typing import ClassVar

from dra_scheduling.allocation.pod_claims import reach_refusal
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.fit.rule import Host, Wanted
from dra_scheduling.model.node_selectors import NodeSelectorTerm
from dra_scheduling.model.pods import Pod


class DynamicResources:
    """Keeps pods off nodes that cannot use the devices that their claims have."""

    name: ClassVar[str] = "DynamicResources"

    def signature(self, _: Pod) -> object:
        """Return nothing: the claims themselves are part of what makes a class."""
        return None

    def asks(self, wanted: Wanted) -> bool:
        """Whether such pods may be kept off a plain host."""
        return any(item.allocation is not None for item in wanted.resolved.claims)

    def demands(self, _: Pod) -> tuple[NodeSelectorTerm, ...]:
        """Return nothing: devices that a claim has say themselves where they are."""
        return ()

    def filter(self, wanted: Wanted, host: Host) -> Refusal | None:
        """Return the refusal for the first claim whose devices are out of reach."""
        return reach_refusal(wanted.resolved, host.meets)
