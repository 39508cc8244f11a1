"""Puts random worlds to Kubernetes' allocator and to ours: ``python -m dra_oracle --worlds 10000 --seed 0``.

Exit status 0 if every difference has a known reason, 1 if not, 2 if the comparison could not be made.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec

from dra_oracle.build import OracleError, allocator_version
from dra_oracle.compare import Kind, Outcome, compare
from dra_oracle.kubernetes import Kubernetes
from dra_oracle.likeness import chosen
from dra_oracle.ours import SUPPORTED
from dra_oracle.parts import Part
from dra_oracle.reasons import REASONS
from dra_oracle.shrinking import smallest
from dra_oracle.world import Json, World
from dra_oracle.worlds import random_world

MOST_SHOWN = 5
PROGRESS_SECONDS = 10.0


def main() -> int:
    """Compares worlds, prints what came out; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m dra_oracle", description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=10_000, help="how many worlds (default 10000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first world; the others count on (default 0)")
    parser.add_argument("--parts", default=",".join(sorted(SUPPORTED)), help="what worlds may contain")
    parser.add_argument("--world", type=Path, help="compare the world of this JSON file instead")
    options = parser.parse_args()
    parts = {Part(name) for name in options.parts.split(",") if name}
    try:
        with Kubernetes() as kubernetes:
            if options.world is not None:
                world = msgspec.json.decode(options.world.read_bytes(), type=World)
                outcome = compare(kubernetes, world)
                _show(outcome, world)
                return int(outcome.kind == Kind.UNEXPLAINED)
            return _run(kubernetes, range(options.seed, options.seed + options.worlds), parts)
    except OracleError as error:
        print(f"oracle: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("oracle: interrupted", file=sys.stderr)
        return 130


def _run(kubernetes: Kubernetes, seeds: range, parts: set[Part]) -> int:
    print(f"{len(seeds)} worlds from seed {seeds.start} on, beside Kubernetes' allocator {allocator_version()}")
    counts: Counter[tuple[Kind, tuple[str, ...]]] = Counter()
    allocated = 0
    started = shown = time.monotonic()
    for done, seed in enumerate(seeds):
        world = random_world(seed, parts)
        outcome = compare(kubernetes, world)
        counts[outcome.kind, outcome.reasons] += 1
        allocated += outcome.mine.is_allocated
        if outcome.kind == Kind.UNEXPLAINED and counts[Kind.UNEXPLAINED, ()] <= MOST_SHOWN:
            print(f"\nseed {seed}: {outcome.text}")
            _show_smallest(kubernetes, world, outcome)
        if time.monotonic() - shown > PROGRESS_SECONDS:
            shown = time.monotonic()
            print(f"  {done + 1} worlds, {counts[Kind.UNEXPLAINED, ()]} unexplained", flush=True)
    _summary(counts, allocated, time.monotonic() - started)
    return int(counts[Kind.UNEXPLAINED, ()] > 0)


def _summary(counts: Counter[tuple[Kind, tuple[str, ...]]], allocated: int, seconds: float) -> None:
    kinds = Counter[Kind]()
    reasons = Counter[str]()
    for (kind, names), count in counts.items():
        kinds[kind] += count
        reasons.update(dict.fromkeys(names, count))
    worlds = sum(kinds.values())
    print(f"\n{worlds} worlds in {seconds:.0f} s, {allocated / max(worlds, 1):.0%} of them can be served")
    for kind in Kind:
        print(f"{kinds[kind]:>8}  {kind}")
    for reason in REASONS:
        if reasons[reason.name]:
            print(f"{reasons[reason.name]:>8}  {reason.name}: {reason.theirs}; here {reason.ours}")


def _show_smallest(kubernetes: Kubernetes, world: World, outcome: Outcome) -> None:
    def is_alike(other: World) -> bool:
        found = compare(kubernetes, other)
        return found.kind == Kind.UNEXPLAINED and _headline(found) == _headline(outcome)

    small = smallest(world, is_alike)
    _show(compare(kubernetes, small), small)


def _headline(outcome: Outcome) -> tuple[str, ...]:
    """What has to stay the same while a world shrinks: who said what, and the kind of rule that was broken."""
    return (outcome.theirs.verdict, outcome.mine.verdict, *outcome.text.split(":")[:2][: outcome.mine.is_allocated + 1])


def _show(outcome: Outcome, world: World) -> None:
    print(f"{outcome.kind} {' and '.join(outcome.reasons)} {outcome.text}")
    _say("Kubernetes", outcome.theirs.verdict, outcome.theirs.error, outcome.theirs.allocations)
    _say("we", outcome.mine.verdict, outcome.mine.text, outcome.mine.allocations)
    print(msgspec.json.encode(world).decode())


def _say(who: str, verdict: str, text: str, allocations: tuple[Json, ...]) -> None:
    print(f"  {who}: {verdict} {text} {[chosen(each) for each in allocations] or ''}")


if __name__ == "__main__":
    sys.exit(main())
