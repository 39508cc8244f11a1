"""The few requests that the operator itself makes, as a port; the binder has ports of its own."""

import datetime as dt
from typing import Any, Protocol

Json = dict[str, Any]


def timestamp() -> str:
    """Return the time of day as the API writes it: RFC 3339 in UTC, to the second."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Api(Protocol):
    """The API server. Paths are those of URLs.

    Every call returns the decoded answer and raises `dra_binder.errors.ApiError` for any other end.
    """

    async def get(self, path: str) -> Json:
        """Return the object or list."""
        ...

    async def create(self, path: str, body: Json) -> Json:
        """Return the object as created in the collection."""
        ...

    async def replace(self, path: str, body: Json) -> Json:
        """Return the object as replaced."""
        ...

    async def patch(self, path: str, body: Json) -> Json:
        """Return the object after a strategic merge patch (kinds of the core only)."""
        ...

    async def delete(self, path: str, options: Json) -> Json:
        """Return the object, or a Status, after it was marked for deletion."""
        ...
