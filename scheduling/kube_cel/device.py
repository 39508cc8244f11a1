"""A device as expressions see it."""

from collections.abc import Mapping
from typing import Final

from kube_cel.errors import CelErrorKind, EvaluationError
from kube_cel.quantity import Quantity
from kube_cel.semver import Version
from kube_cel.values import DomainMap, HiddenDomains

AttributeValue = bool | int | str | Version | tuple[bool, ...] | tuple[int, ...] | tuple[str, ...] | tuple[Version, ...]

FIELDS: Final = {
    "driver": "driver",
    "attributes": "attributes",
    "capacity": "capacity",
    "allowMultipleAllocations": "allow_multiple_allocations",
}
"""The fields of a device in an expression, and what they are called here."""


class DeviceView:
    """The four fields of one device, sorted by domain; built once and then only read.

    A plain class with slots, because evaluation is dominated by how fast these fields are read.
    """

    __slots__ = ("allow_multiple_allocations", "attributes", "capacity", "driver")

    driver: str
    attributes: DomainMap
    capacity: DomainMap
    allow_multiple_allocations: bool

    @classmethod
    def of(
        cls,
        driver: str,
        attributes: Mapping[str, AttributeValue],
        capacity: Mapping[str, Quantity],
        *,
        allow_multiple_allocations: bool = False,
    ) -> "DeviceView":
        """Return the view of a device with attributes and capacity under their published names.

        A name without a domain belongs to the domain of the driver.
        """
        view = cls()
        object.__setattr__(view, "driver", driver)
        object.__setattr__(view, "attributes", _by_domain(driver, attributes))
        object.__setattr__(view, "capacity", _by_domain(driver, capacity))
        object.__setattr__(view, "allow_multiple_allocations", allow_multiple_allocations)
        return view

    @classmethod
    def of_driver(cls, driver: str) -> "DeviceView":
        """Return a view of which only the driver is known; an expression fails where it looks at anything else."""
        view = _DriverOnly()
        object.__setattr__(view, "driver", driver)
        object.__setattr__(view, "attributes", HiddenDomains())
        object.__setattr__(view, "capacity", HiddenDomains())
        return view

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"DeviceView is immutable, cannot set {name}")

    def __repr__(self) -> str:
        return f"DeviceView({self.driver!r}, {dict(self.attributes)!r}, {dict(self.capacity)!r})"


class _DriverOnly(DeviceView):
    __slots__ = ()

    @property
    def allow_multiple_allocations(self) -> bool:  # type: ignore[override]
        raise EvaluationError(CelErrorKind.OTHER, "not known: only the driver is given")


def _by_domain(driver: str, named: Mapping[str, object]) -> DomainMap:
    domains = DomainMap()
    for name, value in named.items():
        domain, slash, identifier = name.partition("/")
        if slash:
            domains.setdefault(domain, {})[identifier] = value
        else:
            domains.setdefault(driver, {})[name] = value
    return domains
