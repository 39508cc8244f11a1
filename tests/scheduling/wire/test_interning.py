import json
from typing import Any

from dra_scheduling.model.slices import Device, ResourceSlice
from dra_scheduling.wire import read_as, write_value


def raw_slice(name: str, memory: str = "10Gi") -> dict[str, Any]:
    draw = {"counterSet": "gpu-0", "counters": {"memory": {"value": memory}}}
    device = {
        "name": "gpu-0-part",
        "attributes": {"model": {"string": "H100"}, "uuid": {"string": name}},
        "capacity": {"memory": {"value": memory}},
        "consumesCounters": [draw],
    }
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": name, "pool": pool, "devices": [device]}
    return {"metadata": {"name": name}, "spec": spec}


def device_of(name: str, memory: str = "10Gi") -> Device:
    return read_as(ResourceSlice, raw_slice(name, memory)).spec.devices[0]


def test_what_two_slices_say_alike_is_held_once() -> None:
    one, other = device_of("n1"), device_of("n2")

    assert one.name is other.name
    assert one.attributes["model"] is other.attributes["model"]
    assert one.capacity is other.capacity
    assert one.consumes_counters[0].counters is other.consumes_counters[0].counters


def test_what_two_slices_say_differently_stays_apart() -> None:
    one, other = device_of("n1"), device_of("n2", "20Gi")

    assert (one.attributes["uuid"].string, other.attributes["uuid"].string) == ("n1", "n2")
    assert str(one.capacity["memory"].value) == "10Gi"
    assert str(other.capacity["memory"].value) == "20Gi"
    assert str(other.consumes_counters[0].counters["memory"].value) == "20Gi"


def test_a_slice_with_shared_parts_is_written_as_it_was_read() -> None:
    device_of("n1")

    written = json.loads(json.dumps(write_value(device_of("n2"))))

    assert written == raw_slice("n2")["spec"]["devices"][0]
