"""Every behaviour that is known has a case or test that shows it, or is said to be decided otherwise or open."""

import pytest

from dra_cases.behaviours import PAGE, Behaviours, names_in, page, read_behaviours

BEHAVIOURS = read_behaviours()
SHOWN, DECIDED, OPEN = BEHAVIOURS.shown, BEHAVIOURS.said(BEHAVIOURS.decided), BEHAVIOURS.said(BEHAVIOURS.open)
SMALL = """
series: {A: {length: 12, about: x}, B: {length: 3, about: y}}
proofs: {}
decided: []
open: []
"""


@pytest.mark.parametrize("series", BEHAVIOURS.series)
def test_no_number_of_a_series_is_missing(series: str) -> None:
    assert [number for number in BEHAVIOURS.of_series(series) if number not in {*SHOWN, *DECIDED, *OPEN}] == []


@pytest.mark.parametrize("file", BEHAVIOURS.proofs)
def test_every_case_that_is_named_is_there(file: str) -> None:
    there = names_in(file)

    assert [name for name in BEHAVIOURS.proofs[file] if name not in there] == []
    assert len(set(there)) == len(there)


def test_nothing_that_is_open_is_shown() -> None:
    assert set(OPEN) & {*SHOWN, *DECIDED} == set()


def test_the_page_says_what_the_file_says() -> None:
    assert PAGE.read_text() == page(BEHAVIOURS), "python -m dra_cases.behaviours > docs/behaviours.md"


def small() -> Behaviours:
    return read_behaviours(SMALL)


def test_ranges_are_spelt_out() -> None:
    assert list(small().numbers("A02 A09-A11 B1")) == ["A02", "A09", "A10", "A11", "B1"]


@pytest.mark.parametrize("written", ["C1", "A1", "A", "A03-B1", "A05-A03", "1"])
def test_a_number_that_no_series_has_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        list(small().numbers(written))
