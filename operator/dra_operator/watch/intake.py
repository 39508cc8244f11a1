"""From watch events to values: decodes, ignores events that change nothing, and passes the rest on.

An object that cannot be used counts as absent, with one exception: what it holds already stays held. Its own Events
say what is wrong with it.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from dra_kube.resources import Kind, Resource
from dra_operator.api.events import EventMessage, EventType, Recorder, Regarding
from dra_operator.kinds import BY_KIND
from dra_operator.logs import log
from dra_operator.metrics import INVALID_OBJECTS, WATCH_EVENTS
from dra_operator.watch.cache import Cache, Novelty
from dra_operator.watch.session import version_of
from dra_operator.watch.watches import Watches
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import KINDS, InvalidObjectError, KubernetesObject, key_of, read_as

Raw = Mapping[str, Any]
PodRefused = Callable[[Pod, str, str], None]

INVALID_REASON = "InvalidObject"
MAX_REMEMBERED = 10_000
# A copy of the whole object that kubectl keeps, and that nothing here reads.
LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
# What is left of an unusable object so that what it holds is still known, the fullest first.
PARTIAL_DECODES: Mapping[Kind, Sequence[Mapping[str, tuple[str, ...]]]] = {
    ResourceClaim: ({"metadata": (), "status": ()},),
    Pod: (
        {"metadata": (), "spec": ("nodeName", "schedulerName", "containers", "initContainers"), "status": ()},
        {"metadata": (), "spec": ("nodeName", "schedulerName"), "status": ("phase", "conditions")},
    ),
}

_log = log("intake")


class CacheListener(Protocol):
    """Who is told about objects that changed."""

    def changed(self, value: KubernetesObject) -> None:
        """The object is new, or differs from before in something a decision could depend on."""
        ...

    def removed(self, value: KubernetesObject) -> None:
        """The object, as last seen, is gone or cannot be used any more."""
        ...


class UnusableListener(Protocol):
    """Who is told about objects that cannot be used, and about what becomes of them."""

    def refused(self, kind: Kind, raw: Raw, problem: str) -> None:
        """The object cannot be used."""
        ...

    def deleted(self, kind: Kind, uid: str) -> None:
        """The object has gone, whether it could be used or not."""
        ...

    def listed(self, kind: Kind, uids: frozenset[str]) -> None:
        """There are no other objects of the kind than these."""
        ...


class BadInput:
    """Says on an unusable object what is wrong with it, once for each problem.

    `pod_refused` is told of pods besides, and `supply` of every object, since people look for the reason in
    conditions.
    """

    def __init__(
        self,
        recorder: Recorder,
        pod_refused: PodRefused | None = None,
        supply: UnusableListener | None = None,
    ) -> None:
        self._recorder = recorder
        self._pod_refused = pod_refused
        self._supply = supply
        self._told: OrderedDict[str, str] = OrderedDict()

    def has_told(self, uid: str) -> bool:
        """Whether there was a problem with this object."""
        return uid in self._told

    def deleted(self, kind: Kind, uid: str) -> None:
        """Pass on that an object has gone: of one that could not be used, nobody else knows."""
        if self._supply is not None:
            self._supply.deleted(kind, uid)

    def listed(self, kind: Kind, uids: frozenset[str]) -> None:
        """Pass on which objects of a kind there are."""
        if self._supply is not None:
            self._supply.listed(kind, uids)

    def tell(self, kind: Kind, raw: Raw, error: InvalidObjectError) -> None:
        """Log the problem and write it as an Event of the object."""
        resource, metadata = BY_KIND[kind], raw["metadata"]
        INVALID_OBJECTS.labels(resource.plural).inc()
        uid, problem = str(metadata.get("uid")), f"{error.path}: {error.problem}"
        if self._supply is not None:
            self._supply.refused(kind, raw, problem.removeprefix("$."))
        if self._told.get(uid) == problem:
            return
        self._told[uid] = problem
        if len(self._told) > MAX_REMEMBERED:
            self._told.popitem(last=False)
        _log.warning(
            "ignored an object that cannot be used", object=error.subject, path=error.path, problem=error.problem
        )
        regarding = Regarding(
            api_version=resource.api_version,
            kind=kind.__name__,
            namespace=str(metadata.get("namespace") or ""),
            name=str(metadata.get("name")),
            uid=uid,
        )
        self._recorder.tell(
            EventMessage(regarding=regarding, severity=EventType.WARNING, reason=INVALID_REASON, message=problem)
        )
        spec = raw.get("spec") or {}
        if kind is Pod and self._pod_refused is not None and not spec.get("nodeName"):
            # Nothing else of it can be relied on.
            name = {key: metadata.get(key) for key in ("name", "namespace", "uid")}
            known = {"metadata": name, "spec": {"schedulerName": str(spec.get("schedulerName"))}}
            self._pod_refused(read_as(Pod, known), INVALID_REASON, problem)


class Intake:
    """Where every watch event arrives."""

    def __init__(self, cache: Cache, watches: Watches, bad_input: BadInput, listeners: Sequence[CacheListener]) -> None:
        self._cache = cache
        self._watches = watches
        self._bad_input = bad_input
        self._listeners = listeners

    def observe(self, kind: Kind, event: str | None, raw: Raw) -> None:
        """Take in one watch event; its type is None for an entry of a list."""
        watch = self._watches[kind]
        if not watch.admit(event, raw["metadata"]["uid"], version_of(raw)):
            novelty = Novelty.NOTHING
        elif event == "DELETED":
            self._remove(kind, raw)
            self._bad_input.deleted(kind, raw["metadata"]["uid"])
            novelty = Novelty.NEWS
        else:
            novelty = self._take(kind, event, raw)
        WATCH_EVENTS.labels(watch.resource.plural, novelty.name.lower()).inc()

    def learn(self, answer: Raw) -> None:
        """Take in what the API server answered to a write of this process, unless the watch was faster."""
        kind = KINDS.get((str(answer.get("apiVersion")), str(answer.get("kind"))))
        if kind is None or kind not in self._watches or answer["metadata"].get("deletionTimestamp"):
            return
        if self._watches[kind].learn(answer["metadata"]["uid"], version_of(answer)):
            self._take(kind, "MODIFIED", answer)

    def listed(self, resource: Resource, uids: frozenset[str]) -> None:
        """Let go of what is not in a whole list any more: a watch that had to start anew tells no deletions."""
        for value in self._cache.outdated(resource.kind, uids):
            self._drop(resource.kind, key_of(value), value.metadata.uid)
        self._bad_input.listed(resource.kind, uids)

    def is_unusable(self, uid: str) -> bool:
        """Whether the object was seen and could not be used."""
        return self._bad_input.has_told(uid)

    def correct(self, kind: Kind, key: ObjectKey, raw: Raw | None) -> None:
        """Take over what the server says about an object, None if there is none, whatever watches have told."""
        if raw is not None:
            self._take(kind, None, raw)
        elif (known := self._cache.get(kind, key)) is not None:
            self._drop(kind, key, known.metadata.uid)

    def _take(self, kind: Kind, event: str | None, raw: Raw) -> Novelty:
        (raw["metadata"].get("annotations") or {}).pop(LAST_APPLIED_ANNOTATION, None)
        try:
            value = read_as(kind, raw)
        except InvalidObjectError as error:
            self._bad_input.tell(kind, raw, error)
            rest = decode_part(kind, raw)
            if rest is None:
                self._remove(kind, raw)
                return Novelty.NEWS
            value = rest
        novelty = self._cache.put_listed(value) if event is None else self._cache.put(value)
        if novelty is Novelty.NEWS:
            for listener in self._listeners:
                self._tell(listener.changed, value)
        return novelty

    def _remove(self, kind: Kind, raw: Raw) -> None:
        metadata = raw["metadata"]
        self._drop(kind, ObjectKey(metadata.get("namespace") or "", metadata["name"]), metadata["uid"])

    def _drop(self, kind: Kind, key: ObjectKey, uid: str) -> None:
        gone = self._cache.drop(kind, key, uid)
        if gone is not None:
            for listener in self._listeners:
                self._tell(listener.removed, gone)

    def _tell(self, listener: Callable[[KubernetesObject], None], value: KubernetesObject) -> None:
        try:
            listener(value)
        except Exception:  # noqa: BLE001  whatever it is, it concerns this object and this listener alone
            _log.exception("an object could not be passed on", object=f"{type(value).__name__} {key_of(value)}")


def decode_part(kind: Kind, raw: Raw) -> KubernetesObject | None:
    """Return what can still be read of an unusable object that holds something; None if that is nothing."""
    for parts in PARTIAL_DECODES.get(kind, ()):
        rest = {
            name: {field: value for field, value in (raw.get(name) or {}).items() if not fields or field in fields}
            for name, fields in parts.items()
        }
        try:
            value = read_as(kind, rest)
        except InvalidObjectError:
            continue
        if isinstance(value, ResourceClaim) and value.status.allocation is None:
            return None
        if isinstance(value, Pod) and not value.spec.node_name:
            return None
        return value
    return None
