"""What all hosts of a plan have in common: where devices come from, and what the plan has cost so far."""

import msgspec

from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.basics.journal import Journal
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.provisioning.daemonset_devices import Daemons
from dra_scheduling.provisioning.node_allocatable_resources import OfNode
from dra_scheduling.state.pod_indexes import PodIndexes
from dra_scheduling.template_devices import TemplateAllocator


class PlanEffort:
    """What the plan has taken so far: how often hosts were asked about a pod, and the steps of searches for devices."""

    __slots__ = ("asked", "of_pod", "steps")

    def __init__(self) -> None:
        self.asked = 0
        self.steps = 0
        self.of_pod = 0
        """The steps for the pod that is being planned."""

    def spend(self, steps: int) -> None:
        """Count the steps of a search."""
        self.steps += steps
        self.of_pod += steps


class PlanContext(msgspec.Struct, frozen=True, kw_only=True):
    """What all hosts of a plan have in common. `budget` is for all that is asked for one pod.

    `placed` is what rules count of placed pods, those of the plan included. `of_node` is there where devices may take
    of the nodes' own resources. The `journal` is that of the open statement: what is planned is undone with it.
    """

    journal: Journal
    allocator: TemplateAllocator
    classes: ClassIndex
    daemons: Daemons
    placed: PodIndexes
    of_node: OfNode | None = None
    budget: SearchBudget
    effort: PlanEffort
