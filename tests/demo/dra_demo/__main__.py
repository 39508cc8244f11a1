"""`make demo`: a control plane, the operator with its own rights, and every kind of pod; `KEEP=1` leaves it running."""

import os
import shlex
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from rich.console import Console

from dra_controlplane.errors import ControlPlaneError
from dra_controlplane.installation import DEVELOPMENT, OPERATOR_NAMESPACE, SCHEDULER_ACCOUNT, install
from dra_controlplane.server import ControlPlane
from dra_controlplane.server import Ending as PlaneEnding
from dra_demo.play import Play
from dra_demo.program import COMMAND, Ending, Operator, ProgramError
from dra_demo.show import Screen

INTERRUPTED = 130
LOOKS = (
    "kubectl get pods -n demo -o wide",
    "kubectl get bindrequests -n demo",
    "kubectl get resourceclaims -n demo",
    "kubectl get resourceslices",
    "kubectl describe pod never-fits -n demo",
    f"{Path(sys.executable).with_name('dra')} explain pod never-fits -n demo",
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
        with screen.working("applying crds/ and the rights of manifests/overlays/development"):
            install(api, DEVELOPMENT)
        account = plane.kubeconfig_for_service_account(OPERATOR_NAMESPACE, SCHEDULER_ACCOUNT)
        operator = Operator(account, plane.folder / "operator.log", Ending.BY_HAND if keeps else Ending.WITH_OWNER)
        stack.enter_context(operator)
        with screen.working(f"starting {shlex.join(COMMAND)}"):
            operator.wait_until_ready()
        stack.callback(screen.say, "  stopping …")
        play = Play(api, operator, screen)
        play.set_up()
        play.run()
        is_true = play.check(plane.client_for_service_account(OPERATOR_NAMESPACE, SCHEDULER_ACCOUNT))
        _say_how_to_look_around(screen, plane, operator, keeps=keeps)
        if keeps:
            stack.pop_all()
    return 0 if is_true else 1


def _say_how_to_look_around(screen: Screen, plane: ControlPlane, operator: Operator, *, keeps: bool) -> None:
    screen.heading("To look around:" if keeps else "To look around, leave it running with make demo KEEP=1, then:")
    if keeps:
        screen.say(f"  export KUBECONFIG={plane.kubeconfig}")
    for line in LOOKS:
        screen.say(f"  {line}")
    if keeps:
        screen.say(f"  tail -f {operator.log}")
        screen.heading("To stop it:")
        screen.say(f"  kill {operator.pid}; {plane.stop_command}")


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
