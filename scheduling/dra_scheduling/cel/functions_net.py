"""Kubernetes' IP address, CIDR and URL functions."""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface
from urllib.parse import parse_qsl, quote, unquote

from dra_scheduling.cel.errors import CelErrorKind, EvaluationError, no_such_overload
from dra_scheduling.cel.functions_text import text
from dra_scheduling.cel.values import Cidr, Ip, Url, Value

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HOST = re.compile(r"[A-Za-z0-9!$&'()*+,;=:\[\]<>\"_.~%\x80-\U0010ffff-]*")
_PORT = re.compile(r"(?::[0-9]*)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PATH_SAFE = "$&+,/:;=@!'()*[]~-._"
_IPV4_PREFIX = 32
_IPV6_PREFIX = 128


@lru_cache(maxsize=1024)
def _address(string: str) -> Ip:
    if "%" in string:
        raise ValueError(f"IP address {string!r} with zone value is not allowed")
    address = ip_address(string)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise ValueError(f"IPv4-mapped IPv6 address {string!r} is not allowed")
    return Ip(address)


@lru_cache(maxsize=1024)
def _network(string: str) -> Cidr:
    address, slash, bits = string.partition("/")
    width = _IPV6_PREFIX if ":" in address else _IPV4_PREFIX
    if not slash or not bits.isdigit() or not bits.isascii() or str(int(bits)) != bits or int(bits) > width:
        raise ValueError(f"network address {string!r} needs a prefix length from 0 to {width}")
    return Cidr(ip_interface(f"{_address(address).address}/{bits}"))


def _failure(problem: ValueError) -> EvaluationError:
    return EvaluationError(CelErrorKind.OTHER, f"parse error during conversion from string: {problem}")


def ip(value: Value) -> Ip:
    """Return the address written in a string, or the one inside a CIDR."""
    if value.__class__ is Cidr:
        return Ip(value.interface.ip)
    try:
        return _address(text(value))
    except ValueError as problem:
        raise _failure(problem) from None


def is_ip(value: Value) -> bool:
    """Return whether a string is an IP address."""
    try:
        _address(text(value))
    except ValueError:
        return False
    return True


def is_canonical(value: Value) -> bool:
    """Return whether a string is an IP address in its one canonical form."""
    return str(ip(text(value)).address) == text(value)


def cidr(value: Value) -> Cidr:
    """Return the network written in a string."""
    try:
        return _network(text(value))
    except ValueError as problem:
        raise _failure(problem) from None


def is_cidr(value: Value) -> bool:
    """Return whether a string is a network in CIDR notation."""
    try:
        _network(text(value))
    except ValueError:
        return False
    return True


def _inside(value: Value) -> IPv4Address | IPv6Address:
    if isinstance(value, Ip):
        return value.address
    raise no_such_overload()


def _cidr(value: Value) -> Cidr:
    if isinstance(value, Cidr):
        return value
    raise no_such_overload()


def family(value: Value) -> int:
    """Return 4 or 6."""
    return _inside(value).version


def is_unspecified(value: Value) -> bool:
    """Return whether the address is 0.0.0.0 or ::."""
    return _inside(value).is_unspecified


def is_loopback(value: Value) -> bool:
    """Return whether the address is one of the machine itself."""
    return _inside(value).is_loopback


def is_link_local_multicast(value: Value) -> bool:
    """Return whether the address is 224.0.0.x or ff?2::."""
    address = _inside(value)
    if isinstance(address, IPv4Address):
        return address.packed[:3] == b"\xe0\x00\x00"
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02  # noqa: PLR2004  multicast, scope link


def is_link_local_unicast(value: Value) -> bool:
    """Return whether the address is 169.254.x.x or fe80::/10."""
    return _inside(value).is_link_local


def is_global_unicast(value: Value) -> bool:
    """Return whether the address is an ordinary one, private networks included."""
    address = _inside(value)
    is_broadcast = address.packed == b"\xff\xff\xff\xff"
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not (special or is_broadcast)


def contains_ip(network: Value, address: Value) -> bool:
    """Return whether a network holds an address, given as such or as a string."""
    inside = _inside(ip(address) if address.__class__ is str else address)
    outer = _cidr(network).interface.network
    return inside.version == outer.version and inside in outer


def contains_cidr(network: Value, other: Value) -> bool:
    """Return whether a network holds another, given as such or as a string."""
    inner = _cidr(cidr(other) if other.__class__ is str else other).interface.network
    outer = _cidr(network).interface.network
    return outer.version == inner.version and outer.prefixlen <= inner.prefixlen and inner.network_address in outer


def masked(value: Value) -> Cidr:
    """Return the network with the host bits cleared."""
    return Cidr(ip_interface(str(_cidr(value).interface.network)))


def prefix_length(value: Value) -> int:
    """Return the number of network bits."""
    return _cidr(value).interface.network.prefixlen


@lru_cache(maxsize=1024)
def _parsed(string: str) -> Url:
    """Return an absolute URL or path, taken apart as Go's net/url does, or raise ValueError."""
    if not string or _CONTROL.search(string):
        raise ValueError(f"parse {string!r}: empty url or control character")
    scheme = _SCHEME.match(string)
    rest = string[scheme.end() :] if scheme else string
    if not rest.startswith("/") and not scheme:
        raise ValueError(f"parse {string!r}: invalid URI for request")
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        host, rest = authority.rpartition("@")[2], slash + path
    if not rest.startswith("/") and not host and rest:
        rest = ""
    port = host[host.rfind("]") + 1 :] if host.startswith("[") else host[host.find(":") :] if ":" in host else ""
    if not _HOST.fullmatch(host) or not _PORT.fullmatch(port) or _BAD_ESCAPE.search(rest + host + fragment):
        raise ValueError(f"parse {string!r}: invalid host, port or escape")
    return Url(
        text=string,
        scheme=scheme.group(1).lower() if scheme else "",
        host=host,
        escaped_path=_escaped(rest),
        query=query,
    )


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
        _parsed(text(value))
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
