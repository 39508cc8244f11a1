"""Builds the Go program around Kubernetes' allocator, once, into the folder where the control plane is kept too.

Run as ``python -m dra_oracle.build``.
"""

import fcntl
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from dra_controlplane.build import cache_root
from dra_controlplane.errors import ControlPlaneError
from dra_controlplane.process import guarded
from dra_controlplane.toolchain import find_or_install_go

SOURCE = Path(__file__).parents[2] / "oracle/go"
NAME = "dra-oracle"
LIMIT_SECONDS = 900


class OracleError(Exception):
    """The Go program cannot be built or does not answer; the message says why."""


class GoMissingError(OracleError):
    """There is no Go here, and none could be installed."""


def allocator_version(source: Path = SOURCE) -> str:
    """The version of Kubernetes' allocator that is asked."""
    pinned = re.search(r"k8s\.io/dynamic-resource-allocation (v\S+)", (source / "go.mod").read_text())
    if pinned is None:
        raise OracleError(f"{source / 'go.mod'} does not pin k8s.io/dynamic-resource-allocation")
    return pinned[1]


def build_program(source: Path = SOURCE) -> Path:
    """The program, built if its sources were never built before (half a minute on two cores, more with a cold cache).

    Raises:
        GoMissingError: no Go.
        OracleError: the build failed.
    """
    folder = cache_root() / f"oracle-{allocator_version(source)}-{_digest(source)}"
    program = folder / NAME
    if os.access(program, os.X_OK):
        return program
    try:
        go = find_or_install_go(_needed_go(source), cache_root())
    except ControlPlaneError as error:
        raise GoMissingError(str(error)) from error
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _build(go, source, program)
    return program


def _build(go: Path, source: Path, program: Path) -> None:
    print(
        f"oracle: building {NAME} {allocator_version(source)} once into {program.parent}", file=sys.stderr, flush=True
    )
    unfinished = program.with_name(f".{NAME}.unfinished")
    command = [*guarded(), str(go), "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-o", str(unfinished)]
    # No C compiler on a bare machine, and no other tool chain than the one that was found.
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""}
    try:
        answer = subprocess.run(
            [*command, "-ldflags", "-s -w", "."],
            cwd=source,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise OracleError(f"go build of {NAME} took more than {LIMIT_SECONDS} s") from error
    if answer.returncode != 0:
        raise OracleError(f"go build of {NAME} failed:\n{answer.stderr[-3000:]}")
    unfinished.rename(program)


def _digest(source: Path) -> str:
    content = hashlib.sha256()
    for path in sorted((*source.glob("*.go"), *source.glob("go.*"))):
        content.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return content.hexdigest()[:16]


def _needed_go(source: Path) -> tuple[int, ...]:
    line = re.search(r"^go (\d+)\.(\d+)", (source / "go.mod").read_text(), re.MULTILINE)
    return (int(line[1]), int(line[2])) if line else (1, 26)


if __name__ == "__main__":
    print(build_program())
