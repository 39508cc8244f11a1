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

from dra_bench import binds, decisions, page, startup
from dra_bench.machine import this_machine
from dra_bench.report import Say, Table
from dra_controlplane.errors import ControlPlaneError

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
}


def main() -> int:
    """Return 0 when everything was measured, 1 if something did not start, 130 after Ctrl-C."""
    arguments = _arguments()
    results: dict[str, object] = {"machine": this_machine()}
    try:
        for name in arguments.only:
            results[name] = _run(name, arguments)
    except (ControlPlaneError, TimeoutError, RuntimeError) as error:
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
    parser.add_argument("--only", type=_names, default=tuple(SECTIONS), help=f"comma list of {', '.join(SECTIONS)}")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.add_argument("--no-page", action="store_true", help=f"leave {page.PAGE.name} as it is")
    return parser.parse_args()


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if unknown := sorted(set(names) - set(SECTIONS)):
        raise argparse.ArgumentTypeError(f"there is no section {unknown[0]}, only {', '.join(SECTIONS)}")
    return names or tuple(SECTIONS)


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
    drawn = Drawn(*table.columns, title=title)
    for row in table.rows:
        drawn.add_row(*row)
    Console().print(drawn)


def _say(line: str) -> None:
    print(f"bench: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
