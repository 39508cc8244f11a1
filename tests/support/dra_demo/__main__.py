"""`make demo`: a control plane, the operator with its own rights, every kind of pod, and a node made for one.

`KEEP=1` leaves it running.
"""

import os
import shlex
import signal
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from rich.console import Console

from dra_controlplane.errors import ControlPlaneError
from dra_controlplane.installation import (
    DEVELOPMENT,
    KWOK,
    KWOK_ACCOUNT,
    OPERATOR_NAMESPACE,
    SCHEDULER_ACCOUNT,
    apply_rights,
    install,
)
from dra_controlplane.server import ControlPlane
from dra_controlplane.server import Ending as PlaneEnding
from dra_demo.newnode import NewNode
from dra_demo.play import Play
from dra_demo.program import COMMAND, Ending, Operator, ProgramError
from dra_demo.show import Screen

INTERRUPTED = 130
# Nodes that are empty go sooner than people would have it in a cluster.
SETTINGS = {"DRA_DISRUPTION_INTERVAL_SECONDS": "1"}
PROVIDER_SETTINGS = {"DRA_ROLES": "kwok"}
LOOKS = (
    "kubectl get pods -n demo -o wide",
    "kubectl get bindrequests -n demo",
    "kubectl get resourceclaims -n demo",
    "kubectl get resourceslices",
    "kubectl describe pod never-fits -n demo",
    f"{Path(sys.executable).with_name('dra')} explain pod never-fits -n demo",
    "kubectl get nodepools,instancetypes",
    "kubectl apply --server-side --force-conflicts -f manifests/samples/new-node.yaml",
    "kubectl get nodeclaims --watch",
)


def main() -> int:
    """Return 0 if everything that was shown is true, 1 if not or if something did not start, 130 after Ctrl-C."""
    # A terminal without these letters shows question marks instead of ending the demo; a pipe gets lines at once.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace", line_buffering=True)  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, _interrupt)
    screen = Screen(Console())
    try:
        return _run(screen, keeps=os.environ.get("KEEP", "") not in {"", "0"})
    except (ControlPlaneError, ProgramError) as error:
        screen.say(f"✗ {error}")
        return 1
    except KeyboardInterrupt:
        screen.say("interrupted; everything that was started has been stopped")
        return INTERRUPTED


def _run(screen: Screen, *, keeps: bool) -> int:
    with ExitStack() as stack:
        plane = ControlPlane(ending=PlaneEnding.BY_HAND if keeps else PlaneEnding.WITH_OWNER)
        stack.callback(plane.stop)
        with screen.working("starting etcd, kube-apiserver and kube-controller-manager"):
            plane.start()
        api = plane.client()
        screen.say(f"  Kubernetes {api.request('GET', '/version')['gitVersion']}, export KUBECONFIG={plane.kubeconfig}")
        with screen.working("applying crds/ and the rights of manifests/overlays/development and kwok"):
            install(api, DEVELOPMENT)
            apply_rights(api, KWOK)
        operator, provider = (
            stack.enter_context(_program(plane, *which, keeps=keeps))
            for which in ((SCHEDULER_ACCOUNT, SETTINGS), (KWOK_ACCOUNT, PROVIDER_SETTINGS))
        )
        with screen.working(f"starting {shlex.join(COMMAND)}, and once more as the provider of machines (kwok)"):
            operator.wait_until_ready()
            provider.wait_until_ready()
        stack.callback(screen.say, "  stopping …")
        play = Play(api, operator, screen)
        play.set_up()
        play.run()
        is_true = play.check(plane.client_for_service_account(OPERATOR_NAMESPACE, SCHEDULER_ACCOUNT))
        is_true = NewNode(api, plane.kubeconfig, (operator, provider), screen).run() and is_true
        _say_how_to_look_around(screen, plane, (operator, provider), keeps=keeps)
        if keeps:
            stack.pop_all()
    return 0 if is_true else 1


def _program(plane: ControlPlane, account: str, settings: Mapping[str, str], *, keeps: bool) -> Operator:
    kubeconfig = plane.kubeconfig_for_service_account(OPERATOR_NAMESPACE, account)
    ending = Ending.BY_HAND if keeps else Ending.WITH_OWNER
    return Operator(kubeconfig, plane.folder / f"{account}.log", ending, settings)


def _say_how_to_look_around(
    screen: Screen, plane: ControlPlane, operators: tuple[Operator, ...], *, keeps: bool
) -> None:
    screen.heading("To look around:" if keeps else "To look around, leave it running with make demo KEEP=1, then:")
    if keeps:
        screen.say(f"  export KUBECONFIG={plane.kubeconfig}")
    for line in LOOKS:
        screen.say(f"  {line}")
    if keeps:
        screen.say(f"  tail -f {' '.join(str(operator.log) for operator in operators)}")
        screen.heading("To stop it:")
        screen.say(f"  kill {' '.join(str(operator.pid) for operator in operators)}; {plane.stop_command}")


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
