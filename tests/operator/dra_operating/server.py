"""An API server in memory that takes merge patches of metadata, and remembers what a client took in beside writes."""

from dataclasses import dataclass, field

from dra_binder.errors import ConflictError
from dra_operating.api import ApiInMemory
from dra_operator.api import Json


@dataclass
class ServerInMemory(ApiInMemory):
    """Implements `dra_operator.nodeclaimwriter.Server`."""

    learned: list[Json] = field(default_factory=list)

    def learn(self, answer: Json) -> None:
        self.learned.append(answer)

    async def request(self, method: str, path: str, body: Json | None = None, *, content_type: str = "") -> Json:
        if method == "GET":
            return await self.get(path)
        if method == "POST":
            return await self.create(path, body or {})
        if method == "DELETE":
            return await self._remove(path, (body or {})["preconditions"])
        return await self._annotate(path, (body or {})["metadata"])

    async def _remove(self, path: str, preconditions: Json) -> Json:
        if preconditions["resourceVersion"] != self._found(path)["metadata"]["resourceVersion"]:
            raise ConflictError("delete", 409, reason="Conflict")
        return await self.delete(path, {"preconditions": preconditions})

    async def _annotate(self, path: str, metadata: Json) -> Json:
        self._meet("patch", path, metadata, is_applied=False)
        found = self._found(path)
        if any(metadata[name] != found["metadata"][name] for name in ("uid", "resourceVersion")):
            raise ConflictError("patch", 409, reason="Conflict")
        found["metadata"]["annotations"] = {**found["metadata"].get("annotations", {}), **metadata["annotations"]}
        made = self.put(path, found)
        self._meet("patch", path, metadata, is_applied=True)
        return made
