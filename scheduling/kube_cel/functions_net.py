"""Kubernetes' IP address and CIDR functions."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface

from kube_cel.errors import CelErrorKind, EvaluationError, no_such_overload
from kube_cel.functions_text import text
from kube_cel.values import Cidr, Ip, Value

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
