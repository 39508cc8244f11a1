"""Manifests to the objects of a cluster: what a server and its controllers would add is added.

Names, uids, namespaces and times; nodes as kubelets register them; priorities; pods of workloads; claims of templates.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum, auto
from typing import NamedTuple, TypeVar

import msgspec

from dra_scheduling.model.claims import ResourceClaim, ResourceClaimTemplate
from dra_scheduling.model.daemonsets import DaemonSet
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.wire import (
    InvalidObjectError,
    KubernetesObject,
    UnknownKindError,
    WireFault,
    faults_of,
    key_of,
    read,
    unknown_fields_of,
)
from dra_simulator.admission import Policies, created, registered_node, time_after
from dra_simulator.crd_schema import refused_by_schema
from dra_simulator.identity import Names, with_uid
from dra_simulator.load import Loaded, Manifest
from dra_simulator.problems import InputProblem
from dra_simulator.refused import refused
from dra_simulator.replicas import PodMaker, Workload, workload_of
from dra_simulator.schema import fields_that_do_not_exist
from dra_simulator.templates import ClaimMaker

NO_OBJECT = "documents that are no objects"
K = TypeVar("K", bound=KubernetesObject)


class Kept(Enum):
    """Which objects of an input make up its world: all of them, to be looked at, or those that a server would store."""

    EVERYTHING = auto()
    STORABLE = auto()


class ManifestSubject(NamedTuple):
    """An object of the input by kind and name."""

    kind: str
    key: ObjectKey

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


class UnknownField(NamedTuple):
    """A field of an object of ours that its kind does not have: its path, and what was expected."""

    subject: ManifestSubject
    path: str
    problem: str


class World(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a cluster would hold, the file that each object of the input stands in, and what cannot be used.

    `ignored` counts objects of unknown kinds by `apiVersion Kind`, `unknown` are fields that nothing reads. `now`
    is the time there (RFC 3339, UTC), empty where nothing tells it.
    """

    objects: tuple[KubernetesObject, ...]
    files: Mapping[ManifestSubject, str]
    ignored: Mapping[str, int]
    problems: tuple[InputProblem, ...]
    unknown: tuple[UnknownField, ...] = ()
    now: str

    def of(self, kind: type[K]) -> tuple[K, ...]:
        """Return the objects of one kind, by namespace and name."""
        return tuple(value for value in self.objects if isinstance(value, kind))


def subject_of(value: KubernetesObject) -> ManifestSubject:
    """Return kind and name of an object."""
    return ManifestSubject(type(value).__name__, key_of(value))


def complete(loaded: Loaded, namespace: str = "default", now: str | None = None, kept: Kept = Kept.STORABLE) -> World:
    """Return what a cluster would make of these manifests; problems are listed, what else there is stands.

    Where no time is given it is that of the latest dump, or else a moment after everything was created.
    """
    reader = _Reader(namespace, kept)
    if loaded.others:
        reader.ignored[NO_OBJECT] = loaded.others
    for manifest in loaded.manifests:
        reader.take(manifest)
    objects = tuple(_with_controllers(reader))
    return World(
        objects=tuple(sorted(objects, key=lambda value: (type(value).__name__, key_of(value)))),
        files=reader.files,
        ignored=dict(sorted(reader.ignored.items())),
        problems=tuple(sorted({*loaded.problems, *reader.problems})),
        unknown=tuple(reader.unknown),
        now=now or loaded.now or time_after(objects),
    )


class _Reader:
    """Sorts manifests into values, workloads, what admission reads, and what nothing here reads."""

    __slots__ = (
        "_kept",
        "_names",
        "_seen",
        "files",
        "ignored",
        "policies",
        "problems",
        "unknown",
        "values",
        "workloads",
    )

    def __init__(self, namespace: str, kept: Kept) -> None:
        self._names = Names(namespace)
        self._kept = kept
        self._seen: dict[ManifestSubject, Manifest] = {}
        self.files: dict[ManifestSubject, str] = {}
        self.ignored: Counter[str] = Counter()
        self.problems: list[InputProblem] = []
        self.unknown: list[UnknownField] = []
        self.values: list[KubernetesObject] = []
        self.workloads: list[Workload] = []
        self.policies = Policies()

    def take(self, manifest: Manifest) -> None:
        place = "" if _has_name(manifest.raw) else manifest.place
        with self.noting_problems(manifest.file, place, manifest.raw):
            self._sort(self._names.complete(manifest))

    @contextmanager
    def noting_problems(self, file: str, place: str = "", raw: object = None) -> Iterator[None]:
        """Note all that makes an object of the file unusable, and go on; `place` tells of what has no name."""
        try:
            yield
        except InvalidObjectError as error:
            subject = f"{place}, {error.subject}" if place else error.subject
            told = (*unknown_fields_of(raw), *faults_of(error, raw))
            self.problems += (InputProblem(file, subject, *fault) for fault in told)
        except RecursionError:
            message = "expected less deep nesting"
            self.problems.append(InputProblem(file=file, object="object", path="$", message=message))

    def _sort(self, manifest: Manifest) -> None:
        raw = registered_node(manifest.raw) if manifest.raw.get("kind") == "Node" else manifest.raw
        try:
            value = read(raw)
        except UnknownKindError as error:
            self._sort_unknown(manifest, str(error))
        else:
            if self._is_new(subject_of(value), manifest):
                faults = self._faults(value, raw)
                name = str(subject_of(value))
                self.problems += (InputProblem(manifest.file, name, *fault) for fault in faults)
                if not faults or self._kept is Kept.EVERYTHING:
                    self.values.append(value)
                for fault in (*unknown_fields_of(raw), *fields_that_do_not_exist(raw)):
                    self.unknown.append(UnknownField(subject_of(value), *fault))
                # Of the kinds that are read, the only one whose pods a controller creates.
                workload = workload_of(manifest.raw) if isinstance(value, DaemonSet) else None
                if workload is not None:
                    self.workloads.append(workload)

    def _faults(self, value: KubernetesObject, raw: Mapping[str, object]) -> tuple[WireFault, ...]:
        """Return what a server would refuse. What has a UID was stored by one, whatever another one would say."""
        is_stored = bool(value.metadata.uid) and self._kept is Kept.STORABLE
        return () if is_stored else (*refused(raw), *refused_by_schema(raw))

    def _sort_unknown(self, manifest: Manifest, api: str) -> None:
        if self.policies.take(api, manifest.raw):
            return
        workload = workload_of(manifest.raw)
        if workload is None:
            self.ignored[api] += 1
        elif self._is_new(ManifestSubject(workload.kind, workload.key), manifest):
            self.workloads.append(workload)

    def _is_new(self, subject: ManifestSubject, manifest: Manifest) -> bool:
        """Whether the object was not there yet. The same object with another content is a problem."""
        before = self._seen.setdefault(subject, manifest)
        self.files.setdefault(subject, manifest.file)
        if before is manifest:
            return True
        if before.raw != manifest.raw:
            message = f"expected one definition, and {before.file} holds another one"
            self.problems.append(InputProblem(file=manifest.file, object=str(subject), path="$", message=message))
        return False


def _has_name(raw: Mapping[str, object]) -> bool:
    metadata = raw.get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get("name") or metadata.get("generateName"))


def _with_controllers(reader: _Reader) -> Iterator[KubernetesObject]:
    now = time_after(reader.values)
    given = [created(value, now) for value in reader.values]
    pods = [pod for one in given if isinstance(one, Pod) for pod in _admitted(reader, one)]
    made = _pods_of_workloads(reader, pods, given)
    pods += [pod for one in made for pod in _admitted(reader, created(one, now))]
    given = [with_uid(value) for value in given if not isinstance(value, Pod)]
    maker = ClaimMaker(
        {value.key: value for value in given if isinstance(value, ResourceClaim)},
        {key_of(value): value for value in given if isinstance(value, ResourceClaimTemplate)},
    )
    yield from (maker.serve(with_uid(pod)) for pod in sorted(pods, key=key_of))
    yield from maker.claims.values()
    yield from (value for value in given if not isinstance(value, ResourceClaim))


def _admitted(reader: _Reader, pod: Pod) -> Iterator[Pod]:
    """Yield the pod as admission leaves it, unless that refuses it."""
    admitted, faults = reader.policies.admit(pod)
    if not faults:
        yield admitted
    subject = subject_of(pod)
    reader.problems += (InputProblem(reader.files[subject], str(subject), *fault) for fault in faults)


def _pods_of_workloads(reader: _Reader, pods: Iterable[Pod], given: Iterable[KubernetesObject]) -> list[Pod]:
    maker = PodMaker(reader.workloads, pods, (value for value in given if isinstance(value, Node)))
    made: list[Pod] = []
    for workload in sorted(reader.workloads, key=lambda workload: (workload.kind, workload.key)):
        file = reader.files[ManifestSubject(workload.kind, workload.key)]
        with reader.noting_problems(file):
            new = tuple(maker.pods_of(workload))
            made += new
            reader.files |= {subject_of(pod): file for pod in new}
    return made
