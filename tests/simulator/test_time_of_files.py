"""The time at which files are looked at: that of their dump, or a given one."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dra_cases.command import Ended, dra
from dra_cases.planning import Json
from dra_cases.server import ListServer
from dra_cases.worlds import manifests, standard_classes

RESTS_UNTIL = "2031-01-01T00:00:00Z"
WORLD: Json = {
    "pools": {"default": {}},
    "types": {"t": {"devices": {"a": 1}, "status": {"deviceFailures": 1, "retryAfter": RESTS_UNTIL}}},
    "pods": {"p": {"wants": ["r"]}},
}
AFTER, BEFORE = "2031-01-01T00:00:00Z", "2030-12-31T23:59:59Z"


def dump(time: str | None, *items: Json) -> str:
    notes = {} if time is None else {"metadata": {"annotations": {"dra-scheduler.dev/dumped-at": time}}}
    content = items or (*standard_classes(), *manifests(WORLD))
    return json.dumps({"apiVersion": "v1", "kind": "List", **notes, "items": content})


def makes_a_node(*words: str, text: str) -> bool:
    ended = dra("simulate", "-", "-o", "json", *words, text=text)
    assert ended.code == 0, ended.err
    return bool(json.loads(ended.out)["nodeClaims"])


@pytest.mark.parametrize(
    ("now", "is_over"),
    [(AFTER, True), (BEFORE, False), ("2031-01-01T01:00:00+01:00", True), ("2031-01-01T00:00:00+01:00", False)],
)
def test_a_rest_is_over_once_the_time_says_so(now: str, *, is_over: bool) -> None:
    assert makes_a_node("--now", now, text=dump(None)) is is_over
    assert makes_a_node(text=dump(now)) is is_over


def test_a_time_that_is_given_counts_whatever_the_dump_says() -> None:
    assert not makes_a_node("--now", BEFORE, text=dump(AFTER))


def test_without_any_time_a_rest_that_began_last_is_not_over() -> None:
    assert not makes_a_node(text=dump(None))


@pytest.mark.parametrize("times", [(BEFORE, AFTER), (AFTER, BEFORE), (None, AFTER)])
def test_the_latest_of_several_dumps_counts(times: tuple[str | None, str]) -> None:
    more = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    assert makes_a_node(text=f"{dump(times[0])}\n{dump(times[1], more)}")


@pytest.mark.parametrize("time", ["yesterday", "2031-01-01", 7, ["a"]])
def test_a_dump_whose_time_cannot_be_read_says_so_and_is_read_all_the_same(time: object) -> None:
    ended = dra("simulate", "-", "-o", "json", text=dump(time))  # type: ignore[arg-type]
    assert ended.code == 2
    path = '$.metadata.annotations["dra-scheduler.dev/dumped-at"]'
    expected = "expected a time such as 2026-02-03T04:05:06Z (RFC 3339)"
    assert ended.problems == [f"-: document 1, List: {path}: {expected}"]
    assert json.loads(ended.out)["stats"]["pods"] == 1


@pytest.mark.parametrize("command", [("simulate", "-"), ("nodeclaims", "-f", "-")])
def test_what_is_no_time_is_refused(command: tuple[str, ...]) -> None:
    ended: Ended = dra(*command, "--now", "yesterday", text=dump(None))
    assert (ended.code, ended.out) == (2, "")
    assert "expected a time such as 2026-02-03T04:05:06Z (RFC 3339), got 'yesterday'" in ended.err


def test_node_claims_are_as_old_as_the_time_says() -> None:
    (claim,) = manifests({"nodeclaims": {"c": {}}})
    claim["metadata"]["creationTimestamp"] = "2031-01-01T00:00:00Z"
    ended = dra("nodeclaims", "-f", "-", "-o", "json", "--now", "2031-01-01T02:00:00Z", text=dump(None, claim))
    assert [one["age"] for one in json.loads(ended.out)] == ["2h"]


def test_a_dump_says_when_it_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    with ListServer([]) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        dumped = dra("dump", "-o", "json")
    written = json.loads(dumped.out)["metadata"]["annotations"]["dra-scheduler.dev/dumped-at"]
    assert before <= datetime.fromisoformat(written) <= datetime.now(UTC)
