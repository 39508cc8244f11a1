import json
import subprocess
import sys

CODE = """
import logging
from dra_operator.logs import configure, log
from dra_operator.settings import Settings

configure(Settings.from_environment({variables}))
log("binding").info("bound", pod="default/p", node="n1", bindrequest="default/p")
logging.getLogger("kopf._core.reactor.queueing").warning("Unprocessed streams left for %s.", list(range(10_000)))
logging.getLogger("kopf._core.reactor.running").info("Signal SIGTERM is received.")
try:
    unknown = 1 / 0
except ZeroDivisionError:
    log("binding").exception("a bind failed", pod="default/p")
"""


def lines(**variables: str) -> list[str]:
    """What a process with these settings logs."""
    command = [sys.executable, "-c", CODE.replace("{variables}", repr(variables))]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return shown.stderr.splitlines()


def test_each_line_is_one_object_with_what_it_is_about() -> None:
    bound, signal, failed = (json.loads(line) for line in lines(DRA_LOG_FORMAT="json"))

    assert {key: bound[key] for key in ("event", "pod", "node", "bindrequest", "level")} == {
        "event": "bound",
        "pod": "default/p",
        "node": "n1",
        "bindrequest": "default/p",
        "level": "info",
    }
    assert signal["event"] == "Signal SIGTERM is received."
    assert "ZeroDivisionError" in failed["exception"]


def test_people_read_one_line_and_plain_tracebacks() -> None:
    shown = lines(DRA_LOG_FORMAT="console")

    assert "bound" in shown[0]
    assert "pod=default/p" in shown[0]
    assert shown[-1].startswith("ZeroDivisionError")
    assert not any("10_000" in line or "Unprocessed" in line for line in shown)


def test_a_pipe_gets_json_and_the_level_is_kept() -> None:
    (failed,) = lines(DRA_LOG_LEVEL="error")

    assert json.loads(failed)["event"] == "a bind failed"
