import copy
import pickle
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_cel.semver import Version

RISING = [
    "0.0.1",
    "0.9.0",
    "1.0.0-0",
    "1.0.0-1",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.1-x",
    "1.2.0",
    "1.10.0",
    "10.0.0",
]

numbers = st.integers(0, 30).map(str)
identifiers = st.one_of(numbers, st.from_regex(r"[a-z-][0-9a-z-]{0,3}", fullmatch=True))
versions = st.builds(
    "{}.{}.{}{}{}".format,
    numbers,
    numbers,
    numbers,
    st.one_of(st.just(""), st.lists(identifiers, min_size=1, max_size=3).map(lambda parts: "-" + ".".join(parts))),
    st.one_of(st.just(""), st.just("+build.007")),
).map(Version.parse)


def test_versions_are_ordered_by_precedence() -> None:
    parsed = [Version.parse(text) for text in RISING]

    assert sorted(parsed) == parsed
    assert all(left < right and left != right for left, right in pairwise(parsed))


def test_build_metadata_does_not_count() -> None:
    assert Version.parse("1.2.3+a") == Version.parse("1.2.3+b.1") == Version.parse("1.2.3")
    assert len({Version.parse("1.2.3+a"), Version.parse("1.2.3")}) == 1


def test_a_version_keeps_its_text_and_numbers() -> None:
    version = Version.parse("1.20.3-rc.1+build.5")

    assert (str(version), version.major, version.minor, version.patch) == ("1.20.3-rc.1+build.5", 1, 20, 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "1.2",
        "v1.2.3",
        "01.2.3",
        "1.02.3",
        "1.2.3-",
        "1.2.3-01",
        "1.2.3-a..b",
        "1.2.3+",
        "1.2.3+a+b",
        "1.2.3-\u00e9",
        "1.2.3\n",
        " 1.2.3",
        "1.2.\u0663",
        "18446744073709551616.0.0",
        "1.0.0-18446744073709551616",
        "1.2.3.4",
        "1.2.3-" + "a" * 300,
    ],
)
def test_what_is_no_strict_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a semantic version such as"):
        Version.parse(text)


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("v1", "1.0.0"),
        ("v1.2", "1.2.0"),
        ("550", "550.0.0"),
        ("01.002.0003", "1.2.3"),
        ("00.0.0", "0.0.0"),
        ("1.2.03-rc.1+b", "1.2.3-rc.1+b"),
        ("v1.2.3", "1.2.3"),
    ],
)
def test_normalising_drops_the_v_and_fills_up(text: str, normalized: str) -> None:
    assert str(Version.parse_normalized(text)) == normalized


@pytest.mark.parametrize("text", ["", "vv1.2.3", "V1.2.3", "1.2-rc", "1+b", "1.2.x", "1.2.3.4", "a"])
def test_normalising_does_not_make_versions_of_other_things(text: str) -> None:
    with pytest.raises(ValueError, match="expected a semantic version such as"):
        Version.parse_normalized(text)


def test_a_version_cannot_be_changed_but_copied() -> None:
    version = Version.parse("1.2.3-a")

    with pytest.raises(AttributeError, match="immutable"):
        version.text = "2.0.0"
    assert copy.deepcopy(version) == pickle.loads(pickle.dumps(version)) == version  # noqa: S301


@given(versions, versions, versions)
def test_the_order_is_total(one: Version, two: Version, three: Version) -> None:
    assert (one < two) + (one == two) + (one > two) == 1
    assert not (one <= two <= three) or one <= three
    assert one != two or hash(one) == hash(two)


@given(versions)
def test_a_release_follows_all_its_prereleases(version: Version) -> None:
    release = Version.parse(f"{version.major}.{version.minor}.{version.patch}")

    assert version <= release
    assert Version.parse(str(version)) == version
