import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "support"), "KEEP": ""}
COMMAND = [sys.executable, "-m", "dra_demo"]

pytestmark = [pytest.mark.controlplane, pytest.mark.timeout(600)]


def folder_in(output: str) -> Path:
    found = re.search(r"KUBECONFIG=(\S+)", output)
    assert found is not None, output
    return Path(found[1]).parent


def test_everything_that_the_demo_shows_is_true() -> None:
    done = subprocess.run(COMMAND, env=ENVIRONMENT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "✗" not in done.stdout
    assert "none of them twice" in done.stdout
    assert "no second NodeClaim was made" in done.stdout
    assert done.stdout.count("$ dra nodeclaims") == 2
    assert "are gone" in done.stdout
    assert not folder_in(done.stdout).exists()


def test_an_interrupted_demo_leaves_nothing_behind() -> None:
    with subprocess.Popen(COMMAND, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        output = ""
        while "own-claim" not in output:
            line = demo.stdout.readline()
            assert line, output
            output += line
        demo.send_signal(signal.SIGINT)
        output += demo.stdout.read()

    assert demo.returncode == 130, output
    assert not folder_in(output).exists()
