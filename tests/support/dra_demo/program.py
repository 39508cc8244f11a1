"""The operator as a developer runs it: `kopf run` with a kubeconfig, in a process of its own."""

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from enum import Enum, auto
from pathlib import Path
from typing import Self

from dra_controlplane.process import guarded
from dra_controlplane.server import free_port
from dra_controlplane.waiting import wait_until

READY_SECONDS = 60.0
STOP_SECONDS = 10.0
TAIL_LINES = 15
COMMAND = ("kopf", "run", "-m", "dra_operator", "--all-namespaces", "--standalone")


class ProgramError(Exception):
    """The operator ended, or was not ready in time; with the end of its log."""


class Ending(Enum):
    """Who ends the operator."""

    WITH_OWNER = auto()
    BY_HAND = auto()


class Operator:
    """Runs while the context is open. `account` is the kubeconfig that it logs in with, `log` the file it writes to.

    `settings` are environment variables `DRA_…`.
    """

    def __init__(self, account: Path, log: Path, ending: Ending, settings: Mapping[str, str]) -> None:
        self.log = log
        self._settings = settings
        self.address = f"127.0.0.1:{free_port()}"
        self._account = account
        self._guard = guarded() if ending is Ending.WITH_OWNER else []
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # Without the variables that would make a pod's own service account win over the kubeconfig.
        inherited = {
            key: value
            for key, value in os.environ.items()
            if key == "DRA_RECORD" or not key.startswith(("DRA_", "KUBERNETES_"))
        }
        own = {"KUBECONFIG": str(self._account), "DRA_HTTP_ADDRESS": self.address, **self._settings}
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                [*self._guard, sys.executable, "-m", *COMMAND],
                env={**inherited, **own},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._running().pid

    def wait_until_ready(self) -> None:
        """Return when `/readyz` says that every kind was listed. Raises `ProgramError`."""
        try:
            wait_until(self._is_ready, "the operator to be ready", seconds=READY_SECONDS)
        except TimeoutError as error:
            raise ProgramError(f"{error}; {self._end_of_log()}") from error

    def check(self) -> None:
        """Raise `ProgramError` if the operator has ended."""
        code = self._running().poll()
        if code is not None:
            raise ProgramError(f"the operator ended with {code}; {self._end_of_log()}")

    def stop(self) -> int | None:
        """End the operator as Kubernetes does, by SIGTERM first; return its exit code, None if it never ran."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.send_signal(signal.SIGTERM)
        try:
            return process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise ProgramError("the operator was not started")
        return self._process

    def _is_ready(self) -> bool:
        self.check()
        try:
            with urllib.request.urlopen(f"http://{self.address}/readyz", timeout=1.0) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _end_of_log(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        return "\n".join(("the end of its log:", *lines))
