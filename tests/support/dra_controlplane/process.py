"""One program of the control plane: started with its own log, killed with its owner."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

GUARD = Path(__file__).with_name("guard.py")
TAIL_BYTES = 3_000


def guarded() -> list[str]:
    """What to put before a command, so that it ends with this thread of this process."""
    # -I -S: the guard needs nothing but the standard library, and starts in half the time.
    return [sys.executable, "-I", "-S", str(GUARD), str(os.getpid())]


class Component:
    """A running program in a session of its own, so that Ctrl-C reaches its owner first."""

    __slots__ = ("_process", "log", "name")

    def __init__(self, name: str, command: Sequence[str], *, log: Path, lock: int) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                # Whoever lives in the folder keeps it from being removed as abandoned.
                pass_fds=(lock,),
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
