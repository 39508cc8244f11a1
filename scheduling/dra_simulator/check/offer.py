"""The devices of an input, asked by selectors."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.devices.bits import members
from dra_scheduling.devices.indexed_slice import IndexedSlice
from dra_scheduling.model.ids import PoolKey
from dra_scheduling.model.slices import DeviceSelector, ResourceSlice
from dra_simulator.check.findings import Remarks, error, warning
from kube_cel import CompileError, Program, admission_problem, compile_selector


class Choice(msgspec.Struct, frozen=True, eq=False):
    """Some devices of the input: one mask a slice, and how many they are. A choice is equal to itself alone."""

    masks: tuple[int, ...]
    count: int

    @classmethod
    def of(cls, masks: Iterable[int]) -> "Choice":
        """Return the choice of these devices."""
        chosen = tuple(masks)
        return cls(chosen, sum(mask.bit_count() for mask in chosen))


class Failures(NamedTuple):
    """On how many devices a program fails, and how it does on the first of them."""

    devices: int
    first: str


class Among(NamedTuple):
    """What selectors choose from, and how messages call it: `of the input`."""

    choice: Choice
    whose: str


class OfferedDevices:
    """The devices in the newest generation of every pool of the input.

    Answers are kept: many claims of a cluster ask for the same.
    """

    __slots__ = ("_failures", "_narrowed", "_pieces", "everything")

    def __init__(self, slices: Iterable[ResourceSlice], features: Features = DEFAULT_FEATURES) -> None:
        pieces = [IndexedSlice(value, features) for value in slices]
        newest: dict[PoolKey, int] = {}
        for piece in pieces:
            newest[piece.key] = max(newest.get(piece.key, 0), piece.content.spec.pool.generation)
        self._pieces = tuple(piece for piece in pieces if piece.content.spec.pool.generation == newest[piece.key])
        self.everything = Choice.of(piece.everything for piece in self._pieces)
        self._narrowed: dict[tuple[Choice, Program], Choice] = {}
        self._failures: dict[tuple[Choice, Program], Failures] = {}

    def narrowed(self, choice: Choice, program: Program) -> Choice:
        """Return the devices that the program selects among these."""
        found = self._narrowed.get((choice, program))
        if found is None:
            pairs = zip(self._pieces, choice.masks, strict=True)
            found = Choice.of(piece.judge(program, mask)[0] for piece, mask in pairs)
            self._narrowed[choice, program] = found
        return found

    def failures(self, choice: Choice, program: Program) -> Failures:
        """Return how the program fails on some of these devices."""
        found = self._failures.get((choice, program))
        if found is None:
            texts = list(self._failing(choice, program))
            found = self._failures[choice, program] = Failures(len(texts), texts[0] if texts else "")
        return found

    def _failing(self, choice: Choice, program: Program) -> Iterator[str]:
        for piece, mask in zip(self._pieces, choice.masks, strict=True):
            for number in members(piece.judge(program, mask)[1]):
                yield piece.error_text(program, number)


def programs_of(selectors: Sequence[DeviceSelector]) -> tuple[Program, ...] | None:
    """Return the compiled selectors, None if one of them does not compile."""
    compiled = tuple(_compiled(_expression(selector)) for selector in selectors)
    programs = tuple(program for program in compiled if isinstance(program, Program))
    return programs if len(programs) == len(compiled) else None


def compile_remarks(selectors: Sequence[DeviceSelector], path: str) -> Remarks:
    """Yield an error for each selector that does not compile or costs too much; `path` leads to the list."""
    for number, selector in enumerate(selectors):
        here = f"{path}[{number}].cel"
        if selector.cel is None:
            yield error(here, "expected a CEL selector")
            continue
        compiled = _compiled(selector.cel.expression)
        if isinstance(compiled, CompileError):
            place = f"line {compiled.line}, column {compiled.column}"
            yield error(f"{here}.expression", f"does not compile: {' '.join(compiled.problem.split())} ({place})")
        elif (refusal := admission_problem(selector.cel.expression)) is not None:
            yield error(f"{here}.expression", f"the API server refuses it: {refusal}")


def match_remarks(selectors: Sequence[DeviceSelector], path: str, offer: OfferedDevices, among: Among) -> Remarks:
    """Yield a warning for the selector that leaves no device of those that are there."""
    programs = programs_of(selectors)
    if programs is None or not among.choice.count:
        return
    left, whose = among.choice, among.whose
    for number, program in enumerate(programs):
        narrowed = offer.narrowed(left, program)
        if not narrowed.count:
            failures = offer.failures(left, program)
            failed = f"; it fails on {failures.devices} of them: {failures.first}" if failures.devices else ""
            yield warning(
                f"{path}[{number}].cel.expression", f"selects none of the {left.count} devices {whose}{failed}"
            )
            return
        left, whose = narrowed, "that the selectors before it leave"


def selected(selectors: Sequence[DeviceSelector], offer: OfferedDevices, among: Choice) -> Choice | None:
    """Return the devices that all selectors select; None if one of them does not compile."""
    programs = programs_of(selectors)
    if programs is None:
        return None
    left = among
    for program in programs:
        left = offer.narrowed(left, program)
    return left


def _expression(selector: DeviceSelector) -> str:
    return selector.cel.expression if selector.cel is not None else ""


@lru_cache(maxsize=4096)
def _compiled(expression: str) -> Program | CompileError:
    try:
        return compile_selector(expression)
    except CompileError as failure:
        return failure
