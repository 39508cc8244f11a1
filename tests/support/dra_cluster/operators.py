"""The operator as a process of its own, which tests start, ask, stop and kill."""

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self

import yaml

from dra_cluster.proxy import Proxy
from dra_controlplane.client import Json
from dra_controlplane.installation import OPERATOR_NAMESPACE
from dra_controlplane.kubeconfig import write_for_token
from dra_controlplane.process import guarded
from dra_controlplane.server import ControlPlane, free_port
from dra_controlplane.waiting import wait_until
from dra_scheduling.model.kinds import REGISTRY

BY_PROGRAM = (sys.executable, "-m", "dra_operator")
BY_KOPF = (sys.executable, "-m", "kopf", "run", "-m", "dra_operator", "--all-namespaces", "--standalone")
DEFAULT_ROLES = "scheduler,binder,nodeclaims"
READY_SECONDS = 90.0
ENDS_SECONDS = 90.0
REPORTED_BYTES = 20_000


class RunningOperator:
    """One replica. Its log is kept over restarts; its address and settings stay the same."""

    def __init__(
        self,
        name: str,
        *,
        kubeconfig: Path,
        folder: Path,
        settings: Mapping[str, str],
        command: Sequence[str] = BY_PROGRAM,
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self.kubeconfig = kubeconfig
        self._command = tuple(command)
        self._port = free_port()
        self._settings = dict(settings)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether the process has been started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._running().pid

    def start(self) -> None:
        """Starts the process without waiting for it."""
        environment = {
            key: value
            for key, value in os.environ.items()
            if key == "DRA_RECORD" or not key.startswith(("DRA_", "KUBE"))
        }
        environment |= {
            "KUBECONFIG": str(self.kubeconfig),
            "DRA_HTTP_ADDRESS": f"127.0.0.1:{self._port}",
            "DRA_LOG_FORMAT": "json",
            "DRA_LOG_LEVEL": "debug",
            "DRA_IDENTITY": self.name,
            **self._settings,
        }
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*guarded(), *self._command],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_ready(self) -> None:
        """Waits until /readyz answers 200.

        Raises:
            TimeoutError: it did not in time, or the process ended; with the end of the log.
        """

        def is_ready() -> bool:
            if not self.is_running:
                raise TimeoutError(f"{self.name} ended before it was ready:\n{self.log_tail()}")
            return self.ask("/readyz")[0] == http.client.OK

        try:
            wait_until(is_ready, f"{self.name} to be ready", seconds=READY_SECONDS)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.ask('/readyz')}\n{self.log_tail()}") from None

    def run(self) -> None:
        """Starts the process unless it runs, and waits until it is ready."""
        if not self.is_running:
            self.start()
        self.wait_ready()

    def kill(self) -> None:
        """Ends the process as a crash would; nothing happens to one that has ended."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def terminate(self) -> tuple[int, float]:
        """Asks the process to end; its exit code and how many seconds it took."""
        process = self._running()
        started = time.monotonic()
        process.send_signal(signal.SIGTERM)
        return process.wait(timeout=60), time.monotonic() - started

    def wait_end(self) -> int:
        """Waits until the process ends by itself; its exit code."""
        return self._running().wait(timeout=ENDS_SECONDS)

    def pause(self) -> None:
        """Freezes the process."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets a frozen process go on."""
        self._running().send_signal(signal.SIGCONT)

    def ask(self, path: str) -> tuple[int, str]:
        """Status and text of one of the three paths; 0 where nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error)
        finally:
            connection.close()

    def metric(self, name: str) -> float:
        """The value of a metric, its labels in braces as /metrics writes them; 0 where there is none."""
        for line in self.ask("/metrics")[1].splitlines():
            if line.startswith(f"{name} "):
                return float(line.rsplit(" ", 1)[1])
        return 0.0

    def wait_seen(self, *objects: Json) -> None:
        """Waits until the process knows these objects as they are here, and whatever happened to their kinds before.

        It never hears of kinds that its roles do not watch. Kinds are watched apart: it may hear of a pod first, and of
        the node that was there before it later.
        """
        for one in objects:
            wait_until(partial(self._has_seen, one), f"{self.name} to see {one['kind']} {one['metadata']['name']}")

    def log_size(self) -> int:
        """How many bytes the log has by now."""
        return self.log.stat().st_size if self.log.exists() else 0

    def log_tail(self, since: int = 0, most: int = 6_000) -> str:
        """The end of the log, as far as it was written after a size given."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as log:
            log.seek(max(since, self.log_size() - most))
            return log.read().decode(errors="replace")

    def _has_seen(self, one: Json) -> bool:
        watched = {
            kind.name
            for kind in REGISTRY
            if kind.roles & set(self._settings.get("DRA_ROLES", DEFAULT_ROLES).split(","))
        }
        if one["kind"] not in watched:
            return True
        resource = f"{one['kind'].lower()}{'es' if one['kind'].endswith('s') else 's'}"
        return self.metric(f'dra_scheduler_watch_version{{resource="{resource}"}}') >= int(
            one["metadata"]["resourceVersion"]
        )

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError(f"{self.name} was never started")
        return self._process


class Operators:
    """All the processes of a session, so that none outlives it and every log can be shown."""

    def __init__(self, plane: ControlPlane, proxy: Proxy) -> None:
        self._plane = plane
        self._proxy = proxy
        self._operators: dict[str, RunningOperator] = {}
        self._begun: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for operator in self._operators.values():
            operator.kill()

    def add(
        self, name: str, *, roles: str, account: str, command: Sequence[str] = BY_PROGRAM, **settings: str
    ) -> RunningOperator:
        """A replica that is not started yet, with the rights of a service account; settings without their prefix."""
        # Tests reuse the names of devices, and say which one it is that a pod gets.
        given = {"DRA_ROLES": roles, "DRA_LEADER_ELECT": "false", "DRA_COOLDOWN_SECONDS": "0"}
        operator = RunningOperator(
            name,
            kubeconfig=_login(self._plane, self._proxy, account),
            folder=self._plane.folder,
            settings=given | {f"DRA_{key.upper()}": value for key, value in settings.items()},
            command=command,
        )
        self._operators[name] = operator
        return operator

    def begin_logs(self) -> None:
        """Lets :meth:`logs` begin here."""
        self._begun = {name: operator.log_size() for name, operator in self._operators.items()}

    def logs(self) -> Iterator[tuple[str, str]]:
        """Name and log of every replica that said anything."""
        for name, operator in self._operators.items():
            text = operator.log_tail(since=self._begun.get(name, 0), most=REPORTED_BYTES)
            if text:
                yield name, text


def run_all(*operators: RunningOperator) -> None:
    """Starts what does not run, wakes what is paused, and waits until all are ready."""
    for operator in operators:
        if operator.is_running:
            operator.resume()
        else:
            operator.start()
    for operator in operators:
        operator.wait_ready()


def _login(plane: ControlPlane, proxy: Proxy, account: str) -> Path:
    """A kubeconfig of a service account that reaches the server by way of the proxy."""
    direct = plane.kubeconfig_for_service_account(OPERATOR_NAMESPACE, account)
    token = yaml.safe_load(direct.read_text())["users"][0]["user"]["token"]
    return write_for_token(plane.folder / f"{account}-by-proxy.kubeconfig", url=proxy.url, ca=proxy.ca, token=token)
