"""Kubernetes' own allocator on the worlds of the benchmark: what it takes, and how many times ours that is."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from dra_bench.clock import Took, milliseconds
from dra_bench.report import Say
from dra_oracle.build import GoMissingError
from dra_oracle.kubernetes import Kubernetes
from dra_oracle.timing import timed, world_of
from dra_oracle.world import World
from dra_scheduling.devices import NodePlace
from dra_scheduling.model.claims import ResourceClaimSpec
from dra_scheduling.model.slices import DeviceClass, ResourceSlice

LIMIT_SECONDS = 5.0
LIMIT = f"{LIMIT_SECONDS * 1000:,.0f}"
ROUNDS = 3
COLUMNS = ("Kubernetes ms", "times ours")


class Theirs(msgspec.Struct, frozen=True):
    """The median of several rounds; one that ran out of time says only that it takes longer."""

    milliseconds: float
    is_finished: bool
    steps: int

    def cells(self, ours: Took) -> tuple[str, str]:
        """Return the cells of a table: the time, and how many times ours it is."""
        ratio = self.milliseconds / max(ours.wall, 1e-3)
        shown = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"
        return (milliseconds(self.milliseconds), shown) if self.is_finished else (f"> {LIMIT}", f"> {shown}")


def cells(theirs: Theirs | None, ours: Took) -> tuple[str, str]:
    """Return the cells of a table, empty where Kubernetes was not asked."""
    return ("", "") if theirs is None else theirs.cells(ours)


@contextmanager
def running(say: Say) -> Iterator[Kubernetes | None]:
    """Give the program that asks Kubernetes' allocator, or None where there is no Go to build it with."""
    try:
        program = Kubernetes()
    except GoMissingError as error:
        say(f"without Kubernetes' allocator: {error}")
        yield None
    else:
        with program:
            yield program


def ask(program: Kubernetes | None, world: World, nodes: Sequence[NodePlace]) -> Theirs | None:
    """Return how long Kubernetes takes for the world's claims on all nodes, one after the other."""
    if program is None:
        return None
    found = timed(program, world, nodes, limit_seconds=LIMIT_SECONDS, rounds=ROUNDS)
    return Theirs(found.milliseconds, found.is_finished, found.steps)


def ask_about(
    program: Kubernetes | None,
    slices: Iterable[ResourceSlice],
    specs: Iterable[ResourceClaimSpec],
    classes: Iterable[DeviceClass],
    nodes: Sequence[NodePlace],
) -> Theirs | None:
    """Return the same for values of the library."""
    return None if program is None else ask(program, world_of(slices, specs, classes), nodes)
