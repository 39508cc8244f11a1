"""The API server as everything that talks to it sees it: one port for requests of every kind."""

from collections.abc import Callable
from typing import Any, Protocol

from dra_kube.retry import RetryPolicy, Sleep, retry

Json = dict[str, Any]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


class Api(Protocol):
    """The API server."""

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = JSON, accept: str = JSON
    ) -> Json:
        """Return the decoded answer. `path` is that of the URL, with its query. Raises `ApiError` for any other end."""
        ...

    @property
    def learn(self) -> Callable[[Json], None]:
        """What takes in an object as the server has it; the answers to writes are before they are returned."""
        ...


class RetryingApi:
    """An `Api` that repeats requests as a policy says."""

    __slots__ = ("_api", "_policy", "_sleep")

    def __init__(self, api: Api, policy: RetryPolicy, sleep: Sleep) -> None:
        self._api = api
        self._policy = policy
        self._sleep = sleep

    @property
    def learn(self) -> Callable[[Json], None]:
        """What takes in an object as the server has it."""
        return self._api.learn

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = JSON, accept: str = JSON
    ) -> Json:
        """Return the decoded answer of the last attempt. Raises `ApiError`."""
        return await retry(
            lambda: self._api.request(method, path, body, content_type=content_type, accept=accept),
            self._policy,
            self._sleep,
        )
