"""The scheduler's own times come from the standard library, and read what the API server reads."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dra_scheduling.basics.times import duration_of, seconds_of, time_of
from kube_cel.errors import EvaluationError
from kube_cel.timetext import read_duration, read_timestamp
from kube_cel.values import NANOSECONDS

LAST_SECOND = 253_402_300_799
"""Of the year 9999."""
number = st.from_regex(r"[0-9]{0,12}(\.[0-9]{0,11})?", fullmatch=True)
units = st.sampled_from(
    ["ns", "us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s", "ms", "s", "m", "h", "d", "", "H"]
)
durations = st.builds(
    lambda sign, parts: sign + "".join(one + unit for one, unit in parts),
    st.sampled_from(["", "-", "+", " "]),
    st.lists(st.tuples(number, units), max_size=3),
)
times = st.builds(
    lambda year, rest, fraction, zone: f"{year:04d}-{rest}{fraction}{zone}",
    st.integers(0, 9999),
    st.tuples(st.integers(0, 13), st.integers(0, 32), st.integers(0, 25), st.integers(0, 61), st.integers(0, 61)).map(
        lambda parts: "{:02d}-{:02d}T{:02d}:{:02d}:{:02d}".format(*parts)
    ),
    st.sampled_from(["", ".5", ".123456", ".000001"]),
    st.sampled_from(["Z", "+00:00", "-01:30", "+14:00", "", "z", "UTC"]),
)


def of_cel(text: str) -> float | None:
    try:
        return read_duration(text).nanoseconds / NANOSECONDS
    except EvaluationError:
        return None


@given(durations | st.text(string.printable, max_size=12))
@example("2562047h47m16.854775807s")
@example("2562047h47m16.854775808s")
@example("1h" * 129)
def test_durations_are_those_of_go_that_selectors_read_too(text: str) -> None:
    assert duration_of(text) == of_cel(text)


@given(times | st.text(string.printable, max_size=30))
@example("2026-W01-1T00:00:00Z")
@example("20260101T000000Z")
@example("2026-01-01 00:00:00Z")
@example("2026-01-01T24:00:00Z")
@example("2024-02-29T12:00:00Z")
@example("0001-01-01T00:00:00Z")
def test_times_are_those_of_rfc_3339(text: str) -> None:
    try:
        expected = read_timestamp(text).nanoseconds / NANOSECONDS
    except EvaluationError:
        expected = 0.0
    assert seconds_of(text) == pytest.approx(expected, abs=1e-6)


@given(st.integers(0, LAST_SECOND))
def test_a_written_time_reads_as_it_was(seconds: int) -> None:
    assert seconds_of(time_of(seconds)) == seconds


def test_a_time_within_a_second_is_written_as_its_end() -> None:
    assert time_of(0.2) == "1970-01-01T00:00:01Z"
    assert time_of(1_800_000_000) == "2027-01-15T08:00:00Z"
