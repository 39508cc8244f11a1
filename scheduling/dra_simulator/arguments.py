"""The words of the command line."""

import argparse
import sys
from collections.abc import Sequence

from dra_scheduling.basics.features import DEFAULT_FEATURES, Features, features_named

SCORE_PROFILES = ("pack", "kube-scheduler")
"""Named here, since nobody waits for the scheduler who asks for help."""
SIMULATE_EXAMPLES = """\
examples:
  dra simulate manifests/samples                   a folder, with everything in it
  kubectl get nodes,namespaces,pods,resourceclaims,resourceclaimtemplates,resourceslices,deviceclasses -A -o yaml \\
    | dra simulate -
  dra dump > cluster.yaml && dra simulate cluster.yaml new-job.yaml --explain new-job-0
  dra simulate world.yaml -o json --fail-on-pending
  dra simulate nodepools.yaml instancetypes/ pods.yaml --launch      which nodes would be made, and what runs there
  dra dump | dra simulate - --without-node node-7                    what if this node went away

exit codes: 0 done; 1 a pod stays pending and --fail-on-pending is given; 2 input cannot be used
"""
CHECK_EXAMPLES = """\
examples:
  dra check manifests/samples
  dra check classes.yaml slices.yaml claims.yaml -o json

exit codes: 0 no error found (warnings do not count); 1 an error found; 2 input cannot be used
"""
LIVE_EPILOG = "Reads the cluster of the kubeconfig or, inside of a cluster, of the service account; changes nothing."
REPLAY_EXAMPLES = """\
examples:
  DRA_RECORD=recordings dra-operator               the operator records what it observes and decides
  dra replay recordings/*.jsonl

exit codes: 0 every decision is the same; 1 a decision differs; 2 a file cannot be used
"""
LATER = ("evict", "queues")
"""Words of parts that are not built yet: they are not in the help, and end with 2."""


class _Version(argparse.Action):
    """Looks the version up only when it is asked for: the search among installed packages takes a while."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002 - argparse's signature
        values: str | Sequence[object] | None,  # noqa: ARG002 - argparse's signature
        option_string: str | None = None,  # noqa: ARG002 - argparse's signature
    ) -> None:
        from importlib.metadata import version  # noqa: PLC0415

        sys.stdout.write(f"{parser.prog} {version('dra-scheduler')}\n")
        parser.exit()


def parser(program: str) -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog=program,
        description="Plays the scheduler of dra-scheduler on files, checks DRA objects, and explains a live cluster.",
    )
    top.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_simulate(commands)
    _add_check(commands)
    _add_replay(commands)
    _add_live(commands)
    return top


def _add_simulate(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    simulate = commands.add_parser(
        "simulate",
        help="play the scheduler on files",
        description="Plays the scheduler on Kubernetes objects, with no cluster, and shows what it would do.",
        epilog=SIMULATE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_input(simulate)
    _add_gates(simulate)
    _add_now(simulate, "that of the dump, or else just after the last object was created")
    simulate.add_argument(
        "--score-profile",
        dest="profile",
        choices=SCORE_PROFILES,
        default=SCORE_PROFILES[0],
        help="how to choose between nodes (default: pack, as the operator's DRA_SCORE_PROFILE)",
    )
    simulate.add_argument("--all-pods", action="store_true", help="schedule the pods of other schedulers, too")
    simulate.add_argument("--explain", metavar="POD", help="tell the whole story of one pod (NAME or NAMESPACE/NAME)")
    simulate.add_argument("--trace", metavar="FILE", help="write each step of the search to a file, as JSON lines")
    simulate.add_argument("--fail-on-pending", action="store_true", help="exit with 1 if a pod stays pending")
    simulate.add_argument(
        "--launch",
        action="store_true",
        help="simulate launching the planned NodeClaims, then reschedule until the result is stable",
    )
    simulate.add_argument(
        "--without-node",
        metavar="NAME",
        action="append",
        default=[],
        help="tell what would become of the pods of this node if it went away (may be repeated)",
    )
    simulate.add_argument("--evict", action=argparse.BooleanOptionalAction, default=False, help=argparse.SUPPRESS)


def _add_check(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    check = commands.add_parser(
        "check",
        help="say what is wrong or suspicious in DRA objects",
        description="Says what is wrong or suspicious in DeviceClasses, claims, templates, slices and pods.",
        epilog=CHECK_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_input(check)
    _add_gates(check)


def _add_replay(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    replay = commands.add_parser(
        "replay",
        help="replay a recording of the operator and compare its decisions",
        description="Replays recordings of the operator (DRA_RECORD) and says where a decision differs.",
        epilog=REPLAY_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    replay.add_argument("paths", metavar="FILE", nargs="+", help="a recording, as JSON lines or compressed (.gz)")
    _add_output(replay)


def _add_live(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    explain = commands.add_parser(
        "explain", help="tell why a pod of the cluster waits, node by node", epilog=LIVE_EPILOG
    )
    explain.add_argument("what", choices=["pod"], help="the kind of object")
    explain.add_argument("name", metavar="NAME", help="its name, or NAMESPACE/NAME")
    _add_gates(explain)
    devices = commands.add_parser("devices", help="list the cluster's devices and who has them", epilog=LIVE_EPILOG)
    claims = commands.add_parser("claims", help="list the cluster's claims and what they have", epilog=LIVE_EPILOG)
    dump = commands.add_parser("dump", help="print everything a cycle sees, for dra simulate", epilog=LIVE_EPILOG)
    queues = commands.add_parser("queues", epilog=LIVE_EPILOG)
    nodeclaims = commands.add_parser(
        "nodeclaims", help="list NodeClaims with what each waits for, or tell all about one", epilog=LIVE_EPILOG
    )
    nodeclaims.add_argument("name", metavar="NAME", nargs="?", help="tell which of its instance types serve its pods")
    nodeclaims.add_argument(
        "-f",
        "--file",
        dest="paths",
        metavar="PATH",
        action="append",
        default=[],
        help="read files, folders or standard input (-) in place of a cluster (may be repeated)",
    )
    nodeclaims.add_argument("-n", "--namespace", help="list only those that a pod of this namespace waits for")
    _add_gates(nodeclaims)
    _add_now(nodeclaims, "now; for files that of the dump, or else just after the last object was created")
    _add_output(nodeclaims)
    for command in (explain, devices, claims, queues):
        _add_output(command)
        command.add_argument("-n", "--namespace", help="the namespace to look at")
    dump.add_argument("-o", "--output", choices=["yaml", "json"], default="yaml", help="the format (default: yaml)")
    for command in (explain, devices, claims, dump, queues, nodeclaims):
        command.add_argument("--context", help="the context of the kubeconfig (default: the current one)")


def _add_input(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "paths", metavar="PATH", nargs="+", help="a file, a folder (recursively), or - for standard input"
    )
    command.add_argument(
        "-n", "--namespace", default="default", help="the namespace of objects that name none (default: default)"
    )
    _add_output(command)


def _add_gates(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--feature-gates",
        dest="features",
        metavar="GATE=true,…",
        type=_features,
        default=DEFAULT_FEATURES,
        help="features of DRA to switch on or off, by the names of Kubernetes (default: as the operator's)",
    )


def _add_now(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument(
        "--now",
        metavar="TIME",
        type=_moment,
        help=f"the time, for instance types that rest and for ages, as RFC 3339 has it (default: {default})",
    )


def _moment(text: str) -> str:
    # Where no time is given nobody waits for what reads files.
    from dra_simulator.load import EXPECTED_TIME, moment_of  # noqa: PLC0415

    found = moment_of(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{EXPECTED_TIME}, got {text!r}")
    return found


def _features(text: str) -> Features:
    try:
        return features_named(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _add_output(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-o",
        "--output",
        choices=["table", "json", "yaml"],
        help="the format (default: table on a terminal, otherwise json)",
    )
