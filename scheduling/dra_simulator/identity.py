"""Names, namespaces and uids that the API server would give, the same ones every time."""

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import KubernetesObject
from dra_simulator.load import Manifest
from dra_simulator.problems import InputProblem, UnusableInputError

CLUSTER_SCOPED = frozenset(
    {
        "DeviceClass",
        "DeviceTaintRule",
        "InstanceType",
        "Namespace",
        "Node",
        "NodeClaim",
        "NodePool",
        "PriorityClass",
        "ResourceSlice",
    }
)
NAME_SPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "dra-scheduler.dev")
# Longer than the server's, which tries again where a name is taken: here, no name depends on the others.
SUFFIX_LENGTH = 10
T = TypeVar("T", bound=KubernetesObject)


class Names:
    """Gives manifests the name and namespace that they leave to the server."""

    __slots__ = ("_generated", "_namespace")

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._generated: Counter[tuple[str, ...]] = Counter()

    def complete(self, manifest: Manifest) -> Manifest:
        """Return the manifest with a namespace (none for what lives outside of namespaces) and a name.

        What is too broken to be named comes back as it is, for the reader to refuse.
        """
        raw = manifest.raw
        kind, metadata = raw.get("kind"), raw.get("metadata")
        if not isinstance(kind, str) or not isinstance(metadata, Mapping):
            return manifest
        named = dict(metadata)
        if kind in CLUSTER_SCOPED:
            named.pop("namespace", None)
        elif not named.get("namespace"):
            named["namespace"] = self._namespace
        prefix = named.get("generateName")
        if not named.get("name") and isinstance(prefix, str) and prefix:
            # Named after its content, the object has the same name wherever in the input it stands.
            content = json.dumps(raw, sort_keys=True, default=str)
            named["name"] = prefix + self._suffix(kind, str(named.get("namespace")), prefix, content)
        return Manifest(file=manifest.file, raw={**raw, "metadata": named}, place=manifest.place)

    def _suffix(self, *of: str) -> str:
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


def pod_called(name: str, pods: Iterable[Pod], namespace: str, source: str) -> Pod:
    """Return what people call `NAME` or `NAMESPACE/NAME`, in this namespace unless they say otherwise.

    Raises `UnusableInputError`, with the pods of that name in other namespaces. `source` is who asks.
    """
    own, _, bare = name.rpartition("/")
    key = ObjectKey(own or namespace, bare)
    found = {pod.key: pod for pod in pods}
    if key in found:
        return found[key]
    others = ", ".join(sorted(str(other) for other in found if other.name == bare))
    message = f"expected a pod that is there, as NAME or NAMESPACE/NAME{f', such as {others}' if others else ''}"
    raise UnusableInputError(InputProblem(source, f"Pod {key}", "-", message))
