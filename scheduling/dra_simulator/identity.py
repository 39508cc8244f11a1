"""Names, namespaces and uids that the API server would give, the same ones every time."""

import uuid
from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.wire import KubernetesObject
from dra_simulator.load import Manifest

CLUSTER_SCOPED = frozenset({"Node", "Namespace", "ResourceSlice", "DeviceClass", "DeviceTaintRule", "PriorityClass"})
NAME_SPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "dra-scheduler.dev")
SUFFIX_LENGTH = 5
T = TypeVar("T", bound=KubernetesObject)


class Names:
    """Gives manifests the name and namespace that they leave to the server."""

    __slots__ = ("_generated", "_namespace")

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._generated: Counter[tuple[object, ...]] = Counter()

    def complete(self, manifest: Manifest) -> Manifest:
        """Return the manifest with a namespace (none for what lives outside of namespaces) and a name.

        What is too broken to be named comes back as it is, for the reader to refuse.
        """
        raw = manifest.raw
        metadata = raw.get("metadata")
        if not isinstance(metadata, Mapping):
            return manifest
        named = dict(metadata)
        if raw.get("kind") in CLUSTER_SCOPED:
            named.pop("namespace", None)
        elif not named.get("namespace"):
            named["namespace"] = self._namespace
        prefix = named.get("generateName")
        if not named.get("name") and isinstance(prefix, str) and prefix:
            named["name"] = prefix + self._suffix(raw.get("kind"), named.get("namespace"), prefix)
        return Manifest(file=manifest.file, raw={**raw, "metadata": named})

    def _suffix(self, *of: object) -> str:
        self._generated[of] += 1
        return uid_of(*of, self._generated[of]).replace("-", "")[:SUFFIX_LENGTH]


def uid_of(*of: object) -> str:
    """Return the uid that stands for these words."""
    return str(uuid.uuid5(NAME_SPACE, "/".join(map(str, of))))


def with_uid(value: T) -> T:
    """Return the object with a uid: its own, or one made of kind, namespace and name."""
    metadata = value.metadata
    if metadata.uid:
        return value
    uid = uid_of(type(value).__name__, metadata.namespace, metadata.name)
    return msgspec.structs.replace(value, metadata=msgspec.structs.replace(metadata, uid=uid))


def key_called(name: str, namespace: str) -> ObjectKey:
    """Return the key of what people call `NAME` or `NAMESPACE/NAME`."""
    own, _, bare = name.rpartition("/")
    return ObjectKey(own or namespace, bare)
