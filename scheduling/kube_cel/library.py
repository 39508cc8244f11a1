"""Every function by the name that an expression calls it with."""

from collections.abc import Callable
from functools import partial

from kube_cel import (
    arithmetic,
    functions_core,
    functions_kube,
    functions_lists,
    functions_net,
    functions_text,
    functions_url,
)
from kube_cel import operators as ops
from kube_cel.errors import no_such_overload
from kube_cel.functions_format import format_text
from kube_cel.functions_time import TIME_FUNCTIONS
from kube_cel.signatures import NAMED_FORMATS
from kube_cel.values import NamedFormat, Value

Function = Callable[..., Value]


def logical_not(value: Value) -> bool:
    """Return the opposite of a bool."""
    if value.__class__ is bool:
        return not value
    raise no_such_overload()


def _constant(value: Value) -> Value:
    return value


FUNCTIONS: dict[str, Function] = {
    "!_": logical_not,
    "-_": arithmetic.negate,
    "_+_": arithmetic.add,
    "_-_": arithmetic.subtract,
    "_*_": arithmetic.multiply,
    "_/_": arithmetic.divide,
    "_%_": arithmetic.modulo,
    "_==_": ops.equal,
    "_!=_": ops.not_equal,
    "_<_": ops.less,
    "_<=_": ops.less_or_equal,
    "_>_": ops.greater,
    "_>=_": ops.greater_or_equal,
    "@in": ops.contained,
    "_[_]": ops.index,
    "_[?_]": ops.optional_index,
    "size": functions_core.size,
    "dyn": functions_core.dyn,
    "type": functions_core.type_of,
    "bool": functions_core.to_bool,
    "bytes": functions_core.to_bytes,
    "double": functions_core.to_double,
    "int": functions_core.to_int,
    "string": functions_core.to_string,
    "uint": functions_core.to_uint,
    "duration": functions_core.to_duration,
    "timestamp": functions_core.to_timestamp,
    "optional.of": functions_core.optional_of,
    "optional.ofNonZeroValue": functions_core.optional_of_non_zero,
    "optional.none": functions_core.optional_none,
    "optional.unwrap": functions_core.optional_unwrap,
    "unwrapOpt": functions_core.optional_unwrap,
    "value": functions_core.optional_value,
    "hasValue": functions_core.optional_has_value,
    "contains": functions_text.contains,
    "startsWith": functions_text.starts_with,
    "endsWith": functions_text.ends_with,
    "matches": functions_text.matches,
    "find": functions_text.find,
    "findAll": functions_text.find_all,
    "charAt": functions_text.char_at,
    "indexOf": functions_text.index_of,
    "lastIndexOf": functions_text.last_index_of,
    "join": functions_text.join,
    "lowerAscii": functions_text.lower_ascii,
    "upperAscii": functions_text.upper_ascii,
    "replace": functions_text.replace,
    "split": functions_text.split,
    "substring": functions_text.substring,
    "trim": functions_text.trim,
    "strings.quote": functions_text.quote,
    "format": format_text,
    "slice": functions_lists.slice_of,
    "flatten": functions_lists.flatten,
    "lists.range": functions_lists.range_of,
    "reverse": functions_lists.reverse,
    "distinct": functions_lists.distinct,
    "sort": functions_lists.sort,
    "@sortByAssociatedKeys": functions_lists.sort_by,
    "isSorted": functions_lists.is_sorted,
    "sum": functions_lists.sum_of,
    "min": functions_lists.smallest,
    "max": functions_lists.largest,
    "includes": functions_lists.includes,
    "first": functions_lists.first,
    "last": functions_lists.last,
    "sets.contains": functions_lists.sets_contains,
    "sets.intersects": functions_lists.sets_intersects,
    "sets.equivalent": functions_lists.sets_equivalent,
    "url": functions_url.url,
    "isURL": functions_url.is_url,
    "getScheme": functions_url.get_scheme,
    "getHost": functions_url.get_host,
    "getHostname": functions_url.get_hostname,
    "getPort": functions_url.get_port,
    "getEscapedPath": functions_url.get_escaped_path,
    "getQuery": functions_url.get_query,
    "ip": functions_net.ip,
    "isIP": functions_net.is_ip,
    "ip.isCanonical": functions_net.is_canonical,
    "family": functions_net.family,
    "isUnspecified": functions_net.is_unspecified,
    "isLoopback": functions_net.is_loopback,
    "isLinkLocalMulticast": functions_net.is_link_local_multicast,
    "isLinkLocalUnicast": functions_net.is_link_local_unicast,
    "isGlobalUnicast": functions_net.is_global_unicast,
    "cidr": functions_net.cidr,
    "isCIDR": functions_net.is_cidr,
    "containsIP": functions_net.contains_ip,
    "containsCIDR": functions_net.contains_cidr,
    "masked": functions_net.masked,
    "prefixLength": functions_net.prefix_length,
    "quantity": functions_kube.quantity,
    "isQuantity": functions_kube.is_quantity,
    "sign": functions_kube.sign,
    "add": functions_kube.add,
    "sub": functions_kube.sub,
    "asApproximateFloat": functions_kube.as_approximate_float,
    "asInteger": functions_kube.as_integer,
    "isInteger": functions_kube.is_integer,
    "compareTo": functions_kube.compare_to,
    "isGreaterThan": functions_kube.is_greater_than,
    "isLessThan": functions_kube.is_less_than,
    "semver": functions_kube.semver,
    "isSemver": functions_kube.is_semver,
    "major": functions_kube.major,
    "minor": functions_kube.minor,
    "patch": functions_kube.patch,
    "format.named": functions_kube.named_format,
    "validate": functions_kube.validate,
    **TIME_FUNCTIONS,
    **{f"format.{name}": partial(_constant, NamedFormat(name)) for name in NAMED_FORMATS},
}
"""The receiver of a method is the first argument. What is evaluated lazily is not here: logic, loops, or, orValue."""
