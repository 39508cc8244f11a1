import copy
import pickle
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_cel.quantity import MAX_BINARY_NANO, Family, Quantity

NANO = Fraction(1, 10**9)
SUFFIXES = {
    "": Fraction(1), "n": NANO, "u": Fraction(1, 10**6), "m": Fraction(1, 1000),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15),
    "E": Fraction(10**18), "e3": Fraction(1000), "E-2": Fraction(1, 100), "e+6": Fraction(10**6),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40), "Pi": Fraction(2**50),
}  # fmt: skip

numbers = st.from_regex(r"[+-]?(?:[0-9]{1,6}(?:\.[0-9]{0,6})?|\.[0-9]{1,6})", fullmatch=True)
texts = st.builds("{}{}".format, numbers, st.sampled_from(sorted(SUFFIXES)))
quantities = texts.map(Quantity.parse)


@pytest.mark.parametrize(
    ("text", "canonical", "value", "milli"),
    [
        ("0", "0", 0, 0),
        ("1", "1", 1, 1000),
        ("007", "7", 7, 7000),
        ("+5", "5", 5, 5000),
        ("1000", "1k", 1000, 1_000_000),
        ("12345", "12345", 12345, 12_345_000),
        ("1500m", "1500m", 2, 1500),
        ("1.5", "1500m", 2, 1500),
        ("1.G", "1G", 10**9, 10**12),
        (".5", "500m", 1, 500),
        ("0.1", "100m", 1, 100),
        ("1Gi", "1Gi", 2**30, 2**30 * 1000),
        ("1024Mi", "1Gi", 2**30, 2**30 * 1000),
        ("1.5Gi", "1536Mi", 3 * 2**29, 3 * 2**29 * 1000),
        ("0.5Ki", "512", 512, 512_000),
        ("0.1Ki", "102400m", 103, 102_400),
        ("1500Mi", "1500Mi", 1500 * 2**20, 1500 * 2**20 * 1000),
        ("1e3", "1e3", 1000, 1_000_000),
        ("12e-3", "12e-3", 1, 12),
        ("1E", "1E", 10**18, 10**21),
        ("1E5", "100e3", 100_000, 10**8),
        ("100E", "100E", 10**20, 10**23),
        ("1e21", "1e21", 10**21, 10**24),
        ("-1.5", "-1500m", -2, -1500),
        ("-0.5Gi", "-512Mi", -(2**29), -(2**29) * 1000),
        ("1u", "1u", 1, 1),
    ],
)
def test_a_quantity_is_read_and_written_as_kubernetes_does(text: str, canonical: str, value: int, milli: int) -> None:
    quantity = Quantity.parse(text)

    assert (str(quantity), quantity.ceil_value(), quantity.ceil_milli()) == (canonical, value, milli)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 ",
        " 1",
        "1\n",
        ".",
        "-",
        "Ki",
        "NaN",
        "inf",
        "Infinity",
        "1K",
        "1ki",
        "1_000",
        "1,5",
        "1.1.M",
        "0.1mi",
        "1e",
        "1e+",
        "1e5Ki",
        "1Kie3",
        "1e3.5",
        "0x10",
        "--1",
        "1-",
        "1Zi",
        "\u0661",
        "1\u0661",
        "1e100",
        "9" * 200,
    ],
)
def test_what_is_no_quantity_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(ValueError, match="expected a number with an optional suffix"):
        Quantity.parse(text)


@pytest.mark.parametrize(
    ("text", "nano"), [("1e-12", 1), ("0.0000000001", 1), ("-1e-12", -1), ("1.0000000001", 10**9 + 1)]
)
def test_anything_finer_than_a_nano_unit_is_rounded_away_from_zero(text: str, nano: int) -> None:
    assert Quantity.parse(text).nano == nano


def test_binary_quantities_are_capped_and_decimal_ones_are_not() -> None:
    assert Quantity.parse("1000000Ei").nano == MAX_BINARY_NANO
    assert Quantity.parse("100E").nano > MAX_BINARY_NANO


@pytest.mark.parametrize(("value", "text"), [(3, "3"), ("2Gi", "2Gi"), (0.5, "500m"), (4.0, "4"), (1e20, "100E")])
def test_json_numbers_are_quantities_too(value: object, text: str) -> None:
    assert str(Quantity.of(value)) == text


@pytest.mark.parametrize("value", [True, None, [], float("nan"), float("inf"), b"1"])
def test_other_json_values_are_no_quantities(value: object) -> None:
    with pytest.raises(ValueError, match="invalid quantity"):
        Quantity.of(value)


def test_different_ways_of_writing_one_amount_are_equal() -> None:
    assert len({Quantity.parse(text) for text in ("1Gi", "1024Mi", "1073741824", "1073741824000m")}) == 1


def test_zero_takes_the_family_of_what_is_added_to_it() -> None:
    assert (Quantity.parse("0") + Quantity.parse("2Gi")).family is Family.BINARY
    assert (Quantity.parse("1Gi") - Quantity.parse("512M")).family is Family.BINARY


def test_a_quantity_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        Quantity.parse("1").nano = 2


def test_a_quantity_survives_copying_and_pickling() -> None:
    quantity = Quantity.parse("3Gi")

    for other in (copy.deepcopy(quantity), pickle.loads(pickle.dumps(quantity))):  # noqa: S301
        assert (other, other.family) == (quantity, Family.BINARY)


def test_msgspec_hands_quantities_to_the_hook() -> None:
    read = msgspec.json.decode(b'["1Gi", 2]', type=list[Quantity], dec_hook=lambda _, value: Quantity.of(value))

    assert read == [Quantity.parse("1Gi"), Quantity.from_int(2)]


@given(number=numbers, suffix=st.sampled_from(sorted(SUFFIXES)))
def test_the_amount_is_what_the_text_says(number: str, suffix: str) -> None:
    exact = Fraction(number) * SUFFIXES[suffix] / NANO
    rounded = -(-abs(exact) // 1) * (-1 if exact < 0 else 1)

    assert Quantity.parse(number + suffix).nano == rounded


@given(texts)
def test_the_canonical_text_reads_back_as_the_same_amount(text: str) -> None:
    quantity = Quantity.parse(text)

    assert Quantity.parse(str(quantity)) == quantity
    assert str(Quantity.parse(str(quantity))) == str(quantity)


@given(quantities, quantities)
def test_order_and_sums_are_those_of_the_exact_amounts(left: Quantity, right: Quantity) -> None:
    assert (left < right, left <= right, left > right) == (
        left.nano < right.nano, left.nano <= right.nano, left.nano > right.nano,
    )  # fmt: skip
    assert (left + right - right) == left
    assert 3 * left == left + left + left
    assert -left + left == Quantity.parse("0")


@given(quantities)
def test_rounding_never_makes_an_amount_smaller(quantity: Quantity) -> None:
    assert abs(quantity.ceil_value()) * 1000 >= abs(quantity.ceil_milli())
    assert (Quantity.from_int(quantity.ceil_value()) == quantity) is quantity.is_integer()
    assert quantity.is_zero() is (quantity.ceil_milli() == 0)
