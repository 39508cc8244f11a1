"""Kopf's settings as this operator needs them: nothing is written onto watched objects, and no watch dies unnoticed."""

from collections.abc import Iterable, Iterator
from typing import Any

import kopf

from dra_operator.settings import SettingsError

CHUNK = 500
IDLE_SECONDS = 0.05
# A watch is opened anew every so often, so that one that is only half there is noticed. Two seconds before the end the
# server sends a bookmark, but none where nothing has changed since the watch began.
WATCH_SECONDS = 25
SILENT_SECONDS = 30.0
CONNECT_SECONDS = 5.0
REQUEST_SECONDS = 60.0
STUCK_SECONDS = 30.0
PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0)


class NoDiff(kopf.DiffBaseStorage):
    """Keeps nothing: no handler here asks what has changed, and the copies would take most of the time of an event."""

    def build(self, *, body: kopf.Body, extra_fields: Iterable[Any] | None = None) -> kopf.BodyEssence:  # noqa: ARG002
        """Return nothing."""
        return kopf.BodyEssence()

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:  # noqa: ARG002
        """Return nothing."""
        return None

    def store(self, **_: Any) -> None:  # noqa: ANN401
        """Store nothing."""


class NoProgress(kopf.ProgressStorage):
    """Keeps nothing: event handlers make no progress that could be stored."""

    def fetch(self, **_: Any) -> None:  # noqa: ANN401
        """Return nothing."""

    def store(self, **_: Any) -> None:  # noqa: ANN401
        """Store nothing."""

    def purge(self, **_: Any) -> None:  # noqa: ANN401
        """Remove nothing."""

    def touch(self, **_: Any) -> None:  # noqa: ANN401
        """Touch nothing."""

    def clear(self, *, essence: kopf.BodyEssence) -> kopf.BodyEssence:
        """Return the essence as it is."""
        return essence


class Forever(Iterable[float]):
    """Growing pauses without an end: an API server that is away for an hour is waited for."""

    def __iter__(self) -> Iterator[float]:
        yield from PAUSES
        while True:
            yield PAUSES[-1]


def tune(settings: kopf.OperatorSettings) -> None:
    """Set what the operator relies on. Raises `SettingsError` where Kopf was told to watch some namespaces only."""
    if not settings.peering.clusterwide:
        raise SettingsError("one scheduler serves a whole cluster: start it with --all-namespaces")
    settings.persistence.diffbase_storage = NoDiff()
    settings.persistence.progress_storage = NoProgress()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.peering.standalone = True
    settings.queueing.idle_timeout = IDLE_SECONDS
    settings.queueing.exit_timeout = 1.0
    settings.watching.chunk_size = CHUNK
    settings.watching.server_timeout = WATCH_SECONDS
    settings.watching.inactivity_timeout = SILENT_SECONDS
    settings.watching.connect_timeout = CONNECT_SECONDS
    settings.networking.connect_timeout = CONNECT_SECONDS
    settings.networking.request_timeout = REQUEST_SECONDS
    settings.networking.error_backoffs = Forever()
    settings.process.ultimate_exiting_timeout = STUCK_SECONDS
