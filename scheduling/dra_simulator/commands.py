"""The commands that work on files: what is read, what is written where, and with which code they end."""

import argparse
import sys

import msgspec

from dra_scheduling.cluster import Cluster
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod
from dra_simulator.checks.everything import check
from dra_simulator.checks.findings import Finding, Severity
from dra_simulator.complete import World, complete
from dra_simulator.explain import Story, explain
from dra_simulator.identity import key_called
from dra_simulator.load import load
from dra_simulator.output import emit
from dra_simulator.problems import Problem, UnusableInputError
from dra_simulator.report import findings_blocks, simulation_blocks, story_blocks
from dra_simulator.result import result_of, story_in_plain_values
from dra_simulator.simulate import Simulation, Whose, simulate
from dra_simulator.tables import Block

DONE, SAYS_NO = 0, 1


def run_simulate(arguments: argparse.Namespace) -> int:
    """Play the scheduler on the input and print what it does. Raises `UnusableInputError`."""
    world = complete(load(arguments.paths), arguments.namespace)
    if world.problems:
        raise UnusableInputError(*world.problems)
    wanted = _wanted_pod(world, arguments.explain, arguments.namespace)
    whose = Whose.EVERYBODYS if arguments.all_pods else Whose.OURS
    stories: list[Story] = []

    def listen(cluster: Cluster, pod: Pod) -> None:
        if pod.key == wanted:
            stories.append(explain(cluster, pod))

    simulation = simulate(world, whose, listen)
    story = _ending(simulation, wanted, stories)
    result = result_of(simulation)
    if story is not None:
        result["explanation"] = story_in_plain_values(story)
    emit(result, lambda: _blocks(simulation, story), arguments.output, sys.stdout)
    _mention_ignored(world)
    return SAYS_NO if arguments.fail_on_pending and simulation.pending else DONE


def run_check(arguments: argparse.Namespace) -> int:
    """Print what is wrong or suspicious in the input. Raises `UnusableInputError` where some of it cannot be read."""
    world = complete(load(arguments.paths), arguments.namespace)
    findings = check(world)
    plain = [msgspec.to_builtins(finding) for finding in findings]
    readable = [finding for finding in findings if finding not in map(Finding.of_problem, world.problems)]
    emit(plain, lambda: findings_blocks(readable), arguments.output, sys.stdout)
    if world.problems:
        raise UnusableInputError(*world.problems)
    _mention_ignored(world)
    return SAYS_NO if any(finding.severity is Severity.ERROR for finding in findings) else DONE


def _wanted_pod(world: World, name: str | None, namespace: str) -> ObjectKey | None:
    if name is None:
        return None
    key = key_called(name, namespace)
    if any(pod.key == key for pod in world.of(Pod)):
        return key
    message = "expected a pod of the input, as NAME or NAMESPACE/NAME"
    raise UnusableInputError(Problem(file="--explain", object=f"Pod {key}", path="-", message=message))


def _ending(simulation: Simulation, wanted: ObjectKey | None, stories: list[Story]) -> Story | None:
    """Return the story with its end; a pod that was not decided has one, too."""
    if wanted is None:
        return None
    if not stories:
        return explain(simulation.cluster, simulation.cluster.placements.pods[wanted])
    node = next((item.node for item in simulation.assignments if item.pod.key == wanted), None)
    return stories[0] if node is None else stories[0].with_outcome(f"goes to node {node}")


def _blocks(simulation: Simulation, story: Story | None) -> list[Block]:
    return simulation_blocks(simulation) + (story_blocks(story) if story is not None else [])


def _mention_ignored(world: World) -> None:
    if world.ignored:
        kinds = ", ".join(f"{count} {kind}" for kind, count in world.ignored.items())
        sys.stderr.write(f"ignored {sum(world.ignored.values())} objects of unknown kinds: {kinds}\n")
