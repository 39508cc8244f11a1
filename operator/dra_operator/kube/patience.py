"""Requests that wait when the server asks them to: a bind that has begun is cheaper to finish than to undo."""

from collections.abc import Awaitable, Callable

from dra_binder.errors import ThrottledError
from dra_operator.api import Json
from dra_operator.kube.ports import JSON, Requests

MOST_TURNS = 4
LONGEST_PAUSE = 10.0


class PatientRequests:
    """Sends a throttled request (429: it was not applied) again after the pause that the server asked for."""

    __slots__ = ("_requests", "_sleep")

    def __init__(self, requests: Requests, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._requests = requests
        self._sleep = sleep

    async def request(self, method: str, path: str, body: Json | None = None, *, content_type: str = JSON) -> Json:
        """Return the decoded answer. Raises `ThrottledError` if the server keeps asking, or for too long."""
        for _ in range(MOST_TURNS - 1):
            try:
                return await self._requests.request(method, path, body, content_type=content_type)
            except ThrottledError as error:
                if error.retry_after > LONGEST_PAUSE:
                    raise
                await self._sleep(error.retry_after)
        return await self._requests.request(method, path, body, content_type=content_type)
