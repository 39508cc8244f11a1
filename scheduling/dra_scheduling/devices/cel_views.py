"""Published devices as CEL expressions see them."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache

from dra_scheduling.devices.bits import members
from dra_scheduling.model.slices import Device, DeviceAttribute
from kube_cel import AttributeValue, DeviceView
from kube_cel.reads import Read
from kube_cel.semver import Version

DRIVER_ONLY = frozenset({("driver", "", "")})


class Views:
    """The devices of one slice while expressions are put to them: what one needed is there for the next.

    Not for longer: views are built faster than they are worth in memory, the answers being kept.
    """

    __slots__ = ("_alike", "_built", "_devices", "_driver")

    def __init__(self, driver: str, devices: tuple[Device, ...]) -> None:
        self._driver = driver
        self._devices = devices
        self._built: dict[int, DeviceView] = {}
        self._alike: dict[frozenset[Read], tuple[int, ...]] = {}

    def told_apart(self, reads: frozenset[Read] | None, asked: int) -> Iterator[tuple[int, DeviceView]]:
        """Yield sets of devices that are all the same to an expression, each with one of them as it sees it.

        Devices are compared only while that saves views: it takes longer than an evaluation.
        """
        if reads is not None and reads <= DRIVER_ONLY:
            yield asked, DeviceView.of_driver(self._driver)
        elif reads is None or 2 * asked.bit_count() <= max(len(self._devices), 4 * len(self._built)):
            for number in members(asked):
                yield 1 << number, self._view(number)
        else:
            for mask in self._sets(reads):
                if mask & asked:
                    yield mask & asked, self._view((mask & -mask).bit_length() - 1)

    def _view(self, number: int) -> DeviceView:
        found = self._built.get(number)
        if found is None:
            found = self._built[number] = device_view(self._driver, self._devices[number])
        return found

    def _sets(self, reads: frozenset[Read]) -> tuple[int, ...]:
        """Return the devices by what is read of them."""
        found = self._alike.get(reads)
        if found is None:
            alike: dict[Hashable, int] = {}
            for number, mark in enumerate(map(marks(self._driver, reads), self._devices)):
                alike[mark] = alike.get(mark, 0) | 1 << number
            found = self._alike[reads] = tuple(alike.values())
        return found


def device_view(driver: str, device: Device) -> DeviceView:
    """Return the device with its values in the types that expressions compare."""
    return DeviceView.of(
        driver,
        {name: _value(attribute) for name, attribute in device.attributes.items()},
        {name: capacity.value for name, capacity in device.capacity.items()},
        allow_multiple_allocations=device.allow_multiple_allocations,
    )


@lru_cache(maxsize=4096)
def marks(driver: str, reads: frozenset[Read]) -> Callable[[Device], Hashable]:
    """Return a function that gives devices of the driver equal marks if they are the same in everything that is read.

    Comparing marks takes a fraction of what a view and an evaluation take.
    """
    attributes = [_published(driver, *place) for field, *place in reads if field == "attributes"]
    capacity = [_published(driver, *place) for field, *place in reads if field == "capacity"]

    def mark(device: Device) -> Hashable:
        found: list[Hashable] = [device.allow_multiple_allocations]
        published = device.attributes
        for whole, short in attributes:
            found.append(_content(published, whole, short))
        if capacity:
            amounts = {name: each.value for name, each in device.capacity.items()}
            found += [_content(amounts, whole, short) for whole, short in capacity]
        return tuple(found)

    return mark


def _content(published: Mapping[str, Hashable], whole: str, short: str) -> Hashable:
    """Return what is published under the names; a device that uses both is told from others by the order, too."""
    found, other = published.get(whole), published.get(short) if short else None
    if found is None:
        return other
    return found if other is None else (found, other, *published)


def _published(driver: str, domain: str, name: str) -> tuple[str, str]:
    """Return the names under which a device may publish what an expression reads from a domain, the short one last."""
    return f"{domain}/{name}", name if domain == driver and "/" not in name else ""


def _value(attribute: DeviceAttribute) -> AttributeValue:
    for value in (attribute.string, attribute.int_, attribute.bool_, attribute.strings, attribute.ints):
        if value is not None:
            return value
    if attribute.version is not None:
        return Version.parse(attribute.version)
    if attribute.versions is not None:
        return tuple(Version.parse(text) for text in attribute.versions)
    return attribute.bools or ()
