"""DaemonSets (apps/v1), as far as they take room of nodes to come."""

from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.pods import Pod, PodSpec


class PodTemplate(Value, frozen=True):
    """The pod that a workload makes."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class DaemonSetSpec(Value, frozen=True):
    """What runs on every node."""

    template: PodTemplate = PodTemplate()


class DaemonSet(Value, frozen=True):
    """A pod for every node that it may run on."""

    metadata: ObjectMeta
    spec: DaemonSetSpec = DaemonSetSpec()

    @property
    def pod(self) -> Pod:
        """A pod as it would run on a node."""
        return Pod(metadata=self.spec.template.metadata, spec=self.spec.template.spec)
