"""Replaces itself by a program that the kernel kills as soon as its owner is gone, however the owner ended.

Usage: ``python guard.py OWNER_PID PROGRAM ARGUMENT...``. A wrapper, not a ``preexec_fn``, since Python warns about
those in processes with threads. Elsewhere than on Linux only the owner's own clean-up ends the program.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Never returns."""
    owner, program, *arguments = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(owner):
            sys.exit("the owner is gone")
    os.execv(program, [program, *arguments])  # noqa: S606  there is no shell to avoid


if __name__ == "__main__":
    main()
