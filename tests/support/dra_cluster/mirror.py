"""The cluster as its watches tell it, kept up to date by threads, so that tests wait for events instead of asking."""

import http.client
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Self, TypeVar

from dra_controlplane.client import ApiClient, ApiError, Json
from dra_controlplane.waiting import PATIENCE

Answer = TypeVar("Answer")
Change = Callable[[str, Json], None]

PODS = "v1/pods"
EVENTS = "v1/events"
CLAIMS = "resource.k8s.io/v1/resourceclaims"
BIND_REQUESTS = "scheduling.run.ai/v1alpha2/bindrequests"
KINDS = (PODS, EVENTS, CLAIMS, BIND_REQUESTS)
RECONNECT_SECONDS = 0.2


class Mirror:
    """Every object of a few kinds, and how each came to be as it is."""

    def __init__(self, api: ApiClient, kinds: tuple[str, ...] = KINDS) -> None:
        self._api = api
        self._changed = threading.Condition()
        self._objects: dict[str, dict[tuple[str, str], Json]] = {kind: {} for kind in kinds}
        self._history: dict[str, list[tuple[str, Json]]] = {kind: [] for kind in kinds}
        self._listeners: dict[str, list[Change]] = {kind: [] for kind in kinds}
        self._reached: dict[str, int] = dict.fromkeys(kinds, 0)
        self._is_over = False

    def __enter__(self) -> Self:
        for kind in self._objects:
            threading.Thread(target=self._follow, args=(kind,), name=f"mirror of {kind}", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True

    def listen(self, kind: str, change: Change) -> None:
        """Calls back with type (ADDED, MODIFIED or DELETED) and object at every event, in the server's order."""
        with self._changed:
            self._listeners[kind].append(change)

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        """An object as last seen."""
        with self._changed:
            return self._objects[kind].get((namespace, name))

    def items(self, kind: str, namespace: str | None = None) -> tuple[Json, ...]:
        """The objects of a kind by name."""
        with self._changed:
            found = sorted(self._objects[kind].items())
        return tuple(value for (within, _), value in found if namespace in {None, within})

    def history(self, kind: str, namespace: str) -> tuple[tuple[str, Json], ...]:
        """Type and object of every event of a namespace, oldest first."""
        with self._changed:
            return tuple(one for one in self._history[kind] if one[1]["metadata"].get("namespace") == namespace)

    def forget(self, namespace: str) -> None:
        """Drops the history of a namespace."""
        with self._changed:
            for kind, events in self._history.items():
                self._history[kind] = [one for one in events if one[1]["metadata"].get("namespace") != namespace]

    def until(self, question: Callable[[], Answer | None], what: str, *, seconds: float = PATIENCE) -> Answer:
        """The first answer that is true in itself, asked for at every event.

        Raises:
            TimeoutError: there was none in time; the message says what was waited for, and the last answer.
        """
        deadline = time.monotonic() + seconds
        with self._changed:
            while not (answer := question()):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"waited {seconds:g} s for {what}; last answer: {answer!r}")
                # A question may depend on more than what is mirrored.
                self._changed.wait(min(left, 0.25))
        return answer

    def see(self, kind: str, namespace: str, name: str) -> None:
        """Waits until an object is seen as it is by now, or no more if it is gone.

        Each kind has a watch of its own: of what was written first the news may come last.
        """
        before = self.find(kind, namespace, name)
        current = self._api.find(kind, name, namespace=namespace)

        def is_seen() -> bool:
            if current is None:
                return before is None or self.find(kind, namespace, name) is not before
            return self._reached[kind] >= _version(current)

        self.until(is_seen, f"the present state of {name} of {kind} to be seen")

    def catch_up(self, namespace: str) -> None:
        """Waits until all that has happened in a namespace up to now is seen, in every kind.

        It takes a tenth of a second, in which the server makes sure that its lists are true.
        """
        for kind in self._objects:
            listed = self._api.list(kind, namespace=namespace)
            self.until(partial(self._has_seen, kind, namespace, listed), f"the {kind} of {namespace} to be seen")

    def _has_seen(self, kind: str, namespace: str, listed: Json) -> bool:
        """Whether everything on a list was seen as it is there, and the end of everything that is not."""
        names = {item["metadata"]["name"] for item in listed["items"]}
        gone = (one for one in self.items(kind, namespace) if one["metadata"]["name"] not in names)
        newest = max((_version(item) for item in listed["items"]), default=0)
        return self._reached[kind] >= newest and not any(_version(one) <= _version(listed) for one in gone)

    def _follow(self, kind: str) -> None:
        while not self._is_over:
            try:
                version = self._start(kind)
                while not self._is_over:
                    version = self._watch(kind, version)
            # Half a line is what a server leaves that is killed.
            except (ApiError, OSError, http.client.HTTPException, ValueError):
                time.sleep(RECONNECT_SECONDS)

    def _start(self, kind: str) -> str:
        listed = self._api.list(kind)
        present = {_key(item): item for item in listed["items"]}
        with self._changed:
            for key, gone in list(self._objects[kind].items()):
                if key not in present:
                    self._take(kind, "DELETED", gone)
            for item in present.values():
                self._take(kind, "ADDED", item)
            self._reached[kind] = _version(listed)
        return str(listed["metadata"]["resourceVersion"])

    def _watch(self, kind: str, version: str) -> str:
        for event, value in self._api.watch(kind, parameters={"resourceVersion": version}):
            if event == "ERROR":
                raise ApiError(f"watch {kind}", int(value.get("code") or 0), value)
            version = str(value["metadata"]["resourceVersion"])
            if event != "BOOKMARK":
                self._take(kind, event, value)
        return version

    def _take(self, kind: str, event: str, value: Json) -> None:
        with self._changed:
            if event == "DELETED":
                self._objects[kind].pop(_key(value), None)
            else:
                self._objects[kind][_key(value)] = value
            self._history[kind].append((event, value))
            self._reached[kind] = max(self._reached[kind], _version(value))
            for listener in self._listeners[kind]:
                listener(event, value)
            self._changed.notify_all()


def _key(value: Json) -> tuple[str, str]:
    return value["metadata"].get("namespace") or "", value["metadata"]["name"]


def _version(value: Json) -> int:
    return int(value["metadata"]["resourceVersion"])
