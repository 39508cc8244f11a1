"""An API server in memory: objects by path, with resource versions, preconditions and faults on demand."""

import copy
import itertools
import re
from dataclasses import dataclass, field

from dra_kube.api import Json
from dra_kube.errors import ApiError, ConflictError, MissingError


@dataclass(kw_only=True)
class Fault:
    """The next request of this verb whose path matches meets an error, before or after it was applied."""

    verb: str
    path: str
    error: ApiError
    is_applied: bool = False


@dataclass
class ApiInMemory:
    """Implements `dra_kube.api.Api`; `calls` holds verb, path and body of every request."""

    objects: dict[str, Json] = field(default_factory=dict)
    calls: list[tuple[str, str, Json]] = field(default_factory=list)
    learned: list[Json] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    _versions: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def put(self, path: str, body: Json) -> Json:
        """Lets an object be there, as if somebody else had written it."""
        metadata = {"uid": f"uid-of-{path}", **body["metadata"], "resourceVersion": str(next(self._versions))}
        self.objects[path] = {**copy.deepcopy(body), "metadata": metadata}
        return self.objects[path]

    def verbs(self) -> list[str]:
        """The verbs of all writes so far."""
        return [verb for verb, _, _ in self.calls if verb != "get"]

    def learn(self, answer: Json) -> None:
        self.learned.append(answer)

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = "", accept: str = ""
    ) -> Json:
        if method == "GET":
            return await self.get(path)
        verbs = {"POST": self.create, "PUT": self.replace, "PATCH": self.patch, "DELETE": self.delete}
        return await verbs[method](path, body or {})

    async def get(self, path: str) -> Json:
        self._meet("get", path, {}, is_applied=False)
        found = self._found(path)
        self._meet("get", path, {}, is_applied=True)
        return found

    async def create(self, path: str, body: Json) -> Json:
        self._meet("create", path, body, is_applied=False)
        place = f"{path}/{body['metadata']['name']}" if "metadata" in body else path
        if place in self.objects:
            raise ConflictError("create", 409, reason="AlreadyExists")
        made = self.put(place, {"metadata": {}, **body})
        self._meet("create", path, body, is_applied=True)
        return copy.deepcopy(made)

    async def replace(self, path: str, body: Json) -> Json:
        self._meet("replace", path, body, is_applied=False)
        before = self._found(path)
        if body["metadata"].get("resourceVersion") != before["metadata"]["resourceVersion"]:
            raise ConflictError("replace", 409, reason="Conflict")
        metadata = {**body["metadata"], "generation": before["metadata"].get("generation", 1) + 1}
        after = self.put(path, {**body, "metadata": metadata, "status": before.get("status", {})})
        self._meet("replace", path, body, is_applied=True)
        return copy.deepcopy(after)

    async def patch(self, path: str, body: Json) -> Json:
        self._meet("patch", path, body, is_applied=False)
        before = self._found(path.removesuffix("/status"))
        if body.get("metadata", {}).get("uid", before["metadata"]["uid"]) != before["metadata"]["uid"]:
            raise ConflictError("patch", 409, reason="Conflict")
        after = self.put(path.removesuffix("/status"), {**before, **body, "metadata": before["metadata"]})
        self._meet("patch", path, body, is_applied=True)
        return copy.deepcopy(after)

    async def delete(self, path: str, options: Json) -> Json:
        self._meet("delete", path, options, is_applied=False)
        found = self._found(path)
        if options.get("preconditions", {}).get("uid", found["metadata"]["uid"]) != found["metadata"]["uid"]:
            raise ConflictError("delete", 409, reason="Conflict")
        del self.objects[path]
        self._meet("delete", path, options, is_applied=True)
        return found

    def _found(self, path: str) -> Json:
        if path not in self.objects:
            raise MissingError("get", 404, reason="NotFound")
        return copy.deepcopy(self.objects[path])

    def _meet(self, verb: str, path: str, body: Json, *, is_applied: bool) -> None:
        if not is_applied:
            self.calls.append((verb, path, copy.deepcopy(body)))
        for fault in self.faults:
            if fault.is_applied is is_applied and fault.verb == verb and re.search(fault.path, path):
                self.faults.remove(fault)
                raise fault.error
