"""Kubernetes' allocator as a process that answers worlds one after the other."""

import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from dra_controlplane.process import guarded
from dra_oracle.build import OracleError, build_program
from dra_oracle.world import Json, World

LIMIT_MILLISECONDS = 500


class DerivedValue(msgspec.Struct, frozen=True):
    """The value of a derived attribute for the device at (slice, position in the slice)."""

    place: tuple[int, int]
    value: Json


class Derivation(msgspec.Struct, frozen=True, kw_only=True):
    """What a derived attribute is for every device; `broken` if its expression does not compile."""

    name: str
    values: tuple[DerivedValue, ...] = ()
    failing: tuple[tuple[int, int], ...] = ()
    broken: bool = False


class Selected(msgspec.Struct, frozen=True, kw_only=True):
    """What one request (`request`, or `request/alternative`) selects, as (slice, position in the slice).

    `possible` are the drivers that the selectors do not rule out whatever a device of theirs may have; `broken` names
    an expression that does not compile, or a class that is missing.
    """

    claim: int
    request: str
    matching: tuple[tuple[int, int], ...] = ()
    failing: tuple[tuple[int, int], ...] = ()
    possible: tuple[str, ...] = ()
    derived: tuple[Derivation, ...] = ()
    broken: str = ""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What Kubernetes makes of a world.

    `verdict` is allocated, impossible, nodeError (with a text, other nodes may do), podError (fails the pod on every
    node), timeout, invalid (the world cannot be read) or panicked. `steps` are calls of the recursive search.
    """

    verdict: str
    error: str = ""
    channel: str = ""
    steps: int = 0
    able: int = 0
    nanoseconds: tuple[int, ...] = ()
    allocations: tuple[Json, ...] = ()
    selections: tuple[Selected, ...] = ()

    @property
    def is_allocated(self) -> bool:
        """Whether all claims got their devices."""
        return self.verdict == "allocated"


class Question(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A world with how it is to be asked."""

    nodes: tuple[Json, ...]
    slices: tuple[Json, ...]
    classes: tuple[Json, ...]
    claims: tuple[Json, ...]
    held: tuple[Json, ...]
    features: tuple[str, ...]
    limit_milliseconds: int
    rounds: int
    selections: bool


class Kubernetes:
    """The running program; a context manager."""

    __slots__ = ("_process",)

    def __init__(self, program: Path | None = None) -> None:
        self._process = subprocess.Popen(
            [*guarded(), str(program or build_program())], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def ask(self, world: World, limit_milliseconds: int = LIMIT_MILLISECONDS) -> Answer:
        """What the allocator makes of the world's claims on its node, and what each request selects."""
        return self._answer(_question((world.node,), world, limit_milliseconds, 1))

    def measure(self, nodes: tuple[Json, ...], world: World, limit_milliseconds: int, rounds: int) -> Answer:
        """The same for several nodes, `rounds` times over, with the time of each round; selections are left out."""
        return self._answer(
            msgspec.structs.replace(_question(nodes, world, limit_milliseconds, rounds), selections=False)
        )

    def _answer(self, question: Question) -> Answer:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(question) + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise OracleError(f"the Go program ended with {self._process.wait()}")
        answer = msgspec.json.decode(line, type=Answer)
        if answer.verdict == "invalid":
            raise OracleError(f"Kubernetes cannot read this world: {answer.error}")
        return answer


def _question(nodes: tuple[Json, ...], world: World, limit_milliseconds: int, rounds: int) -> Question:
    return Question(
        nodes=nodes,
        slices=world.slices,
        classes=world.classes,
        claims=world.claims,
        held=world.held,
        features=world.features,
        limit_milliseconds=limit_milliseconds,
        rounds=rounds,
        selections=True,
    )
