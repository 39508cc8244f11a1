"""The base of all API-shaped values, and object metadata."""

import msgspec


class Value(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """A frozen value that reads and writes the camelCase JSON of the Kubernetes API; unknown fields are ignored.

    The values are trees, so the garbage collector need not look at them (`gc=False`).
    """


class OwnerReference(Value, frozen=True):
    """One entry of `metadata.ownerReferences`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Value, frozen=True):
    """The metadata that decisions read. Times are RFC 3339 text as the server wrote it; empty means unset."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def is_deleting(self) -> bool:
        """Whether the object waits for its finalizers."""
        return bool(self.deletion_timestamp)

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls this object, if one is marked so."""
        return next((owner for owner in self.owner_references if owner.controller), None)
