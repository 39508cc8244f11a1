"""Kubeconfig files that need no other file: certificates and tokens are inside."""

import base64
from pathlib import Path
from typing import Any

import yaml


def write_for_certificate(path: Path, *, url: str, ca: Path, certificate: Path, key: Path) -> Path:
    """A kubeconfig that logs in by client certificate."""
    user = {"client-certificate-data": _encoded(certificate), "client-key-data": _encoded(key)}
    return _write(path, url, ca, user)


def write_for_token(path: Path, *, url: str, ca: Path, token: str) -> Path:
    """A kubeconfig that logs in by bearer token."""
    return _write(path, url, ca, {"token": token})


def _write(path: Path, url: str, ca: Path, user: dict[str, str]) -> Path:
    content: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "local", "cluster": {"server": url, "certificate-authority-data": _encoded(ca)}}],
        "users": [{"name": "local", "user": user}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": "local"}}],
        "current-context": "local",
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
