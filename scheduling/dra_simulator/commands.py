"""The commands that work on files: what is read, what is written where, and with which code they end."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from dra_scheduling.model.pods import Pod
from dra_simulator.check.everything import check
from dra_simulator.check.findings import Finding, Severity
from dra_simulator.complete import Kept, World, complete
from dra_simulator.explain.explain_json import story_in_plain_values
from dra_simulator.explain.explain_pod import Listener, explain
from dra_simulator.explain.explain_text import story_blocks
from dra_simulator.identity import pod_called
from dra_simulator.launch.without_nodes import what_if, what_if_blocks, what_if_in_plain_values
from dra_simulator.load import load
from dra_simulator.output import emit
from dra_simulator.problems import InputProblem, UnusableInputError
from dra_simulator.report import counted, findings_blocks, simulation_blocks
from dra_simulator.result import result_of
from dra_simulator.simulate import Nodes, Whose, cluster_of, simulate
from dra_simulator.trace import Trace

DONE, SAYS_NO = 0, 1


def run_simulate(arguments: argparse.Namespace) -> int:
    """Play the scheduler on the input and print what it does.

    Raises `UnusableInputError` where some of the input cannot be used, once the rest has been scheduled without it.
    """
    world = complete(load(arguments.paths), arguments.namespace, arguments.now)
    if world.problems and not world.objects:
        raise UnusableInputError(*world.problems)
    listener = _listener(world, arguments.explain, arguments.namespace)
    with _trace(arguments.trace) as trace:
        watchers = [watcher for watcher in (listener, trace) if watcher is not None]
        whose = Whose.EVERYBODYS if arguments.all_pods else Whose.OURS
        nodes = Nodes.LAUNCHED if arguments.launch else Nodes.PLANNED
        simulation = simulate(world, whose, watchers, arguments.features, nodes, arguments.profile)
    result = result_of(simulation)
    blocks = simulation_blocks(simulation)
    is_stuck = bool(simulation.pending)
    if arguments.without_node:
        before = cluster_of(world, whose, arguments.features, arguments.profile)
        found = what_if(before, arguments.without_node, world.now)
        result["withoutNodes"] = what_if_in_plain_values(found)
        blocks += what_if_blocks(found, before)
        is_stuck |= not found.is_possible
    if listener is not None:
        story = listener.story or explain(simulation.cluster, listener.pod)
        result["explanation"] = story_in_plain_values(story)
        blocks += story_blocks(story)
    emit(result, blocks, arguments.output, sys.stdout)
    if world.problems:
        raise UnusableInputError(*world.problems)
    _mention_ignored(world)
    return SAYS_NO if arguments.fail_on_pending and is_stuck else DONE


def run_check(arguments: argparse.Namespace) -> int:
    """Print what is wrong or suspicious in the input. Raises `UnusableInputError` where some of it cannot be read."""
    world = complete(load(arguments.paths), arguments.namespace, kept=Kept.EVERYTHING)
    findings = check(world, arguments.features)
    plain = [msgspec.to_builtins(finding) for finding in findings]
    # Problems are on standard error anyway, and nobody wants to read them twice.
    blocks = findings_blocks(findings, set(map(Finding.of_problem, world.problems)))
    emit(plain, blocks, arguments.output, sys.stdout)
    if world.problems:
        raise UnusableInputError(*world.problems)
    _mention_ignored(world)
    return SAYS_NO if any(finding.severity is Severity.ERROR for finding in findings) else DONE


def _listener(world: World, name: str | None, namespace: str) -> Listener | None:
    if name is None:
        return None
    try:
        return Listener(pod_called(name, world.of(Pod), namespace, "--explain"))
    except UnusableInputError as error:
        # The pod may be missing because it cannot be read.
        raise UnusableInputError(*world.problems, *error.problems) from error


@contextmanager
def _trace(file: str | None) -> Iterator[Trace | None]:
    if file is None:
        yield None
        return
    try:
        with Path(file).open("w", encoding="utf-8", errors="backslashreplace") as stream:
            yield Trace(stream)
    except OSError as error:
        message = f"expected a file that can be written: {error.strerror}"
        raise UnusableInputError(InputProblem("--trace", file, "-", message)) from error


def _mention_ignored(world: World) -> None:
    if world.ignored:
        kinds = ", ".join(f"{count} {kind}" for kind, count in world.ignored.items())
        sys.stderr.write(f"ignored {counted(sum(world.ignored.values()), 'object')} of unknown kinds: {kinds}\n")
