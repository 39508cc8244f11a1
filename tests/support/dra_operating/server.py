"""An API server in memory that takes merge patches of metadata."""

from dra_kube.api import Json
from dra_kube.errors import ConflictError
from dra_operating.api import ApiInMemory


class ServerInMemory(ApiInMemory):
    """As `ApiInMemory`, for clients that guard what they patch and delete by a resource version."""

    async def delete(self, path: str, options: Json) -> Json:
        if options["preconditions"]["resourceVersion"] != self._found(path)["metadata"]["resourceVersion"]:
            raise ConflictError("delete", 409, reason="Conflict")
        return await super().delete(path, options)

    async def patch(self, path: str, body: Json) -> Json:
        metadata = body["metadata"]
        self._meet("patch", path, metadata, is_applied=False)
        found = self._found(path)
        if any(metadata[name] != found["metadata"][name] for name in ("uid", "resourceVersion")):
            raise ConflictError("patch", 409, reason="Conflict")
        found["metadata"]["annotations"] = {**found["metadata"].get("annotations", {}), **metadata["annotations"]}
        made = self.put(path, found)
        self._meet("patch", path, metadata, is_applied=True)
        return made
