"""Semantic versions 2.0.0: strict as the API server wants them, or normalised as CEL's `semver(text, true)` does."""

import re
from functools import lru_cache
from typing import Final

MAX_NUMBER: Final = 2**64 - 1
MAX_TEXT_LENGTH: Final = 256
EXPECTED: Final = "a semantic version such as 1.2.3, 1.2.3-rc.1 or 1.2.3+build"

Identifier = tuple[int, int, str]
Precedence = tuple[int, int, int, int, tuple[Identifier, ...]]

_NUMBER = "(?:0|[1-9][0-9]*)"
_PRERELEASE = f"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD = "[0-9A-Za-z-]+"
_STRICT = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})"
    rf"(?:-({_PRERELEASE}(?:\.{_PRERELEASE})*))?"
    rf"(?:\+({_BUILD}(?:\.{_BUILD})*))?"
)
_CORE_PARTS = 3


class Version:
    """A semantic version; equality, order and hash are semver 2.0.0 precedence, which ignores build metadata."""

    __slots__ = ("precedence", "text")

    precedence: Precedence
    text: str

    def __init__(self, text: str, precedence: Precedence) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "precedence", precedence)

    @staticmethod
    def parse(text: str) -> "Version":
        """Return the version in `text`, strictly by semver 2.0.0, or raise ValueError saying what was expected."""
        return _parse(text)

    @staticmethod
    def parse_normalized(text: str) -> "Version":
        """Return the version in `text` after dropping one `v`, filling a missing minor and patch and dropping zeros.

        This is Kubernetes' `semver(text, true)`: `v1.2` is 1.2.0. A short version with a prerelease or build raises
        ValueError, as does anything else that is not a version afterwards.
        """
        return _parse(_normalized(text))

    @property
    def major(self) -> int:
        """First number."""
        return self.precedence[0]

    @property
    def minor(self) -> int:
        """Second number."""
        return self.precedence[1]

    @property
    def patch(self) -> int:
        """Third number."""
        return self.precedence[2]

    def __eq__(self, other: object) -> bool:
        return self.precedence == other.precedence if isinstance(other, Version) else NotImplemented

    def __lt__(self, other: "Version") -> bool:
        return self.precedence < other.precedence

    def __le__(self, other: "Version") -> bool:
        return self.precedence <= other.precedence

    def __gt__(self, other: "Version") -> bool:
        return self.precedence > other.precedence

    def __ge__(self, other: "Version") -> bool:
        return self.precedence >= other.precedence

    def __hash__(self) -> int:
        return hash(self.precedence)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Version({self.text!r})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Version is immutable, cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Version is immutable, cannot delete {name}")

    def __reduce__(self) -> tuple[type["Version"], tuple[str, Precedence]]:
        return Version, (self.text, self.precedence)


@lru_cache(maxsize=16_384)
def _parse(text: str) -> Version:
    shape = _STRICT.fullmatch(text) if len(text) <= MAX_TEXT_LENGTH else None
    if shape is None:
        raise ValueError(_refusal(text))
    major, minor, patch = int(shape.group(1)), int(shape.group(2)), int(shape.group(3))
    prerelease = tuple(_identifier(part) for part in shape.group(4).split(".")) if shape.group(4) else ()
    numbers = (major, minor, patch, *(number for _, number, _ in prerelease))
    if max(numbers) > MAX_NUMBER:
        raise ValueError(_refusal(text))
    return Version(text, (major, minor, patch, 0 if prerelease else 1, prerelease))


def _identifier(part: str) -> Identifier:
    return (0, int(part), "") if part.isdigit() else (1, 0, part)


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", _CORE_PARTS - 1)
    if len(parts) < _CORE_PARTS and any(mark in parts[-1] for mark in "+-"):
        raise ValueError(_refusal(text))
    trimmed = [_without_leading_zeros(part) for part in parts]
    return ".".join(trimmed + ["0"] * (_CORE_PARTS - len(trimmed)))


def _without_leading_zeros(part: str) -> str:
    if len(part) <= 1:
        return part
    bare = part.lstrip("0")
    return bare if bare[:1].isdigit() and bare.isascii() else "0" + bare


def _refusal(text: str) -> str:
    shown = text if len(text) <= MAX_TEXT_LENGTH else text[:MAX_TEXT_LENGTH] + "..."
    return f"invalid version {shown!r}: expected {EXPECTED}"
