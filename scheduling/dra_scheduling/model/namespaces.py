"""Namespaces (v1), of which only the labels are read."""

from dra_scheduling.model.base import ObjectMeta, Value

ADMIN_ACCESS_LABEL = "resource.kubernetes.io/admin-access"


class Namespace(Value, frozen=True):
    """A namespace."""

    metadata: ObjectMeta

    @property
    def allows_admin_access(self) -> bool:
        """Whether its claims may ask for admin access."""
        return self.metadata.labels.get(ADMIN_ACCESS_LABEL) == "true"
