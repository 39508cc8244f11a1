"""Scalars as written in the source, turned into values.

Every function raises ValueError with the problem, in the words of the API server.
"""

from math import isfinite

from kube_cel.values import MAX_INT, MAX_UINT, MIN_INT, UInt

_SIMPLE_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_HEX_DIGITS = {"x": 2, "X": 2, "u": 4, "U": 8}
_OCTAL_DIGITS = 3
_QUOTES = ('"""', "'''", '"', "'")


def read_int(text: str) -> int:
    """Return the signed 64-bit integer written in decimal or as 0x..."""
    value = _read_whole(text)
    if not MIN_INT <= value <= MAX_INT:
        raise ValueError("invalid int literal")
    return value


def read_uint(text: str) -> UInt:
    """Return the unsigned 64-bit integer written with a trailing u."""
    value = _read_whole(text[:-1])
    if not 0 <= value <= MAX_UINT:
        raise ValueError("invalid uint literal")
    return UInt(value)


def read_double(text: str) -> float:
    """Return the finite double written in decimal."""
    value = float(text)
    if not isfinite(value):
        raise ValueError("invalid double literal")
    return value


def read_string(text: str) -> str:
    """Return the string inside its quotes, escapes resolved unless it is marked raw."""
    body, is_raw = _unquoted(text)
    if is_raw or "\\" not in body:
        return body
    return "".join(piece for piece, _ in _pieces(body))


def read_bytes(text: str) -> bytes:
    """Return the bytes of a literal marked b: hexadecimal and octal escapes are bytes, other characters UTF-8."""
    body, is_raw = _unquoted(text[1:])
    if is_raw or "\\" not in body:
        return body.encode()
    out = bytearray()
    for piece, is_byte in _pieces(body):
        if is_byte == "wide":
            raise ValueError("unable to unescape string")
        out += bytes([ord(piece)]) if is_byte == "byte" else piece.encode()
    return bytes(out)


def _read_whole(text: str) -> int:
    return int(text, 16) if "x" in text else int(text)


def _unquoted(text: str) -> tuple[str, bool]:
    is_raw = text[0] in "rR"
    quoted = text[1:] if is_raw else text
    quote = next(mark for mark in _QUOTES if quoted.startswith(mark))
    body = quoted[len(quote) : -len(quote)]
    return body.replace("\r\n", "\n").replace("\r", "\n"), is_raw


def _pieces(body: str) -> list[tuple[str, str]]:
    pieces = []
    at = 0
    while at < len(body):
        if body[at] != "\\":
            pieces.append((body[at], "plain"))
            at += 1
            continue
        piece, kind, at = _escape(body, at + 1)
        pieces.append((piece, kind))
    return pieces


def _escape(body: str, at: int) -> tuple[str, str, int]:
    mark = body[at : at + 1]
    if mark in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[mark], "plain", at + 1
    if mark in _HEX_DIGITS:
        end = at + 1 + _HEX_DIGITS[mark]
        kind = "byte" if mark in "xX" else "wide"
        return _code_point(body[at + 1 : end], 16, end - at - 1), kind, end
    if mark and mark in "0123":
        end = at + _OCTAL_DIGITS
        return _code_point(body[at:end], 8, _OCTAL_DIGITS), "byte", end
    raise ValueError("unable to unescape string")


def _code_point(digits: str, base: int, length: int) -> str:
    alphabet = "01234567" if base == len("01234567") else "0123456789abcdefABCDEF"
    if len(digits) != length or any(digit not in alphabet for digit in digits):
        raise ValueError("unable to unescape string")
    value = int(digits, base)
    if value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:  # noqa: PLR2004  the range of Unicode scalars
        raise ValueError("invalid unicode code point")
    return chr(value)
