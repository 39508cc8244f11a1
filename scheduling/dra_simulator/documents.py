"""Text to documents: YAML as Kubernetes reads it, or JSON; an error names the line.

Kubernetes' YAML has no timestamps (they stay text), no sexagesimal numbers (`0003:00:02.0` is a PCI address) and only
text as keys, and a duplicate key is an error there. PyYAML has all of the first three and lets the last one pass.
"""

import json
import re
from collections.abc import Iterator

import yaml
from yaml.constructor import ConstructorError
from yaml.error import Mark, MarkedYAMLError
from yaml.nodes import MappingNode, ScalarNode

from dra_simulator.syntax_words import in_our_words

try:
    from yaml import CSafeLoader as FastestLoader
except ImportError:
    from yaml import SafeLoader as FastestLoader  # type: ignore[assignment]  # PyYAML built without libyaml

TEXT = "tag:yaml.org,2002:str"
MERGE = "tag:yaml.org,2002:merge"
UNKNOWN_TO_KUBERNETES = {f"tag:yaml.org,2002:{name}" for name in ("timestamp", "int", "float", "value")}
INTEGER = re.compile(r"[-+]?(?:0b[01]+|0x[0-9a-fA-F]+|0[0-7]+|0|[1-9][0-9_]*)$")
NUMBER = re.compile(r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*\.[0-9_]*)(?:[eE][-+]?[0-9]+)?$|[-+]?\.inf$|\.nan$")
# The escape of a surrogate: JSON lets one stand without its partner, and nothing can write that down again.
HALF_A_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
# Aliases save a few lines in honest files; nine lines that each repeat the one before nine times hold a billion values.
MOST_VALUES_OF_ALIASES = 1_000_000
MOST_GROWTH = 100


class BrokenTextError(ValueError):
    """Text that is neither YAML nor JSON. `place` says where: `line 7, column 3`."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place
        self.message = message


class ManifestLoader(FastestLoader):
    """PyYAML's safe loader with the rules that Kubernetes has."""

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[object, object]:  # noqa: FBT001, FBT002 - PyYAML's signature
        """Return the mapping with text keys. Raises `ConstructorError` where a key stands twice."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, ScalarNode) or key.tag == MERGE:
                continue
            key.tag = TEXT
            if key.value in seen:
                raise ConstructorError(None, None, f"expected each key once, found {key.value!r} again", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


ManifestLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in UNKNOWN_TO_KUBERNETES]
    for first, resolvers in ManifestLoader.yaml_implicit_resolvers.items()
}
# What Python has types of its own for, JSON and so Kubernetes has not: these tags change nothing about a value.
for tag, plain in (("set", "map"), ("omap", "seq"), ("pairs", "seq"), ("timestamp", "str")):
    construct = FastestLoader.yaml_constructors[f"tag:yaml.org,2002:{plain}"]
    ManifestLoader.add_constructor(f"tag:yaml.org,2002:{tag}", construct)
ManifestLoader.add_implicit_resolver("tag:yaml.org,2002:int", INTEGER, list("-+0123456789"))
ManifestLoader.add_implicit_resolver("tag:yaml.org,2002:float", NUMBER, list("-+.0123456789"))


def documents(text: str) -> Iterator[object]:
    """Yield the documents of a YAML or JSON text, empty ones left out.

    Raises `BrokenTextError` at the first place that is neither; what stands before it has been yielded by then.
    """
    if text.lstrip()[:1] not in {"{", "["}:
        return _yaml(text)
    try:
        return iter(tuple(_json(text)))
    except json.JSONDecodeError as error:
        # Flow style YAML begins like JSON; what is neither is most likely meant as JSON.
        try:
            return iter(tuple(_yaml(text)))
        except BrokenTextError:
            place = f"line {error.lineno}, column {error.colno}"
            raise BrokenTextError(place, in_our_words(error.msg, "JSON")) from error


def _json(text: str) -> Iterator[object]:
    decoder = json.JSONDecoder(object_pairs_hook=_once)
    position = _next_value(text, 0)
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
            if HALF_A_CHARACTER.search(text):
                json.dumps(value, ensure_ascii=False).encode()
        except json.JSONDecodeError:
            raise
        except RecursionError as error:
            raise BrokenTextError("text", "expected less deep nesting") from error
        except ValueError as error:
            raise _as_broken(error, "JSON") from error
        yield value
        position = _next_value(text, position)


def _next_value(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        again = next(key for key in keys if keys.count(key) > 1)
        raise BrokenTextError("text", f"expected each key once, found {again!r} again")
    return value


def _yaml(text: str) -> Iterator[object]:
    try:
        for value in yaml.load_all(text, ManifestLoader):
            if "&" in text:
                _refuse_floods(value)
            if value is not None:
                yield value
    except MarkedYAMLError as error:
        raise BrokenTextError(_place(error.problem_mark or error.context_mark), _reason(error)) from error
    except RecursionError as error:
        raise BrokenTextError("text", "expected less deep nesting") from error
    except (yaml.YAMLError, ValueError) as error:
        raise _as_broken(error, "YAML") from error


def _refuse_floods(value: object) -> None:
    """Refuse aliases that expand to a flood or that hold themselves: a walk over such a value does not end."""
    sizes: dict[int, int] = {}

    def size(part: object) -> int:
        if not isinstance(part, dict | list):
            return 1
        if id(part) not in sizes:
            sizes[id(part)] = 0
            sizes[id(part)] = 1 + sum(size(item) for item in (part.values() if isinstance(part, dict) else part))
        elif not sizes[id(part)]:
            raise BrokenTextError("aliases", "expected no value that holds itself")
        return sizes[id(part)]

    expanded = size(value)
    if expanded > max(MOST_VALUES_OF_ALIASES, MOST_GROWTH * len(sizes)):
        raise BrokenTextError("aliases", f"expected at most {MOST_VALUES_OF_ALIASES} values once they are expanded")


def _as_broken(error: Exception, language: str) -> BrokenTextError:
    if isinstance(error, BrokenTextError):
        return error
    return BrokenTextError("text", in_our_words(str(error), language))


def _place(mark: Mark | None) -> str:
    return "text" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"


def _reason(error: MarkedYAMLError) -> str:
    problem = error.problem or "something else"
    return problem if problem.startswith("expected each key") else in_our_words(problem, "YAML")
