"""A scheduler core that leads, and is told of objects as a watch would."""

from dra_operator.cycle import Changed, Lead, Removed, SchedulerCore
from dra_scheduling.wire import KubernetesObject


class ToldCore:
    """`core` at the time `now`, in seconds; tests let time pass by changing it."""

    def __init__(self, core: SchedulerCore, now: float) -> None:
        self.now = now
        self.core = core
        self.core.take_in(Lead(is_leading=True), self.now)

    def add(self, *values: KubernetesObject) -> None:
        """These are new or different."""
        for value in values:
            self.core.take_in(Changed(value), self.now)

    def remove(self, value: KubernetesObject) -> None:
        """This is gone."""
        self.core.take_in(Removed(value), self.now)
