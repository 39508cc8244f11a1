"""What the API server would refuse of pods, claims and slices: such an object can never be in a cluster."""

import re
from collections.abc import Callable, Iterator, Mapping

from dra_scheduling.extended_resources.resource_names import is_extended_name
from dra_scheduling.wire import WireFault
from kube_cel.quantity import Quantity

MOST_ALTERNATIVES = 8
MOST_TOLERATIONS = 16
MOST_OF_A_LIST = 32
LABEL = re.compile("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
DRIVER = re.compile(r"(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
EFFECTS = ("", "NoSchedule", "NoExecute")
Faults = Iterator[WireFault]


def refused(raw: Mapping[str, object]) -> tuple[WireFault, ...]:
    """Return what the API server would refuse of an object that could be read; nothing of kinds not known here."""
    check = CHECKS.get(str(raw.get("kind")))
    return () if check is None else tuple(check(_map(raw.get("spec"))))


def refused_pod_spec(spec: Mapping[str, object], path: str = "$.spec") -> Faults:
    """Yield what the API server would refuse of a pod's claims and of the resources of its containers."""
    names: set[object] = set()
    for here, entry in _items(spec, "resourceClaims", path):
        name = entry.get("name")
        if name in names:
            yield WireFault(f"{here}.name", f"expected entries of different names, {name} is there before")
        yield from _label(name, f"{here}.name")
        names.add(name)
        sources = [key for key in ("resourceClaimName", "resourceClaimTemplateName") if entry.get(key) is not None]
        if len(sources) != 1:
            got = "both" if sources else "neither"
            yield WireFault(here, f"expected one of resourceClaimName, resourceClaimTemplateName, got {got}")
    for field in ("initContainers", "containers"):
        for here, container in _items(spec, field, path):
            resources = _map(container.get("resources"))
            yield from _used_claims(resources, names, f"{here}.resources")
            yield from _extended(resources, f"{here}.resources")


def _used_claims(resources: Mapping[str, object], names: set[object], path: str) -> Faults:
    seen: set[tuple[object, object]] = set()
    for here, entry in _items(resources, "claims", path):
        name, request = entry.get("name"), entry.get("request")
        if name not in names:
            yield WireFault(f"{here}.name", f"expected an entry of spec.resourceClaims, got {name}")
        if (name, request) in seen:
            yield WireFault(here, f"expected each claim and request once, {name} is there before")
        seen.add((name, request))


def _extended(resources: Mapping[str, object], path: str) -> Faults:
    requests, limits = _map(resources.get("requests")), _map(resources.get("limits"))
    for field, amounts in (("requests", requests), ("limits", limits)):
        for name, amount in amounts.items():
            if is_extended_name(name) and _nano(amount) % 1_000_000_000:
                yield WireFault(f'{path}.{field}["{name}"]', f"expected a whole number, got {amount}")
    for name, amount in requests.items():
        if name in limits and is_extended_name(name) and _nano(amount) != _nano(limits[name]):
            yield WireFault(
                f'{path}.requests["{name}"]', f"expected as much as the limit of {limits[name]}, got {amount}"
            )


def _claim(spec: Mapping[str, object], path: str = "$.spec") -> Faults:
    devices, here = _map(spec.get("devices")), f"{path}.devices"
    for field in ("requests", "constraints", "config"):
        yield from _at_most(devices, field, MOST_OF_A_LIST, here)
    for place, request in _items(devices, "requests", here):
        yield from _label(request.get("name"), f"{place}.name")
        yield from _wish(_map(request.get("exactly")), f"{place}.exactly")
        yield from _at_most(request, "firstAvailable", MOST_ALTERNATIVES, place)
        for below, alternative in _items(request, "firstAvailable", place):
            yield from _label(alternative.get("name"), f"{below}.name")
            yield from _wish(alternative, below)
    yield from _config(devices, here)


def _wish(wish: Mapping[str, object], path: str) -> Faults:
    yield from _at_most(wish, "selectors", MOST_OF_A_LIST, path)
    yield from _at_most(wish, "tolerations", MOST_TOLERATIONS, path)
    for here, toleration in _items(wish, "tolerations", path):
        operator, effect = toleration.get("operator") or "Equal", toleration.get("effect") or ""
        if operator not in {"Exists", "Equal"}:
            yield WireFault(f"{here}.operator", f"expected Exists or Equal, got {operator}")
        elif operator == "Exists" and toleration.get("value"):
            yield WireFault(f"{here}.value", "expected none with operator Exists")
        elif operator == "Equal" and not toleration.get("key"):
            yield WireFault(f"{here}.operator", "expected Exists where no key is named")
        if effect not in EFFECTS:
            yield WireFault(f"{here}.effect", f"expected NoSchedule or NoExecute, got {effect}")


def _config(holder: Mapping[str, object], path: str) -> Faults:
    for here, entry in _items(holder, "config", path):
        opaque = entry.get("opaque")
        if not isinstance(opaque, Mapping):
            yield WireFault(f"{here}.opaque", "expected a configuration")
            continue
        driver = opaque.get("driver")
        if not isinstance(driver, str) or not DRIVER.fullmatch(driver):
            yield WireFault(f"{here}.opaque.driver", f"expected the name of a driver, got {driver}")
        if not isinstance(opaque.get("parameters"), Mapping):
            yield WireFault(f"{here}.opaque.parameters", "expected an object")


def _template(spec: Mapping[str, object]) -> Faults:
    return _claim(_map(spec.get("spec")), "$.spec.spec")


def _class(spec: Mapping[str, object]) -> Faults:
    for field in ("selectors", "config"):
        yield from _at_most(spec, field, MOST_OF_A_LIST, "$.spec")
    yield from _config(spec, "$.spec")


def _slice(spec: Mapping[str, object]) -> Faults:
    for here, device in _items(spec, "devices", "$.spec"):
        yield from _label(device.get("name"), f"{here}.name")


def _label(name: object, path: str) -> Faults:
    if not isinstance(name, str) or not LABEL.fullmatch(name):
        yield WireFault(path, f"expected a DNS label, such as gpu-1, got {name or 'nothing'}")


def _at_most(holder: Mapping[str, object], field: str, most: int, path: str) -> Faults:
    count = len(_list(holder.get(field)))
    if count > most:
        yield WireFault(f"{path}.{field}", f"expected at most {most} entries, got {count}")


def _items(holder: Mapping[str, object], field: str, path: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    for number, item in enumerate(_list(holder.get(field))):
        if isinstance(item, Mapping):
            yield f"{path}.{field}[{number}]", item


def _nano(amount: object) -> int:
    try:
        return Quantity.of(amount).nano if isinstance(amount, str | int | float) else 0
    except ValueError:
        return 0


def _map(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


CHECKS: Mapping[str, Callable[[Mapping[str, object]], Faults]] = {
    "Pod": refused_pod_spec,
    "ResourceClaim": _claim,
    "ResourceClaimTemplate": _template,
    "DeviceClass": _class,
    "ResourceSlice": _slice,
}
