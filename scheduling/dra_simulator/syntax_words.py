"""What is wrong with a text that is neither YAML nor JSON, in words that say what to write instead.

The parsers' own texts name their inner states. Those that people meet are told anew; of others the parser has its say.
"""

YAML_WORDS: dict[str, str] = {
    "mapping values are not allowed": "expected one `key: value` a line; a value with `: ` in it has to be in quotes",
    "found undefined alias": "expected the anchor (`&name`) of this alias somewhere before it",
    "found a tab character": "expected spaces for indentation, got a tab",
    "character that cannot start any token": "expected quotes around a value that begins with a tab, `@` or backquote",
    "found unexpected end of stream": "expected the quote that ends a text",
    "did not find expected node content": "expected a value",
    "did not find expected key": "expected a key that is indented as the ones before it",
    "could not find expected ':'": "expected `:` after a key",
    "did not find expected ',' or ']'": "expected `,` or `]` in a list",
    "did not find expected ',' or '}'": "expected `,` or `}` in a mapping",
    "did not find expected '-' indicator": "expected `- ` before each entry of a list, all of them indented alike",
    "block sequence entries are not allowed": "expected a list to begin on a line of its own",
    "did not find expected <document start>": "expected the end of the document, or `---` before the next one",
    "found unknown escape character": "expected `\\\\` for a backslash in double quotes",
    "control characters are not allowed": "expected no control characters",
    "found duplicate anchor": "expected each anchor once",
    "found unhashable key": "expected a text as the key, got a list or a mapping",
    "could not determine a constructor": "expected plain values, got a tag (`!...`)",
}
JSON_WORDS: dict[str, str] = {
    "Expecting value": "expected a value",
    "Expecting property name": "expected a key in double quotes, and no comma after the last one",
    "Expecting ':' delimiter": "expected `:` after the key",
    "Expecting ',' delimiter": "expected `,` or the closing bracket",
    "Unterminated string": "expected the quote that ends a text",
    "Invalid control character": "expected no line break in a text",
    "Invalid \\escape": "expected `\\\\` for a backslash",
    "Extra data": "expected the end of the document",
}


def in_our_words(said: str, language: str) -> str:
    """Return what a parser of `YAML` or `JSON` said, as what was expected."""
    words = YAML_WORDS if language == "YAML" else JSON_WORDS
    return next((text for known, text in words.items() if known in said), f"expected valid {language}: {said}")
