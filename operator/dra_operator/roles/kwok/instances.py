"""The machines that there are to be had, and what a NodeClaim says of the one that it gets."""

from dra_scheduling.basics.features import Features
from dra_scheduling.instancetypes import CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL, Expanded, expand
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim

FINALIZER = "dra-scheduler.dev/instance"
"""On NodeClaims that have a machine, or are about to: it is taken away before they go."""


class LaunchableTypes:
    """The InstanceTypes that are sound, each made ready once."""

    __slots__ = ("_features", "_types")

    def __init__(self, features: Features) -> None:
        self._features = features
        self._types: dict[str, tuple[InstanceType, Expanded]] = {}

    def apply(self, value: InstanceType) -> bool:
        """Take over a type, and return whether its machines have changed; one that is not sound cannot be had."""
        result = expand(value, self._features)
        before = self._types.pop(value.name, None)
        if not isinstance(result, Expanded):
            return False
        self._types[value.name] = (value, result)
        return before is None or before[1] is not result

    def remove(self, name: str) -> None:
        """Forget the object of that name."""
        self._types.pop(name, None)

    def of_class(self, node_class: str) -> tuple[Expanded, ...]:
        """Return the types of a node class, by the names of their objects."""
        return tuple(
            self._types[name][1] for name in sorted(self._types) if self._types[name][0].belongs_to(node_class)
        )

    def launched(self, claim: NodeClaim) -> Expanded | None:
        """Return the type that the NodeClaim's labels name."""
        name = claim.metadata.labels.get(INSTANCE_TYPE_LABEL)
        found = (one for one in self.of_class(claim.spec.node_class_ref.name) if one.name == name)
        return next(found, None)


def is_decided(claim: NodeClaim) -> bool:
    """Whether the NodeClaim says already which machine it gets."""
    named = (INSTANCE_TYPE_LABEL, ZONE_LABEL, CAPACITY_TYPE_LABEL)
    return FINALIZER in claim.metadata.finalizers and all(key in claim.metadata.labels for key in named)
