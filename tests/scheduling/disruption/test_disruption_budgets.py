"""How many nodes of a pool may go at once, and when windows of budgets are open."""

import pytest

from dra_cases.fleet import Fleet, Json
from dra_scheduling.basics.times import duration_of, seconds_of
from dra_scheduling.disruption.budget_schedules import is_open, schedule_of
from dra_scheduling.disruption.disruption_budgets import Tally, allowed, tallies

FRIDAY = "2026-01-02T09:30:00Z"


@pytest.mark.parametrize(
    ("budgets", "nodes", "disrupted", "expected"),
    [
        ([], 10, 0, 10),
        ([{"nodes": "10%"}], 19, 0, 2),
        ([{"nodes": "20%"}], 19, 0, 4),
        ([{"nodes": "20%"}], 19, 3, 1),
        ([{"nodes": "10%"}], 1, 0, 1),
        ([{"nodes": "0%"}], 10, 0, 0),
        ([{"nodes": "5"}], 100, 2, 3),
        ([{"nodes": "5"}], 100, 7, 0),
        ([{"nodes": "5"}, {"nodes": "50%"}, {"nodes": "3"}], 100, 0, 3),
        ([{"nodes": "1", "reasons": ["Empty"]}, {"nodes": "7", "reasons": ["Drifted"]}], 100, 0, 1),
        ([{"nodes": "0", "reasons": ["Drifted", "Underutilized"]}], 10, 0, 10),
        ([{"nodes": "0", "schedule": "0 9 * * fri", "duration": "1h"}], 10, 0, 0),
        ([{"nodes": "0", "schedule": "0 9 * * mon-thu", "duration": "1h"}], 10, 0, 10),
        ([{"nodes": "9", "schedule": "sometimes", "duration": "1h"}], 10, 0, 0),
        ([{"nodes": "9", "schedule": "@daily"}], 10, 0, 0),
    ],
)
def test_the_smallest_budget_that_counts_is_left(
    budgets: list[Json], nodes: int, disrupted: int, expected: int
) -> None:
    pool = Fleet().pool("other", disruption={"budgets": budgets})

    assert allowed(pool, "Empty", Tally(nodes, disrupted), seconds_of(FRIDAY)) == expected


def test_nodes_that_go_or_are_not_ready_are_counted() -> None:
    fleet = Fleet()
    for name in ("a", "b", "c"):
        fleet.node(name)
    fleet.node("going", notes={"dra-scheduler.dev/disruption": "{}"})
    fleet.node("coming", is_coming=True)
    fleet.node("down", ready="False")

    assert tallies(fleet.cluster) == {"pool": Tally(nodes=5, disrupted=2)}


@pytest.mark.parametrize(
    ("schedule", "duration", "now", "expected"),
    [
        ("0 9 * * mon-fri", "8h", "2026-01-02T09:00:00Z", True),
        ("0 9 * * mon-fri", "8h", "2026-01-02T08:59:59Z", False),
        ("0 9 * * mon-fri", "8h", "2026-01-02T16:59:59Z", True),
        ("0 9 * * mon-fri", "8h", "2026-01-02T17:00:00Z", False),
        ("0 9 * * mon-fri", "8h", "2026-01-03T12:00:00Z", False),
        ("0 9 * * 7", "1h", "2026-01-04T09:30:00Z", True),
        ("0 22 * * *", "10h", "2026-01-02T07:00:00Z", True),
        ("@weekly", "160h", "2026-01-03T12:00:00Z", True),
        ("@hourly", "5m", "2026-01-02T10:04:59Z", True),
        ("@hourly", "5m", "2026-01-02T10:05:00Z", False),
        ("*/15 * * * *", "5m", "2026-01-02T10:47:00Z", True),
        ("5/20 * * * *", "1m", "2026-01-02T10:45:30Z", True),
        ("0 0 1,15 * mon", "24h", "2026-01-15T05:00:00Z", True),
        ("0 0 1,15 * mon", "24h", "2026-01-12T05:00:00Z", True),
        ("0 0 1,15 * mon", "24h", "2026-01-13T05:00:00Z", False),
        ("0 0 * feb *", "24h", "2026-02-28T23:00:00Z", True),
        ("0 0 29 2 *", "24h", "2028-02-29T12:00:00Z", True),
        ("@yearly", "1h", "2026-01-01T00:59:00Z", True),
    ],
)
def test_a_window_is_open_from_its_begin_until_just_before_its_end(
    schedule: str,
    duration: str,
    now: str,
    expected: bool,  # noqa: FBT001
) -> None:
    found = schedule_of(schedule)
    seconds = duration_of(duration)

    assert found is not None
    assert seconds is not None
    assert is_open(found, seconds, seconds_of(now)) == expected


@pytest.mark.parametrize("text", ["", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "5-1 * * * *", "*/0 * * * *"])
def test_text_that_is_no_schedule_is_none(text: str) -> None:
    assert schedule_of(text) is None
