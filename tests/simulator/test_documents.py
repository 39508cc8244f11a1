"""Text to documents."""

import pytest

from dra_simulator.documents import BrokenTextError, documents

FLOOD = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2025-04-08T21:55:32Z", "2025-04-08T21:55:32Z"),
        ("2025-04-08", "2025-04-08"),
        ("0003:00:02.0", "0003:00:02.0"),
        ("12:30", "12:30"),
        ("=", "="),
        ("010", 8),
        ("1_000", 1000),
        ("-0x1F", -31),
        ("1.5", 1.5),
        ("1.5e3", 1500.0),
        ("yes", True),
        ("16Gi", "16Gi"),
        ("~", None),
        ("!!timestamp 2025-04-08", "2025-04-08"),
        ("!!set {b, a}", {"b": None, "a": None}),
        ("!!omap [a: 1]", [{"a": 1}]),
        ("!!pairs [a: 1]", [{"a": 1}]),
    ],
)
def test_values_are_what_kubernetes_takes_them_for(text: str, value: object) -> None:
    assert list(documents(f"key: {text}")) == [{"key": value}]


def test_keys_are_text_whatever_they_look_like() -> None:
    assert list(documents("1: a\ntrue: b\n2025-01-01: c")) == [{"1": "a", "true": "b", "2025-01-01": "c"}]


def test_empty_documents_are_no_documents() -> None:
    assert list(documents("---\n# nothing\n---\na: 1\n---\n")) == [{"a": 1}]
    assert list(documents(" \n")) == []


def test_json_may_stand_one_document_behind_the_other() -> None:
    assert list(documents('{"a": 1}\n\n{"b": [2]} ')) == [{"a": 1}, {"b": [2]}]


def test_characters_may_be_escaped_as_pairs() -> None:
    assert list(documents('{"a": "\\ud83d\\ude00"}')) == [{"a": "\U0001f600"}]


def test_flow_style_yaml_is_not_taken_for_broken_json() -> None:
    assert list(documents("{a: 1, b: [x]}")) == [{"a": 1, "b": ["x"]}]


def test_aliases_and_merge_keys_work() -> None:
    found = list(documents("base: &base {a: 1, b: 2}\nown: {<<: *base, b: 3}"))
    assert found == [{"base": {"a": 1, "b": 2}, "own": {"a": 1, "b": 3}}]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: 1\nb: 2\na: 3", "line 3, column 1", "expected each key once, found 'a' again"),
        ('{"a": 1, "a": 2}', "text", "expected each key once, found 'a' again"),
        ("a: 1\n\tb: 2", "line 2, column 1", "tab"),
        ("a: [1, 2\n", "line 2, column 1", "expected `,` or `]` in a list"),
        ("a: b: c", "line 1, column 5", "a value with `: ` in it has to be in quotes"),
        ('a: "b\n', "line 2, column 1", "expected the quote that ends a text"),
        ("- a\nb: c", "line 2, column 1", "expected `- ` before each entry of a list"),
        ("a:\n  b: 1\n c: 2", "line 3, column 2", "expected a key that is indented as the ones before it"),
        ("a: *missing", "line 1, column 4", "expected the anchor"),
        ('{"a": 1,\n "b" 2}', "line 2, column 6", "expected `:` after the key"),
        ("? [a]\n: b", "line 1, column 3", "expected a text as the key"),
        ("a: !!python/object:os.system x", "line 1, column 4", "expected plain values, got a tag"),
        ("a: !!binary x", "line 1, column 4", "base64"),
        ("\x00", "text", "control characters"),
        ("[" * 50_000, "text", "less deep nesting"),
        ("- " * 50_000 + "x", "line 1", "nesting"),
        ("a: " + "9" * 5_000, "text", "5000 digits"),
        ('{"a": ' + "9" * 5_000 + "}", "text", "5000 digits"),
        ('{"a": "\\ud800"}', "text", "surrogates not allowed"),
        ('a: "\\ud800"', "line 1, column 7", "invalid Unicode character escape code"),
        ("a: &a [*a]", "aliases", "holds itself"),
        (FLOOD, "aliases", "at most 1000000 values"),
    ],
)
def test_broken_text_is_refused_with_its_place(text: str, place: str, message: str) -> None:
    with pytest.raises(BrokenTextError) as caught:
        list(documents(text))
    assert caught.value.place.startswith(place)
    assert message in caught.value.message


def test_what_stands_before_the_broken_place_is_found() -> None:
    found = documents("a: 1\n---\nb: 2\n---\nc: [")
    assert [next(found), next(found)] == [{"a": 1}, {"b": 2}]
    with pytest.raises(BrokenTextError):
        next(found)
