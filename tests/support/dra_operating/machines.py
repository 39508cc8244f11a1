"""A world in memory for made-up machines: a server with finalizers and merge patches, and the role that lives by it."""

import asyncio
import contextlib
import copy
import itertools
import re
from collections.abc import AsyncIterator, Callable, Iterator
from urllib.parse import unquote

from dra_kube.api import Json
from dra_kube.errors import ApiError, ConflictError, MissingError
from dra_operating.loop import running, settle
from dra_operator.api.events import EventMessage, Recorder
from dra_operator.api.leases import Leadership
from dra_operator.pacing import timestamp
from dra_operator.roles.kwok.role import KwokRole
from dra_operator.settings import Role, Settings
from dra_operator.watch.cache import Cache
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.wire import read

SECONDS = 60.0
Fault = Callable[[str, str], "ApiError | None"]
TERMINATION = "karpenter.sh/termination"
NODE_CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
TYPES = "/apis/dra-scheduler.dev/v1alpha1/instancetypes"
NODES = "/api/v1/nodes"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
PODS = "/api/v1/namespaces/default/pods"
DRIVER = "gpu.example.com"
KINDS = {NODE_CLAIMS: "NodeClaim", TYPES: "InstanceType", NODES: "Node", SLICES: "ResourceSlice", PODS: "Pod"}
PLURALS = {collection.rpartition("/")[2] for collection in KINDS}
API_VERSIONS = {
    NODE_CLAIMS: "karpenter.sh/v1",
    TYPES: "dra-scheduler.dev/v1alpha1",
    NODES: "v1",
    SLICES: "resource.k8s.io/v1",
    PODS: "v1",
}


class Server:
    """Objects by path. `before` and `after` may let a request fail, before it is applied or with its answer lost."""

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.requests: list[tuple[str, str]] = []
        self.writes: list[tuple[str, str]] = []
        self.before: Fault = _no_fault
        self.after: Fault = _no_fault
        self.changed: Callable[[Json], None] = _ignore
        self.removed: Callable[[Json], None] = _ignore
        self._versions = itertools.count(1)

    def learn(self, answer: Json) -> None:
        """What is written comes back by the watch."""

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = "", accept: str = ""
    ) -> Json:
        """Answers as `dra_operator.api.client.HttpApi` does; what is written is known at once, as from a watch."""
        await asyncio.sleep(0)
        self.requests.append((method, path))
        if method != "GET":
            self.writes.append((method, path))
        self._meet(self.before, method, path)
        answer = self._apply(method, path, copy.deepcopy(body or {}))
        self._meet(self.after, method, path)
        return copy.deepcopy(answer)

    def put(self, path: str, body: Json) -> Json:
        """Lets an object be there."""
        metadata = {
            "uid": f"uid-{next(self._versions)}",
            **body["metadata"],
            "resourceVersion": str(next(self._versions)),
        }
        made = self.objects[path] = {**body, "metadata": metadata}
        self.changed(made)
        return made

    def patch(self, path: str, body: Json) -> Json:
        """Merges something into an object."""
        return self.put(path, _merged(self.objects[path], body))

    def delete(self, path: str) -> Json:
        """Deletes an object; finalizers keep it, and pods on nodes until they are deleted once more."""
        found = self.objects[path]
        if found["metadata"].get("finalizers"):
            return self.patch(path, {"metadata": {"deletionTimestamp": timestamp()}})
        self.removed(self.objects.pop(path))
        return found

    def names(self, collection: str) -> list[str]:
        """The names of the objects of a collection."""
        return sorted(path.rpartition("/")[2] for path in self.objects if path.rpartition("/")[0] == collection)

    def _apply(self, method: str, path: str, body: Json) -> Json:
        if method == "POST":
            place = f"{path}/{body['metadata']['name']}"
            if place in self.objects:
                raise ConflictError("create", 409, reason="AlreadyExists")
            return self.put(place, body)
        path = path.removesuffix("/status")
        plural = path.partition("?")[0].rpartition("/")[2]
        if method == "GET" and plural in PLURALS:
            node = unquote(path).partition("spec.nodeName=")[2]
            return {"items": [one for one in self._of(plural) if not node or one["spec"].get("nodeName") == node]}
        if path not in self.objects:
            raise MissingError(method, 404, reason="NotFound")
        found = self.objects[path]
        asked = {**body.get("metadata", {}), **body.get("preconditions", {})}
        if any(asked.get(key, found["metadata"][key]) != found["metadata"][key] for key in ("uid", "resourceVersion")):
            raise ConflictError(method, 409, reason="Conflict")
        if method == "DELETE":
            return self.delete(path)
        if method == "GET":
            return found
        after = self.put(path, body if method == "PUT" else _merged(found, body))
        if "deletionTimestamp" in after["metadata"] and not after["metadata"].get("finalizers"):
            self.removed(self.objects.pop(path))
        return after

    def _of(self, plural: str) -> list[Json]:
        return [one for path, one in self.objects.items() if path.split("/")[-2] == plural]

    def _meet(self, fault: Fault, method: str, path: str) -> None:
        error = fault(method, path)
        if error is not None:
            raise error


class Notices(Recorder):
    """Keeps what is told."""

    def __init__(self) -> None:
        self.told: list[EventMessage] = []

    def tell(self, notice: EventMessage) -> None:
        self.told.append(notice)


class Machines:
    """One server, and the role that makes machines up there. A role that is killed is followed by another one."""

    def __init__(self, **settings: str) -> None:
        self.server = Server()
        self.server.changed = self._changed
        self.server.removed = self._removed
        self.notices = Notices()
        self._is_behind = ""
        self._settings = Settings.from_environment({"DRA_ROLES": "kwok", **settings})
        self.leadership = Leadership(Role.KWOK, lambda _: None, lambda: 0.0)
        self._role: KwokRole | None = None
        self._cache = Cache()

    @contextlib.asynccontextmanager
    async def role(self) -> AsyncIterator[None]:
        """The role runs for as long as the block does, from what the server holds."""
        self._cache = cache = Cache()
        self.leadership = leadership = Leadership(Role.KWOK, lambda _: role.leadership_changed(), lambda: 0.0)
        role = KwokRole(self._settings, api=self.server, cache=cache, recorder=self.notices, leadership=leadership)
        self._role = role
        for value in tuple(self.server.objects.values()):
            self._changed(value)
        async with running(*role.jobs()):
            leadership.take()
            yield
        self._role = None

    def instance_type(self, name: str = "small", *, count: int = 2, **spec: object) -> None:
        """Lets a type be offered."""
        group = {"driver": DRIVER, "name": "gpu-{index}", "count": count}
        whole = {
            "offerings": [{"zone": "a", "price": 1}],
            "capacity": {"cpu": 16, "memory": "64Gi"},
            "devices": {"groups": [group]} if count else {},
            **spec,
        }
        self._put(TYPES, {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": whole})

    def claim(self, name: str = "n", *, group: str = "dra-scheduler.dev", **notes: str) -> None:
        """Lets a NodeClaim be there; notes are settings of the role, with underscores for dashes."""
        annotations = {f"kwok.dra-scheduler.dev/{key.replace('_', '-')}": value for key, value in notes.items()}
        reference = {"group": group, "kind": "InstanceType", "name": "default"}
        meta = {"name": name, "annotations": annotations, "finalizers": [TERMINATION]}
        spec = {"nodeClassRef": reference, "requirements": []}
        self._put(NODE_CLAIMS, {"metadata": meta, "spec": spec})

    def pod(self, name: str = "p", *, node: str = "n", **annotations: str) -> None:
        """Lets a pod be bound."""
        notes = {f"kwok.dra-scheduler.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
        meta = {"name": name, "namespace": "default", "annotations": notes}
        self._put(PODS, {"metadata": meta, "spec": {"nodeName": node, "containers": [{"name": "main"}]}})

    def end_claim(self, name: str = "n") -> None:
        """Deletes a NodeClaim as its life cycle does once its pods are away."""
        path = f"{NODE_CLAIMS}/{name}"
        self.server.delete(path)
        self.condition(name, "Drained")

    def condition(self, name: str, kind: str) -> None:
        """Lets a condition of a NodeClaim be true."""
        path = f"{NODE_CLAIMS}/{name}"
        before = self.get(path).get("status", {}).get("conditions") or []
        new = {"type": kind, "status": "True", "reason": kind, "lastTransitionTime": timestamp()}
        self.server.patch(path, {"status": {"conditions": [*before, new]}})

    @contextlib.contextmanager
    def behind(self, kind: str) -> Iterator[None]:
        """The role sees nothing of a kind before the block ends."""
        self._is_behind = kind
        yield
        self._is_behind = ""
        for body in tuple(self.server.objects.values()):
            if body["kind"] == kind:
                self._changed(body)

    def get(self, path: str) -> Json:
        """An object, empty if there is none."""
        return self.server.objects.get(path, {})

    def slices(self) -> list[tuple[str, int, int, int]]:
        """Name, generation, count and number of devices of every slice."""
        found = (self.server.objects[f"{SLICES}/{name}"] for name in self.server.names(SLICES))
        pools = ((one["metadata"]["name"], one["spec"]["pool"], one["spec"].get("devices") or ()) for one in found)
        return [(name, pool["generation"], pool["resourceSliceCount"], len(devices)) for name, pool, devices in pools]

    async def until(self, question: Callable[[], object]) -> None:
        """Waits until something is so, and nothing is under way any more."""
        async with asyncio.timeout(SECONDS):
            while not question():  # noqa: ASYNC110  the answer comes from many places
                await asyncio.sleep(0.01)
        await settle()

    def _put(self, collection: str, body: Json) -> None:
        name = body["metadata"]["name"]
        self.server.put(
            f"{collection}/{name}", {"apiVersion": API_VERSIONS[collection], "kind": KINDS[collection], **body}
        )

    def _changed(self, body: Json) -> None:
        if self._role is not None and body["kind"] not in {"Lease", self._is_behind}:
            value = read(body)
            self._cache.put(value)
            self._role.changed(value)

    def _removed(self, body: Json) -> None:
        if self._role is not None and body["kind"] != "Lease":
            value = read(body)
            meta = value.metadata
            self._cache.drop(type(value), ObjectKey(meta.namespace, meta.name), meta.uid)
            self._role.removed(value)


def _merged(before: Json, patch: Json) -> Json:
    """Merges as JSON merge patches do, with conditions by their types as strategic ones do."""
    after = dict(before)
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(before.get(key), dict):
            after[key] = _merged(before[key], value)
        elif key == "conditions":
            after[key] = list({one["type"]: one for one in (*(before.get(key) or ()), *value)}.values())
        else:
            after[key] = value
    return after


def _no_fault(method: str, path: str) -> ApiError | None:
    return None


def _ignore(_: Json) -> None:
    """Nobody watches."""


def nth_write(number: int, error: ApiError) -> Fault:
    """A fault of the write of that number, counted from 0; reads pass."""
    counter = itertools.count()

    def fault(method: str, path: str) -> ApiError | None:
        return error if method != "GET" and next(counter) == number else None

    return fault


def writes_to(pattern: str, *errors: ApiError) -> Fault:
    """These errors, one after the other, for writes whose method and path match."""
    left: Iterator[ApiError] = iter(errors)

    def fault(method: str, path: str) -> ApiError | None:
        return next(left, None) if re.search(pattern, f"{method} {path}") else None

    return fault
