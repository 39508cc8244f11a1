"""Small worlds by hand."""

from collections.abc import Sequence

from dra_oracle.publishing import DRIVERS, LABELS, NODE
from dra_oracle.world import STABLE_FEATURES, Json, World

GPU, NIC = DRIVERS


def device(name: str, attributes: Json | None = None, **more: object) -> Json:
    """A device; attributes are plain texts and numbers."""
    typed = {key: {"string" if isinstance(value, str) else "int": value} for key, value in (attributes or {}).items()}
    return {"name": name, **({"attributes": typed} if typed else {}), **more}


def piece(name: str, *devices: Json, driver: str = GPU, pool: str = "p", generation: int = 1, **spec: object) -> Json:
    """A slice on the node, the only one of its pool unless `count` says otherwise; `spec` is of the API."""
    place = {"nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"} & spec.keys()
    count = spec.pop("count", 1)
    return {
        "metadata": {"name": name},
        "spec": {
            "driver": driver,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            **({} if place else {"nodeName": NODE}),
            "devices": list(devices),
            **spec,
        },
    }


def wish(class_name: str = "any", *selectors: str, count: int = 1, **more: object) -> Json:
    """What a request or an alternative wants; a count of 0 is all devices."""
    mode: Json = {"allocationMode": "ExactCount", "count": count} if count else {"allocationMode": "All"}
    chosen = {"selectors": [{"cel": {"expression": text}} for text in selectors]} if selectors else {}
    return {"deviceClassName": class_name, **mode, **chosen, **more}


def request(name: str, *wishes: Json) -> Json:
    """A request for one thing, or for the first available one of several."""
    if len(wishes) == 1:
        return {"name": name, "exactly": wishes[0]}
    return {"name": name, "firstAvailable": [{"name": f"s{number}", **each} for number, each in enumerate(wishes)]}


def claim(*requests: Json, **more: object) -> Json:
    """A claim; `more` are constraints and config."""
    return {"metadata": {"name": "c", "namespace": "default"}, "spec": {"devices": {"requests": [*requests], **more}}}


def held(name: str, pool: str = "p", **more: object) -> Json:
    """A result of somebody else's allocation."""
    return {"request": "r", "driver": GPU, "pool": pool, "device": name, **more}


def device_class(name: str, *selectors: str) -> Json:
    """A class."""
    return {"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": text}} for text in selectors]}}


def world(slices: Sequence[Json], *claims: Json, taken: Sequence[Json] = (), extra: Sequence[str] = ()) -> World:
    """A world with a class for each driver and one for all devices; `extra` are features beyond the stable ones."""
    return World(
        node={"metadata": {"name": NODE, "labels": dict(LABELS)}},
        slices=tuple(slices),
        classes=(
            device_class("gpu", f'device.driver == "{GPU}"'),
            device_class("nic", f'device.driver == "{NIC}"'),
            device_class("any"),
        ),
        claims=tuple({**each, "metadata": {"name": f"c{n}", "namespace": "default"}} for n, each in enumerate(claims)),
        held=tuple(taken),
        features=(*STABLE_FEATURES, *extra),
    )
