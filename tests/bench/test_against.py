import pytest

from dra_bench import against
from dra_bench.__main__ import SECTIONS
from dra_bench.against import Change, changes, dearer, figures, table

ROW = {"nodes": 500, "placed": 7, "podsPerCpuSecond": 100.0, "podsPerSecond": 90.0, "searchSteps": 8}
TIMED = {"world": "T1", "target": 50.0, "ours": {"wall": 3.0, "cpu": 2.0}, "theirs": {"milliseconds": 9.0}}


def test_figures_are_named_by_section_sizes_and_measure() -> None:
    assert figures("decisions", [ROW]) == {("decisions", "500 nodes", "podsPerCpuSecond"): 100.0}


def test_the_clock_on_the_wall_and_what_kubernetes_takes_are_not_compared() -> None:
    assert figures("searches", [TIMED]) == {("searches", "T1", "ours.cpu"): 2.0}


def test_medians_of_all_runs_are_compared_and_what_only_one_commit_has_is_left_out() -> None:
    place, new = ("s", "row", "cpu"), ("s", "row", "new")

    found = list(changes([{place: one} for one in (1.0, 9.0, 2.0)], [{place: 4.0, new: 1.0}] * 3))

    assert found == [Change(place, 2.0, 4.0)]


@pytest.mark.parametrize(
    ("measure", "before", "after", "is_dearer"),
    [
        ("ours.cpu", 10.0, 10.9, False),
        ("ours.cpu", 10.0, 11.1, True),
        ("podsPerCpuSecond", 100.0, 95.0, False),
        ("podsPerCpuSecond", 100.0, 80.0, True),
        ("podsPerCpuSecond", 100.0, 300.0, False),
    ],
)
def test_over_a_tenth_more_is_dearer(measure: str, before: float, after: float, *, is_dearer: bool) -> None:
    one = Change(("s", "row", measure), before, after)

    assert bool(dearer([one])) is is_dearer
    assert ("dearer" in table([one], "abc").rows[0][-1]) is is_dearer


def test_a_commit_that_is_not_there_is_named() -> None:
    with pytest.raises(RuntimeError, match="there is no commit nothing-like-this"):
        against.compare("nothing-like-this", (), lambda _: None)


@pytest.mark.parametrize("section", against.USUAL)
def test_what_is_compared_usually_is_a_section_of_the_benchmark(section: str) -> None:
    assert section in SECTIONS
