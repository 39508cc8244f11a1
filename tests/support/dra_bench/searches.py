"""The allocator on one node: the first call, pools and compiled selectors there, nothing of the answer known."""

from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from dra_bench import upstream
from dra_bench.clock import Took, middle, milliseconds, timed
from dra_bench.report import Say, Table
from dra_bench.upstream import Theirs
from dra_bench.worlds import CLASSES, NODE, World, worlds
from dra_oracle.kubernetes import Kubernetes
from dra_scheduling.allocation.allocation_outcomes import Allocated, Exhausted, Impossible
from dra_scheduling.allocation.allocator import allocate
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.model.claims import ResourceClaimSpec
from dra_scheduling.model.slices import ResourceSlice

RUNS = 15
PLACE = NodePlace(NODE, {})


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """One world: the medians of first calls, and what Kubernetes' allocator takes."""

    world: str
    is_solvable: bool
    target: float | None
    ours: Took
    steps: int
    theirs: Theirs | None


def measure(say: Say) -> list[Search]:
    """Measure every world."""
    with upstream.running(say) as program:
        return [_measure(world, program, say) for world in worlds()]


def _measure(world: World, program: Kubernetes | None, say: Say) -> Search:
    claims = _parsed(world.specs)
    ours = middle(
        timed(partial(allocate, claims, PLACE, index, Ledger()))
        for index in [_index(world.slices) for _ in range(RUNS)]
    )
    result = solve(world)
    say(f"{world.name}: {milliseconds(ours.wall)} ms")
    return Search(
        world=world.name,
        is_solvable=isinstance(result, Allocated),
        target=world.target,
        ours=ours,
        steps=result.steps,
        theirs=upstream.ask_about(program, world.slices, world.specs, CLASSES.values(), [PLACE]),
    )


def solve(world: World) -> Allocated | Impossible | Exhausted:
    """Return what the allocator answers."""
    return allocate(_parsed(world.specs), PLACE, _index(world.slices), Ledger())


def _index(slices: Iterable[ResourceSlice]) -> PoolIndex:
    index = PoolIndex()
    for piece in slices:
        index.apply(piece)
    return index


def _parsed(specs: Sequence[ResourceClaimSpec]) -> list[ParsedClaim]:
    parsed = [parse_claim(f"c{number}", spec, CLASSES) for number, spec in enumerate(specs)]
    return [claim for claim in parsed if isinstance(claim, ParsedClaim)]


def table(results: Sequence[Search]) -> Table:
    """Return one row a world."""
    columns = ("world", "solvable", "target ms", "ours ms", "CPU ms", "steps", *upstream.COLUMNS)
    return Table(columns, tuple(map(_row, results)))


def _row(one: Search) -> tuple[str, ...]:
    return (
        one.world,
        "yes" if one.is_solvable else "no",
        "" if one.target is None else f"{one.target:.0f}",
        milliseconds(one.ours.wall),
        milliseconds(one.ours.cpu),
        str(one.steps),
        *upstream.cells(one.theirs, one.ours),
    )
