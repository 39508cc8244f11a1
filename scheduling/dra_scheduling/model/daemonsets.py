"""DaemonSets (apps/v1), as far as they take room and devices of nodes to come."""

from msgspec.structs import replace

from dra_scheduling.model.base import ObjectMeta, Value
from dra_scheduling.model.ids import ObjectKey
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
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.metadata.namespace, self.metadata.name)

    @property
    def pod(self) -> Pod:
        """A pod as it would run on a node."""
        template = self.spec.template
        return Pod(metadata=replace(template.metadata, namespace=self.metadata.namespace), spec=template.spec)
