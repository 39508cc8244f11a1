import os
import subprocess
import sys
from pathlib import Path

import pytest

BY_PROGRAM = ("-m", "dra_operator")
BY_KOPF = ("-m", "kopf", "run", "-m", "dra_operator")
CASES = {
    "without a kubeconfig": ({"KUBECONFIG": ""}, 1, "no service account and no kubeconfig"),
    "with a kubeconfig that is no YAML": ({"KUBECONFIG": "broken"}, 1, "the kubeconfig cannot be used"),
    "with an unknown gate": (
        {"DRA_FEATURE_GATES": "DRAMagic=true"},
        2,
        "unknown feature gate DRAMagic, expected one of",
    ),
    "with a setting that cannot be used": ({"DRA_ROLES": "janitor"}, 2, "DRA_ROLES=janitor: expected a comma list"),
}


def start(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "broken").write_text("clusters: [")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("DRA_", "KUBE"))}
    return subprocess.run(
        [sys.executable, *command],
        env={**inherited, "HOME": str(folder), **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("command", [BY_PROGRAM, (*BY_KOPF, "--all-namespaces")], ids=["dra-operator", "kopf run"])
@pytest.mark.parametrize(("environment", "code", "reason"), CASES.values(), ids=CASES)
def test_a_start_that_fails_says_why_in_one_line(
    tmp_path: Path, command: tuple[str, ...], environment: dict[str, str], code: int, reason: str
) -> None:
    failed = start(tmp_path, *command, **environment)

    assert (failed.returncode, failed.stdout) == (code, "")
    assert reason in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


def test_an_operator_of_one_namespace_is_refused(tmp_path: Path) -> None:
    refused = start(tmp_path, *BY_KOPF, "--namespace", "default")

    assert refused.returncode == 2
    assert "start it with --all-namespaces" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
