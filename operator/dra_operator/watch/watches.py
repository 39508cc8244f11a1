"""What is known of each watch: whether its kind was listed, how far it got, and when it last said anything.

Kopf delivers events object by object, each object in a task of its own, and tells nobody about lists, bookmarks and
silence. `dra_operator.watch.session` reads those off the wire and records them here; the event handlers ask `admit`,
which also puts right what per-object delivery can bring out of order: what a list has overtaken is not told again.
"""

from collections.abc import Callable, Iterable

from dra_kube.resources import Kind, Resource
from dra_operator.kinds import WATCHED

Listed = Callable[[Resource, frozenset[str]], None]
Clock = Callable[[], float]


def _nothing() -> None:
    """Break off no watch: none was accepted yet."""


class Watch:
    """The state of one kind's watch. Resource versions are numbers, comparable since Kubernetes 1.35."""

    __slots__ = (
        "_clock",
        "_close",
        "_first_known",
        "_handled",
        "_is_listing",
        "_known",
        "_list_version",
        "_on_listed",
        "_sent",
        "_uids",
        "_unhandled",
        "_unseen",
        "is_mute",
        "last_attempt",
        "last_news",
        "last_word",
        "lists",
        "resource",
    )

    def __init__(self, resource: Resource, clock: Clock, on_listed: Listed) -> None:
        self.resource = resource
        self.lists = 0
        self.last_word = self.last_attempt = self.last_news = clock()
        """`last_news` is the time of the last list, event or bookmark: that a watch was accepted is none."""
        self.is_mute = False
        """Whether it has missed something that happened on the server, and was not listed anew since."""
        self._close: Callable[[], None] = _nothing
        self._clock = clock
        self._on_listed = on_listed
        self._is_listing = False
        self._uids: set[str] = set()
        self._unseen: dict[str, int] = {}
        self._list_version = 0
        # In the order of the wire, so the first is the oldest.
        self._unhandled: dict[int, None] = {}
        # Versions that the answers to own writes have brought before the watch did, with the UIDs of their objects.
        self._known: dict[int, str] = {}
        self._first_known = 0.0
        self._sent = 0
        self._handled = 0

    @property
    def is_synced(self) -> bool:
        """Whether a whole list has reached the handlers."""
        return self.lists > 0 and not self._is_listing and not self._unseen

    @property
    def is_level(self) -> bool:
        """Whether everything that was read of the watch has reached its handlers."""
        return not self._unhandled and not self._unseen

    @property
    def progress(self) -> int:
        """The resource version up to which every change has reached the handlers; 0 before the first list has."""
        if self._is_listing or self._unseen:
            return self._handled
        return next(iter(self._unhandled)) - 1 if self._unhandled else self._sent

    def attempted(self) -> None:
        """Record that Kopf asks for the list or the watch: its task is alive."""
        self.last_attempt = self._clock()

    def spoke(self) -> None:
        """Record that the server sent anything."""
        self.last_word = self.last_attempt = self._clock()

    def opened(self, close: Callable[[], None]) -> None:
        """Record that the server has accepted the watch; `close` breaks it off."""
        self.spoke()
        self._close = close

    def expire(self) -> None:
        """Have the kind listed anew: the watch has missed something, so that nothing it says can be relied on."""
        self.is_mute = True
        self._close()

    def page(self, entries: Iterable[tuple[str, int]], version: int, *, first: bool, last: bool) -> None:
        """Record one page of a list: UID and resource version of its objects, and the version of the list.

        It says nothing about objects that an own write has created or changed since.
        """
        self._has_news()
        if first:
            self._handled = self.progress
            self._is_listing = True
            self._uids = set()
            self._unseen = {}
            self._known = {known: uid for known, uid in self._known.items() if known > version}
        content, newer = dict(entries), frozenset(self._known.values())
        self._uids.update(content)
        self._unseen.update((uid, entry) for uid, entry in content.items() if uid not in newer)
        if not last:
            return
        uids, self._uids = newer.union(self._uids), set()
        self._is_listing = self.is_mute = False
        self._unhandled.clear()
        self._list_version = self._sent = version
        self.lists += 1
        self._on_listed(self.resource, uids)

    def changed(self, version: int) -> bool:
        """Record an event on the wire, and return whether it has to go on to its handler, which `admit` is told of.

        The echo of an own write need not.
        """
        self._has_news()
        self._sent = version
        if self._known.pop(version, None) is not None:
            self._first_known = self._clock()
            return False
        self._unhandled[version] = None
        return True

    def learn(self, uid: str, version: int) -> bool:
        """Return whether the answer to an own write is ahead of the watch; its echo is held back then.

        An answer that is not may be about an object that has gone since.
        """
        if not self.is_synced or version <= self._sent:
            return False
        if not self._known:
            self._first_known = self._clock()
        self._known[version] = uid
        return True

    def waits_for_echo(self, seconds: float) -> bool:
        """Whether the server has answered to own writes and the watch has told of none of them for so long."""
        return bool(self._known) and not self._is_listing and self._clock() - self._first_known >= seconds

    def bookmark(self, version: int) -> None:
        """Record that the server has sent everything up to this version."""
        self._has_news()
        self._sent = max(self._sent, version)

    def _has_news(self) -> None:
        self.spoke()
        self.last_news = self.last_word

    def admit(self, event: str | None, uid: str, version: int) -> bool:
        """Return whether an event that reached its handler says something new; `event` is None for list entries."""
        if event is None:
            if self._unseen.get(uid) != version:
                return False
            del self._unseen[uid]
            return True
        self._unhandled.pop(version, None)
        return version > self._list_version


class Watches:
    """The watches of the kinds that a process has to have, and of those that are added."""

    __slots__ = ("_clock", "_on_listed", "_watches")

    def __init__(self, clock: Clock, on_listed: Listed, required: Iterable[Resource] = WATCHED) -> None:
        self._clock = clock
        self._on_listed = on_listed
        self._watches: dict[Kind, Watch] = {}
        for resource in required:
            self.add(resource)

    def add(self, resource: Resource) -> None:
        """Count on one more kind being watched."""
        self._watches[resource.kind] = Watch(resource, self._clock, self._on_listed)

    @property
    def resources(self) -> tuple[Resource, ...]:
        """What is watched."""
        return tuple(watch.resource for watch in self._watches.values())

    def __contains__(self, kind: Kind) -> bool:
        return kind in self._watches

    def __getitem__(self, kind: Kind) -> Watch:
        return self._watches[kind]

    def begin(self) -> None:
        """Let no silence count that was before now."""
        for watch in self._watches.values():
            watch.spoke()

    @property
    def are_synced(self) -> bool:
        """Whether every kind was listed and its list has reached the handlers."""
        return all(watch.is_synced for watch in self._watches.values())

    def are_level(self) -> bool:
        """Whether everything that was read of any watch has reached its handlers."""
        return all(watch.is_level for watch in self._watches.values())

    def unlisted(self) -> tuple[str, ...]:
        """The kinds whose list has not reached the handlers yet."""
        return tuple(watch.resource.plural for watch in self._watches.values() if not watch.is_synced)

    def silent(self, seconds: float) -> tuple[str, ...]:
        """The kinds of which nothing was heard for so long."""
        since = self._clock() - seconds
        return tuple(watch.resource.plural for watch in self._watches.values() if watch.last_word < since)

    def behind_own_writes(self, seconds: float) -> tuple[Resource, ...]:
        """The kinds whose watch has not told of writes of this process for so long."""
        return tuple(watch.resource for watch in self._watches.values() if watch.waits_for_echo(seconds))

    def mute(self) -> tuple[str, ...]:
        """The kinds whose watch has missed something, until they are listed anew."""
        return tuple(watch.resource.plural for watch in self._watches.values() if watch.is_mute)

    def abandoned(self, seconds: float) -> tuple[str, ...]:
        """The kinds that nobody even asks for any more."""
        since = self._clock() - seconds
        return tuple(watch.resource.plural for watch in self._watches.values() if watch.last_attempt < since)
