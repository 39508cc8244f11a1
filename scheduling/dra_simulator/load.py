"""Files, folders and standard input to manifests: what was found, and what cannot be used."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from pathlib import Path

import msgspec

from dra_scheduling.basics.times import seconds_of, time_of
from dra_simulator.documents import BrokenTextError, documents
from dra_simulator.problems import InputProblem, UnusableInputError

STANDARD_INPUT = "-"
DUMPED_AT = "dra-scheduler.dev/dumped-at"
"""An annotation of lists of objects: when they were read from their cluster (RFC 3339)."""
EXPECTED_TIME = "expected a time such as 2026-02-03T04:05:06Z (RFC 3339)"
SUFFIXES = frozenset({".yaml", ".yml", ".json"})


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """One Kubernetes object as it was written, its file, and its place there, such as `document 3`."""

    file: str
    raw: Mapping[str, object]
    place: str = ""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was found. `others` counts documents of folders that are no Kubernetes objects at all.

    `now` is the time of the latest dump among them (RFC 3339, UTC), empty where none says when it was made.
    """

    manifests: tuple[Manifest, ...] = ()
    problems: tuple[InputProblem, ...] = ()
    others: int = 0
    now: str = ""


class _Found(Enum):
    """How a file came in: a folder holds files that nobody meant, such as the values of a Helm chart."""

    BY_NAME = auto()
    IN_FOLDER = auto()


def load(paths: Sequence[str]) -> Loaded:
    """Return the objects of these files, folders (recursively) and standard input (`-`), in a fixed order.

    Nothing is raised for what is wrong with the input: a problem of one file says nothing about the next.
    """
    found = [item for path in paths for item in _everything_in(path)]
    return Loaded(
        manifests=tuple(item for item in found if isinstance(item, Manifest)),
        problems=tuple(item for item in found if isinstance(item, InputProblem)),
        others=found.count(None),
        now=max((item for item in found if isinstance(item, str)), default=""),
    )


def moment_of(value: object) -> str:
    """Return a time in UTC and whole seconds (RFC 3339), empty for a value that is no text of one."""
    seconds = seconds_of(value) if isinstance(value, str) else 0.0
    return time_of(seconds) if seconds else ""


def _everything_in(path: str) -> Iterator[Manifest | InputProblem | str | None]:
    """Yield objects, problems, times of dumps, and None for a document that is no object and that nobody meant."""
    is_empty = True
    for file, found in _files(path):
        try:
            for place, document in _documents_of(file):
                is_empty = False
                if found is _Found.IN_FOLDER and _is_something_else(document):
                    yield None
                else:
                    yield from _contents(file, place, document)
        except UnusableInputError as error:
            is_empty = False
            yield from error.problems
    if is_empty:
        # An earlier command of a pipe may have failed, or a name be wrong: that must not look as if all were well.
        yield InputProblem(file=path, object="input", path="-", message="expected at least one object, as YAML or JSON")


def _files(path: str) -> Iterator[tuple[str, _Found]]:
    if path == STANDARD_INPUT or not Path(path).is_dir():
        yield path, _Found.BY_NAME
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if Path(name).suffix in SUFFIXES and not name.startswith("."):
                yield str(Path(folder) / name), _Found.IN_FOLDER


def _documents_of(file: str) -> Iterator[tuple[str, object]]:
    number = 0
    try:
        for number, document in enumerate(documents(_text(file)), start=1):
            yield f"document {number}", document
    except BrokenTextError as error:
        problem = InputProblem(file=file, object=f"document {number + 1}", path=error.place, message=error.message)
        raise UnusableInputError(problem) from error


def _text(file: str) -> str:
    try:
        content = sys.stdin.buffer.read() if file == STANDARD_INPUT else Path(file).read_bytes()
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = InputProblem(file=file, object="file", path=f"byte {error.start}", message="expected text in UTF-8")
        raise UnusableInputError(problem) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        problem = InputProblem(
            file=file, object="file", path="-", message=f"expected a file that can be read: {reason}"
        )
        raise UnusableInputError(problem) from error


def _is_something_else(document: object) -> bool:
    return not isinstance(document, Mapping) or not ("kind" in document or "metadata" in document)


def _contents(file: str, place: str, document: object) -> Iterator[Manifest | InputProblem | str]:
    """Yield the objects of a document, and its time if it is a dump that has one."""
    metadata = document.get("metadata") if isinstance(document, Mapping) and document.get("kind") == "List" else None
    notes = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    written = notes.get(DUMPED_AT) if isinstance(notes, Mapping) else None
    if written is not None:
        path = f'$.metadata.annotations["{DUMPED_AT}"]'
        yield moment_of(written) or InputProblem(file, f"{place}, List", path, EXPECTED_TIME)
    yield from _objects(file, place, document)


def _objects(file: str, place: str, document: object) -> Iterator[Manifest | InputProblem]:
    """Yield the object, or the objects of a list of any kind (`List`, `PodList`; a list may hold lists)."""
    if not isinstance(document, Mapping):
        yield InputProblem(
            file, place, "$", f"expected an object with apiVersion and kind, got {type(document).__name__}"
        )
        return
    kind = document.get("kind")
    if not (isinstance(kind, str) and kind.endswith("List") and "items" in document and "spec" not in document):
        yield Manifest(file=file, raw=document, place=place)
        return
    items = document["items"] or []
    if not isinstance(items, list):
        yield InputProblem(file, f"{place}, {kind}", "$.items", f"expected a list, got {type(items).__name__}")
        return
    # The API server leaves kind and version out of the items of a typed list.
    implied = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")} if kind != "List" else {}
    for number, item in enumerate(items):
        complete = {**implied, **item} if isinstance(item, Mapping) else item
        yield from _objects(file, f"{place}, {kind}, $.items[{number}]", complete)
