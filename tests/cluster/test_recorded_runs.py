"""Runs with faults, recorded by a scheduler at a real control plane, replay to the byte.

Recordings of these runs are in `tests/recordings`, where they are replayed without a control plane.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_builders import manifests
from dra_cluster.binds import DECISION, assert_bound_once, begin_bind
from dra_cluster.faults import Hold, Match, answer
from dra_cluster.operators import Operators, RunningOperator
from dra_cluster.planning import Planning
from dra_cluster.proxy import Proxy
from dra_cluster.world import World
from dra_scheduling.cycle.replay import replay

CREATE = Match(method="POST", path=r"/nodeclaims$")


class Recorded:
    """A scheduler that is recorded, and its recordings, the oldest first."""

    def __init__(self, operator: RunningOperator, folder: Path) -> None:
        self.operator = operator
        self._folder = folder

    def files(self) -> list[list[bytes]]:
        return [path.read_bytes().splitlines(keepends=True) for path in sorted(self._folder.iterdir())]

    def results(self) -> set[str]:
        """How its writes have ended."""
        return {json.loads(line).get("result", "") for lines in self.files() for line in lines} - {""}

    def assert_replays(self) -> None:
        self.operator.kill()
        found = [replay(lines) for lines in self.files()]
        assert [one.divergence for one in found] == [None] * len(found)
        assert all(one.decisions for one in found)


@pytest.fixture
def recorded(
    world: World,
    scheduler: RunningOperator,
    operators: Operators,
    tmp_path: Path,
) -> Iterator[Recorded]:
    scheduler.kill()
    operator = operators.add("recorded", roles="scheduler", account="dra-scheduler", record=str(tmp_path))
    operator.run()
    yield Recorded(operator, tmp_path)
    operator.kill()


@pytest.mark.parametrize(("status", "result"), [(429, "Throttled"), (500, "Lost")])
def test_a_decision_that_cannot_be_written_for_some_time(
    world: World, proxy: Proxy, recorded: Recorded, status: int, result: str
) -> None:
    with proxy.disturbed(DECISION, answer(status)):
        begin_bind(world)
        world.mirror.until(lambda: result in recorded.results(), f"a write that ended with {result}")
    assert_bound_once(world)

    assert recorded.results() >= {result, "Done"}
    recorded.assert_replays()


def test_a_node_claim_that_is_refused_at_first(planning: Planning, proxy: Proxy, recorded: Recorded) -> None:
    planning.instance_type("gpus", gpu=8)
    planning.world.create(manifests.claim("one", manifests.request("gpu", planning.driver("gpu"))))
    with proxy.disturbed(CREATE, answer(403)):
        planning.world.pod("a", manifests.from_claim("gpu", "one"))
        planning.world.mirror.until(lambda: "Refused" in recorded.results(), "a refusal")
    planning.waits("a")

    assert recorded.results() >= {"Refused", "Done"}
    recorded.assert_replays()


def test_a_scheduler_that_is_killed_while_it_writes(world: World, proxy: Proxy, recorded: Recorded) -> None:
    hold = Hold()
    proxy.disturb(DECISION, hold.after())
    begin_bind(world)
    hold.reached()
    recorded.operator.kill()
    hold.drop()
    recorded.operator.run()
    assert_bound_once(world)
    world.pod("next", limits={world.resource: 3})
    world.pending("next", "nodes fit")

    assert len(recorded.files()) == 2
    assert b'"BindRequest"' in b"".join(recorded.files()[1])
    recorded.assert_replays()
