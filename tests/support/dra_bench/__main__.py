"""`make bench`: each section measures, shows its table, and puts it into `docs/benchmarks.md`."""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import orjson
from rich.console import Console
from rich.table import Table as Drawn

from dra_bench import (
    against,
    binds,
    candidates,
    decisions,
    disruption,
    gate,
    memory,
    page,
    planning,
    searches,
    startup,
    sweeps,
)
from dra_bench.machine import this_machine
from dra_bench.report import Say, Table
from dra_controlplane.errors import ControlPlaneError
from dra_oracle.build import OracleError

FAILED = 1
INTERRUPTED = 130


class Section(msgspec.Struct, frozen=True):
    """How to measure, and how to show it."""

    measure: Callable[[Say], Sequence[Any]]
    table: Callable[[Sequence[Any]], Table]


SECTIONS: Mapping[str, Section] = {
    "decisions": Section(decisions.measure, decisions.table),
    "binds": Section(binds.measure, binds.table),
    "start-up": Section(startup.measure, startup.table),
    "searches": Section(searches.measure, searches.table),
    "one-pod": Section(sweeps.measure, sweeps.table),
    "memory": Section(memory.measure, memory.table),
    "candidates": Section(candidates.measure, candidates.table),
    "planning": Section(planning.measure, planning.table),
    "disruption": Section(disruption.measure, disruption.table),
    "gate": Section(gate.measure, gate.table),
}
GROUPS: Mapping[str, tuple[str, ...]] = {"allocator": ("searches", "one-pod", "memory")}


def main() -> int:
    """Return 0 when everything was measured, 1 if something did not start or became dearer, 130 after Ctrl-C."""
    arguments = _arguments()
    results: dict[str, object] = {"machine": this_machine()}
    try:
        if arguments.against:
            return _compare(arguments, results)
        for name in arguments.only or SECTIONS:
            results[name] = _run(name, arguments)
    except (ControlPlaneError, OracleError, TimeoutError, RuntimeError) as error:
        _say(f"failed: {error}")
        return FAILED
    except KeyboardInterrupt:
        _say("interrupted; what was finished is kept")
        return INTERRUPTED
    finally:
        if arguments.output == "json":
            sys.stdout.write(orjson.dumps(msgspec.to_builtins(results), option=orjson.OPT_INDENT_2).decode() + "\n")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    known = ", ".join((*SECTIONS, *GROUPS))
    parser.add_argument("--only", type=names, default=(), help=f"comma list of {known}")
    parser.add_argument("--against", metavar="COMMIT", help="measure this commit and the tree in turn, and compare")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.add_argument("--no-page", action="store_true", help=f"leave {page.PAGE.name} as it is")
    return parser.parse_args()


def names(text: str) -> tuple[str, ...]:
    """Return the sections that a comma list names, each once; all of them for an empty one."""
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := sorted(set(wanted) - set(SECTIONS) - set(GROUPS)):
        known = ", ".join((*SECTIONS, *GROUPS))
        raise argparse.ArgumentTypeError(f"there is no section {unknown[0]}, only {known}")
    chosen = (section for name in wanted for section in GROUPS.get(name, (name,)))
    return tuple(dict.fromkeys(chosen)) or tuple(SECTIONS)


def _compare(arguments: argparse.Namespace, results: dict[str, object]) -> int:
    found = against.compare(arguments.against, arguments.only or against.USUAL, _say)
    results["against"] = {"commit": arguments.against, "changes": found}
    if arguments.output == "table":
        _show(f"against {arguments.against}", against.table(found, arguments.against))
    worse = against.dearer(found)
    _say(f"{len(found)} measures, {len(worse)} of them more than {against.DEARER_BY:.0%} dearer")
    return FAILED if worse else 0


def _run(name: str, arguments: argparse.Namespace) -> Sequence[Any]:
    section, machine, started = SECTIONS[name], this_machine(), time.monotonic()
    _say(f"{name}: on {machine}")
    measured = section.measure(lambda line: _say(f"{name}: {line}"))
    table = section.table(measured)
    if not arguments.no_page:
        page.write(name, f"{table.markdown()}\n{machine}.\n")
    if arguments.output == "table":
        _show(name, table)
    _say(f"{name}: measured in {time.monotonic() - started:.0f} s")
    return measured


def _show(title: str, table: Table) -> None:
    if not sys.stdout.isatty():
        print(f"{title}:\n\n{table.markdown()}")
        return
    drawn = Drawn(*table.columns, title=title)
    for row in table.rows:
        drawn.add_row(*row)
    Console().print(drawn)


def _say(line: str) -> None:
    print(f"bench: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
