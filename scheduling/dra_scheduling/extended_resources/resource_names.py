"""Which resource names are extended resources, and the name under which every DeviceClass can be asked for."""

import re
from functools import lru_cache

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
NATIVE_DOMAIN = "kubernetes.io/"
QUOTA_PREFIX = "requests."
MAX_DOMAIN = 253 - len(QUOTA_PREFIX)
"""The quota name `requests.<name>` has to be a qualified name, too."""

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_NAME = re.compile("[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def implicit_name(class_name: str) -> str:
    """Return the extended resource name that a class has without being given one."""
    return IMPLICIT_PREFIX + class_name


@lru_cache(maxsize=4096)
def is_extended_name(name: str) -> bool:
    """Whether DRA may serve this resource: an extended resource name, or the implicit name of a class.

    Native names (`cpu`, `hugepages-2Mi`, anything of `kubernetes.io/`) and quota names are none.
    """
    if name.startswith(IMPLICIT_PREFIX):
        return _NAME.fullmatch(name, len(IMPLICIT_PREFIX)) is not None
    return is_explicit_name(name)


@lru_cache(maxsize=4096)
def is_explicit_name(name: str) -> bool:
    """Whether a DeviceClass may have this name in `spec.extendedResourceName`."""
    domain, slash, rest = name.partition("/")
    if not slash or NATIVE_DOMAIN in name or name.startswith(QUOTA_PREFIX):
        return False
    return len(domain) <= MAX_DOMAIN and bool(_DOMAIN.fullmatch(domain)) and bool(_NAME.fullmatch(rest))
