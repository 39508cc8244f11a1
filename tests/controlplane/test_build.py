import hashlib
from pathlib import Path

import pytest

from dra_controlplane import toolchain
from dra_controlplane.build import PACKAGES, build_programs, find_programs
from dra_controlplane.errors import ControlPlaneError


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.delenv("DRA_KUBERNETES", raising=False)


def program(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_without_a_build_the_command_is_named() -> None:
    with pytest.raises(ControlPlaneError, match=r"etcd, kube-apiserver, .* v1\.37\.\d+ not built yet: run 'make"):
        find_programs()


def test_an_unknown_version_is_refused_with_those_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRA_KUBERNETES", "1.12")

    with pytest.raises(ControlPlaneError, match=r"DRA_KUBERNETES=1\.12: .* only 1\.36, 1\.37"):
        build_programs()


def test_assets_are_taken_and_nothing_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PACKAGES:
        program(tmp_path / "assets" / name)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))

    assert build_programs().apiserver == tmp_path / "assets" / "kube-apiserver"


def test_what_the_assets_lack_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("etcd", "kube-apiserver"):
        program(tmp_path / "assets" / name)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))

    with pytest.raises(ControlPlaneError, match=r"^kube-controller-manager, kube-scheduler v"):
        find_programs()


def test_a_failed_build_shows_what_the_compiler_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(
        tmp_path / "bin" / "go", 'test "$1" = version && echo go version go1.99.0 || { echo no space left; exit 1; }'
    )
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")

    with pytest.raises(ControlPlaneError, match=r"go build of etcd failed:\nno space left"):
        build_programs()


def test_go_on_path_is_taken_when_it_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = program(tmp_path / "bin" / "go", "echo go version go1.26.1 linux/amd64")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")

    assert toolchain.find_or_install_go((1, 26), tmp_path) == go


def test_an_old_go_on_path_gives_way_to_the_installed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "bin" / "go", "echo go version go1.9.7 linux/amd64")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    digest = hashlib.sha256(toolchain.LOCK.read_bytes()).hexdigest()[:16]
    installed = program(tmp_path / f"go-{digest}" / "go" / "bin" / "go")

    assert toolchain.find_or_install_go((1, 26), tmp_path) == installed
