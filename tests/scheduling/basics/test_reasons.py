from itertools import permutations

import pytest

from dra_scheduling.basics.reasons import ClusterEvent, FoldedReason, Refusal, fold, in_short, one_line, told_once


def refusal(*, found: int, details: tuple[str, ...] = ()) -> Refusal:
    return Refusal(
        reason="NotEnough",
        message="needs 4 devices",
        wake=ClusterEvent.DEVICES,
        found=found,
        found_text="{found} free",
        details=details,
    )


def test_equal_refusals_are_counted_and_the_nearest_miss_gives_the_figure() -> None:
    folded = fold([refusal(found=1), refusal(found=3), refusal(found=0)])

    assert one_line(folded, 3) == "0/3 nodes fit: on 3: needs 4 devices (3 free)"


def test_of_two_equally_near_misses_the_one_with_a_remark_speaks_whatever_the_order() -> None:
    misses = [
        refusal(found=2),
        refusal(found=2, details=("pool a is being updated",)),
        refusal(found=2, details=("b",)),
    ]

    lines = {one_line(fold(order), 3) for order in permutations(misses)}

    assert lines == {"0/3 nodes fit: on 3: needs 4 devices (2 free; pool a is being updated)"}


def test_a_message_is_one_line_whatever_it_quotes() -> None:
    quoting = Refusal(
        reason="NoMatchingDevice",
        message="selector device.driver == 'a' &&\n    true: no device matches",
        wake=ClusterEvent.NODE,
        details=("no such key:\n model",),
    )

    expected = "selector device.driver == 'a' && true: no device matches (no such key: model)"
    assert one_line(fold([quoting]), 1) == f"0/1 nodes fit: on 1: {expected}"


def test_a_line_has_an_aside_once() -> None:
    aside = ", selector device.driver == 'a'"
    said = [
        Refusal(reason="R", message=f"claim c (class g{aside}): {end}", wake=ClusterEvent.NODE, asides=(aside,))
        for end in ("no device matches", "needs 2 free devices")
    ]

    assert one_line(fold(said), 2) == (
        f"0/2 nodes fit: on 1: claim c (class g{aside}): needs 2 free devices; "
        "on 1: claim c (class g): no device matches"
    )


def test_two_asides_are_told_once_each() -> None:
    reasons = [FoldedReason(reason="R", message="", nodes=1, asides=(aside,)) for aside in (", a", ", b")]

    assert told_once("(x, a); (y, b); (x, a); (y, b)", reasons) == "(x, a); (y, b); (x); (y)"


def test_an_aside_that_another_one_goes_on_from_stays_whole() -> None:
    reasons = [FoldedReason(reason="R", message="", nodes=1, asides=(aside,)) for aside in (", a", ", a && b")]

    assert told_once("(x, a); (y, a && b); (x, a)", reasons) == "(x, a); (y, a && b); (x)"


@pytest.mark.parametrize(
    ("texts", "separator", "text"),
    [
        ([], ", ", ""),
        (["a", "b"], ", ", "a, b"),
        (["a", "b", "c"], ", ", "a, b and 1 more"),
        (["a", "b", "c", "d"], "; ", "a; b; and 2 more"),
    ],
)
def test_of_many_texts_the_first_few_are_told_and_how_many_more_there_are(
    texts: list[str], separator: str, text: str
) -> None:
    assert in_short(texts, 2, separator) == text
