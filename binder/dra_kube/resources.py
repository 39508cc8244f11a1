"""Where the API server keeps objects: the paths of a resource, and what a path names."""

from typing import NamedTuple

import msgspec

from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.kinds import KIND_OF, KubernetesObject

Kind = type[KubernetesObject]


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A kind as the API serves it, over all namespaces."""

    kind: Kind
    group: str
    version: str
    plural: str

    @classmethod
    def of(cls, kind: Kind, version: str = "") -> "Resource":
        """Return where objects of the kind are, in one of its versions; without one in that which is written."""
        known = KIND_OF[kind]
        return cls(kind=kind, group=known.group, version=version or known.versions[0], plural=known.plural)

    @property
    def api_version(self) -> str:
        """Group and version as objects write it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The path of its collection."""
        return f"{self.root}/{self.plural}"

    @property
    def root(self) -> str:
        """The path that lists what its group and version hold."""
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"

    def collection_path(self, namespace: str) -> str:
        """Return the path of the collection in a namespace."""
        return f"{self.root}/namespaces/{namespace}/{self.plural}"

    def object_path(self, key: ObjectKey, subresource: str = "") -> str:
        """Return the path of one object, or of a subresource of it."""
        collection = self.collection_path(key.namespace) if key.namespace else self.path
        return "/".join(part for part in (collection, key.name, subresource) if part)


class Target(NamedTuple):
    """What a path names: the resource (with its subresource) and the object (with its namespace)."""

    resource: str
    object: str

    @classmethod
    def of(cls, path: str) -> "Target":
        """Return what a path such as `/api/v1/nodes/n` names; a query is ignored."""
        parts = path.partition("?")[0].strip("/").split("/")
        rest = parts[2:] if parts[0] == "api" else parts[3:]
        namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces":  # noqa: PLR2004  namespaces/<namespace>/<resource>
            namespace, rest = rest[1], rest[2:]
        resource, name, subresource = (*rest, "", "", "")[:3]
        shown = "/".join(part for part in (namespace, name) if part)
        return cls("/".join(part for part in (resource, subresource) if part), shown)
