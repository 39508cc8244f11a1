"""Every function that a selector can call, with the types it takes.

The set is that of Kubernetes 1.36 and 1.37 with all DRA features on: CEL's standard functions, optionals, strings 2,
sets, lists 3, and Kubernetes' lists, regex, url, ip, cidr, format, quantity and semver. The authorizer is left out,
because no selector can get hold of one.
"""

from functools import lru_cache

from msgspec import Struct

from kube_cel.types import (
    ANY,
    CIDR,
    DURATION,
    IP,
    NAMED_FORMAT,
    OPTIONAL,
    QUANTITY,
    TIMESTAMP,
    URL,
    VERSION,
    Kind,
    parameter,
)

_FUNCTIONS = """
!_: (bool) -> bool
-_: (double) -> double | (int) -> int
@in: (A, list(A)) -> bool | (A, map(A, B)) -> bool
@not_strictly_false: (bool) -> bool
_!=_: (A, A) -> bool
_==_: (A, A) -> bool
_&&_: (bool, bool) -> bool
_||_: (bool, bool) -> bool
_?_:_: (bool, A, A) -> A
_%_: (int, int) -> int | (uint, uint) -> uint
_*_: (double, double) -> double | (int, int) -> int | (uint, uint) -> uint
_/_: (double, double) -> double | (int, int) -> int | (uint, uint) -> uint
_+_: (bytes, bytes) -> bytes | (double, double) -> double | (duration, duration) -> duration
_+_: (duration, timestamp) -> timestamp | (timestamp, duration) -> timestamp | (int, int) -> int
_+_: (list(A), list(A)) -> list(A) | (string, string) -> string | (uint, uint) -> uint
_-_: (double, double) -> double | (duration, duration) -> duration | (int, int) -> int
_-_: (timestamp, duration) -> timestamp | (timestamp, timestamp) -> duration | (uint, uint) -> uint
_[_]: (list(A), int) -> A | (map(A, B), A) -> B
_[_]: (optional(list(V)), int) -> optional(V) | (optional(map(K, V)), K) -> optional(V)
_[?_]: (list(V), int) -> optional(V) | (optional(list(V)), int) -> optional(V)
_[?_]: (map(K, V), K) -> optional(V) | (optional(map(K, V)), K) -> optional(V)
cel.@mapInsert: (map(K, V), K, V) -> map(K, V) | (map(K, V), map(K, V)) -> map(K, V)
size: (bytes) -> int | (list(A)) -> int | (map(A, B)) -> int | (string) -> int
size: bytes.() -> int | list(A).() -> int | map(A, B).() -> int | string.() -> int
bool: (bool) -> bool | (string) -> bool
bytes: (bytes) -> bytes | (string) -> bytes
double: (double) -> double | (int) -> double | (string) -> double | (uint) -> double
duration: (duration) -> duration | (string) -> duration
dyn: (A) -> dyn
int: (int) -> int | (double) -> int | (duration) -> int | (string) -> int | (timestamp) -> int | (uint) -> int
string: (string) -> string | (bool) -> string | (bytes) -> string | (double) -> string | (duration) -> string
string: (int) -> string | (timestamp) -> string | (uint) -> string | (ip) -> string | (cidr) -> string
timestamp: (timestamp) -> timestamp | (int) -> timestamp | (string) -> timestamp
type: (A) -> type(A)
uint: (uint) -> uint | (double) -> uint | (int) -> uint | (string) -> uint
contains: string.(string) -> bool
endsWith: string.(string) -> bool
startsWith: string.(string) -> bool
matches: (string, string) -> bool | string.(string) -> bool
getHours: duration.() -> int
getMinutes: duration.() -> int
getSeconds: duration.() -> int
getMilliseconds: duration.() -> int
optional.of: (V) -> optional(V)
optional.ofNonZeroValue: (V) -> optional(V)
optional.none: () -> optional(V)
optional.unwrap: (list(optional(V))) -> list(V)
unwrapOpt: list(optional(V)).() -> list(V)
value: optional(V).() -> V
hasValue: optional(V).() -> bool
or: optional(V).(optional(V)) -> optional(V)
orValue: optional(V).(V) -> V
first: list(V).() -> optional(V)
last: list(V).() -> optional(V)
charAt: string.(int) -> string
format: string.(list(dyn)) -> string
indexOf: string.(string) -> int | string.(string, int) -> int | list(A).(A) -> int
lastIndexOf: string.(string) -> int | string.(string, int) -> int | list(A).(A) -> int
join: list(string).() -> string | list(string).(string) -> string
lowerAscii: string.() -> string
upperAscii: string.() -> string
replace: string.(string, string) -> string | string.(string, string, int) -> string
split: string.(string) -> list(string) | string.(string, int) -> list(string)
strings.quote: (string) -> string
substring: string.(int) -> string | string.(int, int) -> string
trim: string.() -> string
sets.contains: (list(T), list(T)) -> bool
sets.equivalent: (list(T), list(T)) -> bool
sets.intersects: (list(T), list(T)) -> bool
distinct: list(T).() -> list(T)
flatten: list(list(T)).() -> list(T) | list(dyn).(int) -> list(dyn)
lists.range: (int) -> list(int)
reverse: list(T).() -> list(T)
slice: list(T).(int, int) -> list(T)
includes: dyn.(dyn) -> bool
sum: list(int).() -> int | list(uint).() -> uint | list(double).() -> double | list(duration).() -> duration
find: string.(string) -> string
findAll: string.(string) -> list(string) | string.(string, int) -> list(string)
url: (string) -> url
isURL: (string) -> bool
getScheme: url.() -> string
getHost: url.() -> string
getHostname: url.() -> string
getPort: url.() -> string
getEscapedPath: url.() -> string
getQuery: url.() -> map(string, list(string))
ip: (string) -> ip | cidr.() -> ip
isIP: (string) -> bool
ip.isCanonical: (string) -> bool
family: ip.() -> int
isUnspecified: ip.() -> bool
isLoopback: ip.() -> bool
isLinkLocalMulticast: ip.() -> bool
isLinkLocalUnicast: ip.() -> bool
isGlobalUnicast: ip.() -> bool
cidr: (string) -> cidr
isCIDR: (string) -> bool
containsIP: cidr.(string) -> bool | cidr.(ip) -> bool
containsCIDR: cidr.(string) -> bool | cidr.(cidr) -> bool
masked: cidr.() -> cidr
prefixLength: cidr.() -> int
format.named: (string) -> optional(format)
validate: format.(string) -> optional(list(string))
quantity: (string) -> quantity
isQuantity: (string) -> bool
sign: (quantity) -> int
add: quantity.(quantity) -> quantity | quantity.(int) -> quantity
sub: quantity.(quantity) -> quantity | quantity.(int) -> quantity
asApproximateFloat: quantity.() -> double
asInteger: quantity.() -> int
isInteger: quantity.() -> bool
compareTo: quantity.(quantity) -> int | semver.(semver) -> int
isGreaterThan: quantity.(quantity) -> bool | semver.(semver) -> bool
isLessThan: quantity.(quantity) -> bool | semver.(semver) -> bool
semver: (string) -> semver | (string, bool) -> semver
isSemver: (string) -> bool | (string, bool) -> bool
major: semver.() -> int
minor: semver.() -> int
patch: semver.() -> int
"""

_NUMBERS = ("int", "uint", "double")
_ORDERED = (*_NUMBERS, "bool", "duration", "timestamp", "string", "bytes")
_TIMESTAMP_GETTERS = (
    "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds",
    "getMinutes", "getMonth", "getSeconds",
)  # fmt: skip
NAMED_FORMATS = (
    "dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix",
    "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime",
)  # fmt: skip

_SHORT_NAMES = {
    "dyn": ANY, "duration": DURATION, "timestamp": TIMESTAMP, "url": URL, "ip": IP, "cidr": CIDR,
    "format": NAMED_FORMAT, "quantity": QUANTITY, "semver": VERSION,
}  # fmt: skip


class Signature(Struct, frozen=True, kw_only=True):
    """One way to call a function; the receiver of a method is its first argument."""

    is_method: bool
    arguments: tuple[Kind, ...]
    result: Kind
    parameters: tuple[str, ...]


@lru_cache(maxsize=1)
def signatures() -> dict[str, tuple[Signature, ...]]:
    """Return the ways to call each function, by name, in the order in which they are tried."""
    found: dict[str, list[Signature]] = {}
    for line in [*_FUNCTIONS.strip().splitlines(), *_generated()]:
        name, forms = line.rsplit(": ", 1)
        found.setdefault(name, []).extend(_signature(form) for form in forms.split(" | "))
    return {name: tuple(forms) for name, forms in found.items()}


def _generated() -> list[str]:
    lines = []
    for operator in ("_<_", "_<=_", "_>_", "_>=_"):
        pairs = [(left, right) for left in _NUMBERS for right in _NUMBERS]
        pairs += [(kind, kind) for kind in _ORDERED if kind not in _NUMBERS]
        lines += [f"{operator}: ({left}, {right}) -> bool" for left, right in pairs]
    for kind in _ORDERED:
        lines += [f"{function}: list({kind}).() -> {kind}" for function in ("min", "max")]
        lines += [f"sort: list({kind}).() -> list({kind})", f"isSorted: list({kind}).() -> bool"]
        lines += [f"@sortByAssociatedKeys: list(T).(list({kind})) -> list(T)"]
    lines += [f"{getter}: timestamp.() -> int | timestamp.(string) -> int" for getter in _TIMESTAMP_GETTERS]
    lines += [f"format.{name}: () -> format" for name in NAMED_FORMATS]
    return lines


def _signature(text: str) -> Signature:
    head, result = text.rsplit(" -> ", 1)
    if head.startswith("("):
        receiver, arguments = "", head[1:-1]
    else:
        receiver, arguments = head[:-1].rsplit(".(", 1)
    texts = ([receiver] if receiver else []) + _split(arguments)
    kinds = tuple(_kind(part) for part in texts)
    names = dict.fromkeys(name for kind in (*kinds, _kind(result)) for name in _parameters(kind))
    return Signature(is_method=bool(receiver), arguments=kinds, result=_kind(result), parameters=tuple(names))


def _kind(text: str) -> Kind:
    name, _, inner = text.partition("(")
    if not inner:
        return parameter(name) if name.isupper() else _SHORT_NAMES.get(name, Kind(name))
    return Kind(OPTIONAL if name == "optional" else name, tuple(_kind(part) for part in _split(inner[:-1])))


def _split(text: str) -> list[str]:
    """Return the parts between the commas that no parenthesis encloses."""
    parts: list[str] = []
    for piece in text.split(", ") if text else ():
        if parts and parts[-1].count("(") > parts[-1].count(")"):
            parts[-1] += f", {piece}"
        else:
            parts.append(piece)
    return parts


def _parameters(kind: Kind) -> list[str]:
    return [kind.name] if kind.is_parameter else [name for inner in kind.parameters for name in _parameters(inner)]
