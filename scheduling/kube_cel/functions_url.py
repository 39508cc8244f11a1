"""Kubernetes' URL functions, with the rules of Go's net/url."""

import re
from functools import lru_cache
from ipaddress import IPv6Address
from urllib.parse import parse_qsl, quote, unquote

from kube_cel.errors import CelErrorKind, EvaluationError, no_such_overload
from kube_cel.functions_text import text
from kube_cel.values import Url, Value

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)")
_USER = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")
_HOST = re.compile(r"[A-Za-z0-9!$&'()*+,;=:<>\"_.~%\x80-\U0010ffff-]*")
_PORT = re.compile(r"(?::[0-9]*)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PATH_SAFE = "$&+,/:;=@!'()*[]~-._"


@lru_cache(maxsize=1024)
def _parsed(string: str) -> Url:
    """Return a URL, taken apart, or raise ValueError."""
    _check_request(string)
    rest, _, fragment = string.partition("#")
    scheme, rest = _scheme(rest)
    rest, _, query = rest.partition("?")
    authority, path = _authority(rest) if scheme or not rest.startswith("///") else ("", rest)
    _check_authority(authority)
    if _BAD_ESCAPE.search(path + fragment):
        raise ValueError(f"parse {string!r}: invalid URL escape")
    host = authority.rpartition("@")[2]
    # A scheme followed by neither // nor / leaves all of the rest opaque.
    hierarchical = path if path.startswith("/") else ""
    return Url(text=string, scheme=scheme, host=host, escaped_path=_escaped(hierarchical), query=query)


def _check_request(string: str) -> None:
    """Raise ValueError unless a string can stand in an HTTP request: absolute, and without regard to fragments."""
    scheme, rest = _scheme(string)
    if not string or _CONTROL.search(string) or not (scheme or rest.startswith("/") or string == "*"):
        raise ValueError(f"parse {string!r}: invalid URI for request")
    authority, path = _authority(rest.partition("?")[0]) if scheme else ("", rest.partition("?")[0])
    _check_authority(authority)
    if path.startswith("/") and _BAD_ESCAPE.search(path):
        raise ValueError(f"parse {string!r}: invalid URL escape")


def _scheme(string: str) -> tuple[str, str]:
    found = _SCHEME.match(string)
    return (found.group().lower(), string[found.end() + 1 :]) if found else ("", string)


def _authority(rest: str) -> tuple[str, str]:
    if not rest.startswith("//"):
        return "", rest
    authority, slash, path = rest[2:].partition("/")
    return authority, slash + path


def _check_authority(authority: str) -> None:
    user, _, host = authority.rpartition("@")
    name, port = host, ""
    if host.startswith("["):
        address, _, port = host[1:].rpartition("]")
        IPv6Address(address.replace("%25", "%"))
        name = ""
    elif ":" in host:
        name, _, digits = host.partition(":")
        port = f":{digits}"
    if not (_USER.fullmatch(user) and _HOST.fullmatch(name) and _PORT.fullmatch(port)) or _BAD_ESCAPE.search(authority):
        raise ValueError(f"invalid user, host or port in {authority!r}")


def _escaped(path: str) -> str:
    return path if quote(path, safe=_PATH_SAFE + "%") == path else quote(unquote(path), safe=_PATH_SAFE)


def url(value: Value) -> Url:
    """Return the absolute URL or path written in a string."""
    try:
        return _parsed(text(value))
    except ValueError as problem:
        raise EvaluationError(CelErrorKind.OTHER, f"URL parse error during conversion from string: {problem}") from None


def is_url(value: Value) -> bool:
    """Return whether a string is an absolute URL or path."""
    try:
        _check_request(text(value))
    except ValueError:
        return False
    return True


def _url(value: Value) -> Url:
    if isinstance(value, Url):
        return value
    raise no_such_overload()


def get_scheme(value: Value) -> str:
    """Return the scheme of a URL, in lower case."""
    return _url(value).scheme


def get_host(value: Value) -> str:
    """Return the host of a URL, with its port."""
    return _url(value).host


def get_hostname(value: Value) -> str:
    """Return the host of a URL, without port and brackets."""
    host = _url(value).host
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def get_port(value: Value) -> str:
    """Return the port of a URL, as text."""
    host = _url(value).host
    return (host.rpartition("]")[2] if host.startswith("[") else host).partition(":")[2]


def get_escaped_path(value: Value) -> str:
    """Return the path of a URL, with escapes."""
    return _url(value).escaped_path


def get_query(value: Value) -> dict[str, tuple[str, ...]]:
    """Return the query of a URL: each name with its values."""
    found: dict[str, tuple[str, ...]] = {}
    for name, content in parse_qsl(_url(value).query, keep_blank_values=True):
        found[name] = (*found.get(name, ()), content)
    return found
