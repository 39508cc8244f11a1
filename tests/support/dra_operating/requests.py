"""An API server in memory as the roles that patch see it: merge patches, versions, subresources and preconditions."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dra_kube.api import Json
from dra_kube.errors import ApiError, ConflictError, MissingError

SUBRESOURCES = ("status", "eviction")


@dataclass
class RequestsInMemory:
    """Implements `dra_kube.api.Api`; `calls` holds method and path of every write."""

    objects: dict[str, Json] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    refusals: dict[str, ApiError] = field(default_factory=dict)
    """Errors by the path that meets them, whatever the method."""
    lists: dict[str, list[Json]] = field(default_factory=dict)
    """What is listed, by path with its query."""

    def put(self, path: str, body: Json) -> Json:
        """Lets an object be there."""
        metadata = {"uid": f"uid-{body['metadata']['name']}", "resourceVersion": "1", **body["metadata"]}
        self.objects[path] = {**body, "metadata": metadata}
        return self.objects[path]

    def learn(self, answer: Json) -> None:
        """What is written comes back by the watch."""

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = "", accept: str = ""
    ) -> Json:
        if method != "GET":
            self.calls.append((method, path))
        if path in self.refusals:
            raise self.refusals[path]
        if method == "GET" and path in self.lists:
            return {"items": copy.deepcopy(self.lists[path])}
        target, _, last = path.rpartition("/")
        place = target if last in SUBRESOURCES else path
        found = self.objects.get(place)
        if found is None:
            raise MissingError(f"{method} {path}", 404, reason="NotFound")
        _check(found, body or {})
        if method == "PATCH":
            self.objects[place] = _merged(found, body)
            self.objects[place]["metadata"]["resourceVersion"] = str(int(found["metadata"]["resourceVersion"]) + 1)
        elif method == "DELETE" or last == "eviction":
            del self.objects[place]
        return copy.deepcopy(self.objects.get(place) or {})


def _check(found: Json, body: Json) -> None:
    metadata = body.get("metadata") or {}
    options = body.get("deleteOptions") or body
    asked = {**metadata, **(options.get("preconditions") or {})}
    uid, version = asked.get("uid"), asked.get("resourceVersion")
    if uid not in {None, found["metadata"]["uid"]} or version not in {None, found["metadata"]["resourceVersion"]}:
        raise ConflictError("write", 409, reason="Conflict")


def _merged(before: Any, patch: Any) -> Any:  # noqa: ANN401  any JSON
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(before) if isinstance(before, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result
