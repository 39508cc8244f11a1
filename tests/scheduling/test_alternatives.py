"""The order of alternatives, and what is learned from those that clash."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from dra_scheduling.allocation.alternatives import Clash, Order

PATIENCE = 10_000
COUNTS = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple)


def visited(counts: tuple[int, ...], forbidden: frozenset[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The first combination that is not forbidden, each forbidden one learned as it is met."""
    order = Order(counts, PATIENCE)
    choice = order.first()
    for _ in range(200):
        if choice is None or choice not in forbidden:
            return choice
        clash: Clash = {place: frozenset((chosen,)) for place, chosen in enumerate(choice)}
        choice = order.next({place: members for place, members in clash.items() if len(members) < counts[place]})
    raise AssertionError("the order does not end")


@given(COUNTS, st.data())
def test_the_first_combination_that_does_not_clash_is_found(counts: tuple[int, ...], data: st.DataObject) -> None:
    everything = list(itertools.product(*(range(count) for count in counts)))
    forbidden = data.draw(st.frozensets(st.sampled_from(everything)))
    expected = next((choice for choice in everything if choice not in forbidden), None)
    assert visited(counts, forbidden) == expected


def test_a_clash_of_few_requests_skips_all_combinations_that_contain_it() -> None:
    order = Order((2, 2, 2, 2), PATIENCE)
    assert order.first() == (0, 0, 0, 0)
    assert order.next({0: frozenset((0,)), 1: frozenset((0,))}) == (0, 1, 0, 0)
    assert order.next({1: frozenset((1,))}) == (1, 0, 0, 0)


def test_a_clash_without_requests_ends_it() -> None:
    order = Order((2, 2), PATIENCE)
    assert order.first() == (0, 0)
    assert order.next({}) is None


def test_what_is_learned_of_two_requests_holds_for_each_choice_of_a_third() -> None:
    order = Order((2, 2, 2), PATIENCE)
    assert order.next({0: frozenset((0,)), 2: frozenset((0, 1))}) is not None
    assert order.next({0: frozenset((1,)), 2: frozenset((0,))}) == (1, 0, 1)
    assert order.next({0: frozenset((1,)), 2: frozenset((1,))}) is None


def test_an_order_that_looks_at_too_many_clashes_ends_and_says_so() -> None:
    order = Order((2, 2, 2), 2)
    assert order.next({0: frozenset((0,)), 2: frozenset((0,))}) == (0, 0, 1)
    assert order.is_spent
    assert order.next({1: frozenset((0,))}) is None
