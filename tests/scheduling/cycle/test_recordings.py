"""A recording replays to the byte, wherever it begins, and holds nothing that decisions do not read."""

import json

import pytest

from dra_builders.values import claim, devices, driver_class, node, pod, request, resource_slice
from dra_operating.recording import START, Chance, RecordedWorld
from dra_operating.supply import cpu_pod
from dra_scheduling.allocation.deadline import IsLate
from dra_scheduling.cycle.events import DecideDuration
from dra_scheduling.cycle.record import InvalidRecordingError
from dra_scheduling.cycle.replay import replay, with_decisions_of_now
from dra_scheduling.model.pods import Node
from dra_scheduling.wire import read

TURNS = 150
SECRET = "do-not-tell"  # noqa: S105  it stands for one


def eventful(seed: int, most_lines: int = 10**9) -> list[list[bytes]]:
    world = RecordedWorld(most_lines)
    Chance(world, seed).run(TURNS)
    return world.sink.files


@pytest.mark.parametrize("seed", range(8))
def test_an_eventful_run_is_replayed_to_the_byte(seed: int) -> None:
    (lines,) = eventful(seed)

    found = replay(lines)

    assert found.divergence is None
    assert found.decisions == TURNS


@pytest.mark.parametrize("seed", range(4))
def test_a_run_is_replayed_from_wherever_a_file_begins(seed: int) -> None:
    files = eventful(seed, most_lines=25)

    found = [replay(lines) for lines in files]

    assert len(found) > TURNS // 25
    assert [one.divergence for one in found] == [None] * len(files)
    assert sum(one.decisions for one in found) == TURNS
    assert all(json.loads(lines[0])["state"] for lines in files[1:])


def test_the_runs_decide_everything_that_there_is_to_decide() -> None:
    decisions = [json.loads(line).get("decide", {}).get("decisions", {}) for line in eventful(0)[0]]
    kinds = {kind for made in decisions for kind, found in made.items() if found}

    assert {"bindRequests", "conditions", "nodeClaims"} <= kinds


def test_another_decision_than_the_recorded_one_is_found_where_it_was_made() -> None:
    (lines,) = eventful(0)
    number, line = next(
        (place, one) for place, one in enumerate(lines) if b'"selectedNode":"n1"' in one and b'"decide"' in one
    )
    lines[number] = line.replace(b'"selectedNode":"n1"', b'"selectedNode":"n2"')

    divergence = replay(lines).divergence

    assert divergence is not None
    assert (divergence.line, divergence.at) == (number + 1, json.loads(line)["at"])
    assert b'"selectedNode":"n2"' in divergence.recorded
    assert b'"selectedNode":"n1"' in divergence.replayed


class Clock:
    """SearchDeadlines that end at the n-th question since the first one started."""

    def __init__(self, questions: int) -> None:
        self._left = questions

    def start(self, seconds: float) -> IsLate:
        return self._asked

    def _asked(self) -> bool:
        self._left -= 1
        return self._left < 0


@pytest.mark.parametrize("questions", range(6))
def test_a_search_that_the_clock_has_ended_is_recorded_as_such_and_ends_there_again(questions: int) -> None:
    world = RecordedWorld(deadlines=Clock(questions))
    world.add(driver_class(), *(node(f"n{number}") for number in range(3)))
    world.add(*(resource_slice(f"s{number}", devices(1), node=f"n{number}") for number in range(3)))
    world.add(claim("c", request(count=1)), pod("p", claims={"gpu": "c"}))
    made = world.decide()

    found = replay(world.sink.files[0])

    assert found.divergence is None
    assert found.late or made.assignments
    assert bool(made.assignments) != any("ran out of time" in one.message for one in made.conditions)


def test_nothing_of_the_environment_and_commands_of_a_pod_is_recorded() -> None:
    world = RecordedWorld(most_lines=3)
    container = {"name": "main", "command": [SECRET], "args": [SECRET], "env": [{"name": "TOKEN", "value": SECRET}]}
    raw = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "namespace": "default",
            "uid": "u",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": SECRET, "kept": "yes"},
        },
        "spec": {"schedulerName": "dra-scheduler", "containers": [container]},
    }
    world.add(read(raw), node("n1"))
    world.decide()
    world.add(cpu_pod("other"))

    texts = [b"".join(lines).decode() for lines in world.sink.files]

    assert len(texts) > 1
    assert not any(SECRET in text for text in texts)
    assert all('"kept":"yes"' in text for text in texts)


def test_a_look_at_nodes_that_took_long_is_replayed_with_its_pause() -> None:
    world = RecordedWorld()
    Chance(world, 3).run(20)
    for _ in range(20):
        world.now += 1.0
        world.decide()
        world.loop.observe(DecideDuration(0.7), world.now)

    assert replay(world.sink.files[0]).divergence is None


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([], "expected at least a header"),
        ([b"no JSON\n"], "expected a JSON object$"),
        ([b"{}\n"], "expected a recording with format dra-scheduler/recording/v1"),
        (
            [b'{"format":"dra-scheduler/recording/v1"}\n'],
            "expected settings and state: missing required field settings$",
        ),
        ([None, b'{"at":1,"event":"Unknown"}\n'], "line 2: "),
        ([None, b'{"at":1}\n'], "line 2: expected an object, an event or a decision: missing required field event$"),
        (
            [None, b'{"at":1,"decide":{"steps":"many","late":[],"decisions":{}}}\n'],
            r"line 2: .*: \$\.decide\.steps: expected a whole number, got a string$",
        ),
        (
            [None, b'{"at":1,"event":"NodeClaimWrite","name":"a","result":"maybe"}\n'],
            "line 2: expected an object, an event or a decision$",
        ),
        ([None, b'{"object":{"kind":"Pod","apiVersion":"v1"}}\n'], "line 2: "),
    ],
)
def test_what_is_no_recording_is_refused_with_the_line(lines: list[bytes | None], problem: str) -> None:
    header = RecordedWorld().sink.files[0][0]

    with pytest.raises(InvalidRecordingError, match=problem):
        replay([header if line is None else line for line in lines])


def test_times_are_recorded_as_they_were_passed_in() -> None:
    world = RecordedWorld()
    world.now = START + 0.123456789
    world.decide()

    assert json.loads(world.sink.files[0][-1])["at"] == START + 0.123456789


def test_decisions_that_are_meant_can_be_taken_over() -> None:
    (lines,) = eventful(0)
    altered = [
        line.replace(b'"selectedNode":"n1"', b'"selectedNode":"n2"') if b'"decide"' in line else line for line in lines
    ]
    assert replay(altered).divergence is not None

    assert with_decisions_of_now(altered) == lines


def test_what_cannot_be_recorded_ends_the_recording_and_not_the_scheduling() -> None:
    world = RecordedWorld()
    world.add(Node(metadata=None))  # type: ignore[arg-type]
    world.add(node("n1"), cpu_pod("p"))

    assert [one.node for one in world.decide().assignments] == ["n1"]
    assert len(world.sink.errors) == 1
    assert replay(world.sink.files[0]).events == 1
