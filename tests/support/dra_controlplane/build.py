"""Builds etcd and Kubernetes' programs from pinned Go modules, once, into a cache folder.

``DRA_KUBERNETES`` chooses the version (a folder ``v…`` beside this package), ``KUBEBUILDER_ASSETS`` names a folder
whose programs are taken as they are. Only what is missing is built, one program after the other; each appears in the
cache when it is whole. Run as ``python -m dra_controlplane.build``.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dra_controlplane.errors import ControlPlaneError
from dra_controlplane.process import guarded
from dra_controlplane.toolchain import find_or_install_go

DEFAULT_VERSION = "1.37"
HOME = Path(__file__).parents[2] / "controlplane"
PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
}
PROGRESS_SECONDS = 15.0


@dataclass(frozen=True, kw_only=True)
class Programs:
    """Where the four programs are."""

    etcd: Path
    apiserver: Path
    controller_manager: Path
    scheduler: Path


@dataclass(frozen=True, kw_only=True)
class Module:
    """A Go module that pins one version of everything, and where its programs are kept."""

    source: Path
    version: str
    cache: Path


def cache_root() -> Path:
    """The folder for everything that is built once."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dra-scheduler"


def chosen_module() -> Module:
    """The module of the Kubernetes version that ``DRA_KUBERNETES`` asks for.

    Raises:
        ControlPlaneError: there is no such version.
    """
    wanted = os.environ.get("DRA_KUBERNETES") or DEFAULT_VERSION
    source = HOME / f"v{wanted}"
    if not (source / "go.mod").is_file():
        known = ", ".join(sorted(folder.name.removeprefix("v") for folder in HOME.glob("v*")))
        raise ControlPlaneError(f"DRA_KUBERNETES={wanted}: there is no such version here, only {known}")
    pinned = re.search(r"k8s\.io/kubernetes (v\S+)", (source / "go.mod").read_text())
    if pinned is None:
        raise ControlPlaneError(f"{source / 'go.mod'} does not pin k8s.io/kubernetes")
    digest = hashlib.sha256((source / "go.sum").read_bytes()).hexdigest()[:16]
    version = pinned[1]
    return Module(source=source, version=version, cache=cache_root() / f"control-plane-{version}-{digest}")


def find_programs() -> Programs:
    """The programs, none of which is built by this call.

    Raises:
        ControlPlaneError: some are missing.
    """
    module = chosen_module()
    if missing := [name for name in PACKAGES if _present(name, module) is None]:
        raise ControlPlaneError(f"{', '.join(missing)} {module.version} not built yet: run 'make control-plane'")
    return _found(module)


def build_programs() -> Programs:
    """The programs, after building what is missing (about 6 minutes for all on two cores).

    Raises:
        ControlPlaneError: no Go, or a build failed.
    """
    module = chosen_module()
    if all(_present(name, module) for name in PACKAGES):
        return _found(module)
    module.cache.mkdir(parents=True, exist_ok=True)
    with _only_one_builder(module):
        missing = [name for name in PACKAGES if _present(name, module) is None]
        if missing:
            go = find_or_install_go(_needed_go(module), cache_root())
            _say(
                f"building {', '.join(missing)} {module.version} once into {module.cache} (about 6 minutes on 2 cores)"
            )
            for number, name in enumerate(missing, start=1):
                _build(go, module, name, f"{number} of {len(missing)}")
    return _found(module)


def _found(module: Module) -> Programs:
    paths = {name: _present(name, module) or module.cache / name for name in PACKAGES}
    return Programs(
        etcd=paths["etcd"],
        apiserver=paths["kube-apiserver"],
        controller_manager=paths["kube-controller-manager"],
        scheduler=paths["kube-scheduler"],
    )


def _present(name: str, module: Module) -> Path | None:
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    folders = [Path(assets), module.cache] if assets else [module.cache]
    return next((folder / name for folder in folders if os.access(folder / name, os.X_OK)), None)


def _needed_go(module: Module) -> tuple[int, ...]:
    line = re.search(r"^go (\d+)\.(\d+)", (module.source / "go.mod").read_text(), re.MULTILINE)
    return (int(line[1]), int(line[2])) if line else (1, 26)


@contextmanager
def _only_one_builder(module: Module) -> Iterator[None]:
    with (module.cache / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another process is building already, waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(go: Path, module: Module, name: str, position: str) -> None:
    unfinished = module.cache / f".{name}.unfinished"
    stamp = f"-X k8s.io/component-base/version.gitVersion={module.version}"
    command = [*guarded(), str(go), "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-o", str(unfinished)]
    command += ["-ldflags", f"-s -w {stamp}", PACKAGES[name]]
    # No C compiler on a bare machine, and no other tool chain than the one that was found.
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": ""}
    started = time.monotonic()
    _say(f"{name} ({position}) …")
    log = module.cache / f".{name}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=module.source, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            code = _wait_with_progress(process, name, started)
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if code != 0:
        raise ControlPlaneError(f"go build of {name} failed:\n{log.read_text()[-3000:]}")
    shutil.move(unfinished, module.cache / name)
    _say(f"{name} ({position}) built in {time.monotonic() - started:.0f} s")


def _wait_with_progress(process: subprocess.Popen[bytes], name: str, started: float) -> int:
    while True:
        try:
            return process.wait(PROGRESS_SECONDS)
        except subprocess.TimeoutExpired:
            _say(f"{name}: {time.monotonic() - started:.0f} s so far")


def _say(line: str) -> None:
    print(f"control plane: {line}", file=sys.stderr, flush=True)


def main() -> int:
    """Builds what is missing; 0, or 1 with the reason on standard error."""
    try:
        programs = build_programs()
    except ControlPlaneError as error:
        _say(str(error))
        return 1
    except KeyboardInterrupt:
        _say("interrupted; what was finished is kept")
        return 130
    _say(f"{chosen_module().version} is ready in {programs.controller_manager.parent}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
