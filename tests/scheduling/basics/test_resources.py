import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_scheduling.basics.resources import Resources, amount_text, base_units

NANO = 10**9
AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory", "pods", "example.com/gpu"]), st.integers(1, 50))


def test_amounts_are_rounded_up_and_zeros_dropped() -> None:
    wanted = base_units({"memory": NANO + 1, "cpu": 1_000_001, "example.com/gpu": 0})

    assert wanted == Resources({"cpu": 2, "memory": 2})


def test_equal_wishes_are_equal_keys_whatever_their_order() -> None:
    assert {Resources({"cpu": 1, "memory": 2}): "shape"}[Resources({"memory": 2, "cpu": 1})] == "shape"


def test_a_node_lacks_what_it_does_not_offer_and_what_it_has_too_little_of() -> None:
    wanted = Resources({"cpu": 2000, "memory": 5, "example.com/gpu": 1})

    assert wanted.lacking({"cpu": 1999, "memory": 5}) == ("cpu", "example.com/gpu")


def test_resources_that_are_served_elsewhere_can_be_left_out() -> None:
    wanted = Resources({"cpu": 2000, "example.com/gpu": 1})

    assert wanted.without({"example.com/gpu"}) == Resources({"cpu": 2000})


@given(wanted=AMOUNTS, free=AMOUNTS)
def test_a_node_that_lacks_nothing_keeps_no_debt(wanted: dict[str, int], free: dict[str, int]) -> None:
    lacking = Resources(wanted).lacking(free)

    left = {name: free.get(name, 0) - amount for name, amount in wanted.items()}
    assert set(lacking) == {name for name, amount in left.items() if amount < 0}


@pytest.mark.parametrize(
    ("name", "amount", "text"),
    [
        ("cpu", 4000, "4"),
        ("cpu", 3500, "3500m"),
        ("memory", 16 * 2**30, "16Gi"),
        ("memory", 1500 * 2**20, "1500Mi"),
        ("memory", 263_123_456_789, "245.05Gi"),
        ("memory", 0, "0"),
        ("hugepages-2Mi", 2**30, "1Gi"),
        ("ephemeral-storage", 500, "500"),
        ("example.com/gpu", 2, "2"),
        ("pods", 110, "110"),
    ],
)
def test_amounts_read_like_the_quantities_people_write(name: str, amount: int, text: str) -> None:
    assert amount_text(name, amount) == text
