"""One program of the control plane: started with its own log, killed with its owner."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

GUARD = Path(__file__).with_name("guard.py")
TAIL_BYTES = 3_000


class Component:
    """A running program in a session of its own, so that Ctrl-C reaches its owner first."""

    __slots__ = ("_process", "log", "name")

    def __init__(self, name: str, command: Sequence[str], *, log: Path, guarded: bool = True) -> None:
        self.name = name
        self.log = log
        # -I -S: the guard needs nothing but the standard library, and starts in half the time.
        guard = [sys.executable, "-I", "-S", str(GUARD), str(os.getpid())] if guarded else []
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*guard, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process id, also that of the process group."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether the program has not ended."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Ends the program at once: its port is free and its memory is lost, as in a crash."""
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        """Freezes the program: connections stay open and nobody answers."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets a frozen program go on."""
        self._process.send_signal(signal.SIGCONT)

    def log_tail(self) -> str:
        """The last lines of the log."""
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - TAIL_BYTES))
            return log.read().decode(errors="replace")
