"""`dra`: the command line, also as `kubectl dra`."""

import argparse
import gc
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TextIO

from dra_simulator.arguments import LATER, parser
from dra_simulator.problems import InputProblem, UnusableInputError

COMMANDS = {
    "simulate": "dra_simulator.commands:run_simulate",
    "check": "dra_simulator.commands:run_check",
    "replay": "dra_simulator.replay:run_replay",
    "explain": "dra_simulator.live:run_explain",
    "devices": "dra_simulator.live:run_devices",
    "claims": "dra_simulator.live:run_claims",
    "nodeclaims": "dra_simulator.nodeclaims:run_nodeclaims",
    "dump": "dra_simulator.live:run_dump",
}
PLUGIN = "kubectl-dra"
UNUSABLE = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        _accept_any_text(stream)
    # A run ends before garbage matters, and looking for it among a whole cluster's objects takes half of the time.
    gc.disable()
    try:
        code = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has seen enough.
        _write_no_more()
        return 0
    except OSError as error:
        _write_no_more()
        message = f"expected an output that can be written: {error.strerror}"
        sys.stderr.write(f"{InputProblem('standard output', 'file', '-', message)}\n")
        return UNUSABLE
    finally:
        gc.enable()
    return code


def _run(argv: Sequence[str]) -> int:
    arguments = parser(_program()).parse_args(argv)
    later = [name for name in LATER if arguments.command == name or getattr(arguments, name, False)]
    if later:
        asked = later[0] if later[0] == arguments.command else f"{arguments.command} --{later[0]}"
        sys.stderr.write(f"{_program()} {asked}: not in this release\n")
        return UNUSABLE
    # Help and mistyped words need not wait for what the commands import.
    module, function = COMMANDS[arguments.command].split(":")
    run: Callable[[argparse.Namespace], int] = getattr(import_module(module), function)
    try:
        return run(arguments)
    except UnusableInputError as error:
        sys.stderr.writelines(f"{problem}\n" for problem in error.problems)
        return UNUSABLE
    except RecursionError:
        # Parameters of drivers are never looked into, so only writing them shows how deep they are.
        sys.stderr.write(f"{InputProblem('input', 'object', '$', 'expected less deep nesting')}\n")
        return UNUSABLE


def _write_no_more() -> None:
    """Let what Python still wants to flush go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _program() -> str:
    return "kubectl dra" if Path(sys.argv[0]).name == PLUGIN else "dra"


def _accept_any_text(stream: TextIO) -> None:
    """Let names that the stream's encoding cannot express come out escaped."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
