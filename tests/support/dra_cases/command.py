"""`dra` run in this process."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from dra_simulator.__main__ import main


class Ended(NamedTuple):
    """How a command ended: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def problems(self) -> list[str]:
        """The lines on standard error."""
        return self.err.splitlines()


def dra(*words: str, text: str = "") -> Ended:
    """Run one command with `text` as its standard input."""
    out, err, standard_input = io.StringIO(), io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(words)
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdin = standard_input
    return Ended(code, out.getvalue(), err.getvalue())
