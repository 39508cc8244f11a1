from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from dra_builders.values import claim, driver_class, match_attribute, request
from dra_scheduling.basics.requirements import Requirement, Requirements
from dra_scheduling.devices import PoolIndex
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.instancetypes import (
    CAPACITY_TYPE_LABEL,
    ZONE_LABEL,
    Expanded,
    attribute_bindings,
    expand,
    status_of,
)
from dra_scheduling.model.claims import DeviceRequest
from dra_scheduling.model.conditions import Condition, condition_of
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.instancetypes import InstanceType, InstanceTypeStatus
from dra_scheduling.template_devices import Allotment, DeviceHost, PodClaims, Published, Scope, TemplateAllocator
from dra_scheduling.wire import read_as

SAMPLES = Path(__file__).parents[3] / "manifests/samples/instancetypes"
ROOT = "resource.kubernetes.io/pcieRoot"
POOL = "accelerated"
NOW, LATER = "2030-01-01T00:00:00Z", "2030-01-01T00:01:00Z"


def sample(file: str, number: int = 0) -> InstanceType:
    return read_as(InstanceType, list(yaml.safe_load_all((SAMPLES / file).read_text()))[number])


def written(spec: dict[str, Any] | None = None, name: str = "small") -> InstanceType:
    whole = {"offerings": [{"zone": "a", "price": 1}], "capacity": {"cpu": 4, "memory": "16Gi"}, **(spec or {})}
    return read_as(InstanceType, {"metadata": {"name": name, "generation": 3}, "spec": whole})


def sound(instance_type: InstanceType) -> Expanded:
    result = expand(instance_type)
    assert isinstance(result, Expanded), result
    return result


def with_groups(*groups: dict[str, Any], counters: tuple[dict[str, Any], ...] = ()) -> Expanded:
    return sound(written({"devices": {"groups": groups, "sharedCounters": counters}}))


def answer(expanded: Expanded, *requests: DeviceRequest, matching: str = "") -> list[DeviceID]:
    """The devices that the type gives to one claim; none where it cannot serve it."""
    constraints = (match_attribute(matching),) if matching else ()
    classes = {name: driver_class(name) for name in ("gpu.nvidia.com", "gpu.amd.com", "dra.net")}
    asked = PodClaims((claim("c", *requests, constraints=constraints),), classes)
    candidate = DeviceHost.of_node_claim("new", expanded.requirements, (expanded.candidate,), POOL)
    bindings = attribute_bindings({POOL: [expanded]})
    found = TemplateAllocator(Published(PoolIndex()), Ledger(), bindings).allocate(asked, candidate)
    return [use.device for use in found.served[0].claims[0].uses] if isinstance(found, Allotment) else []


def gpu_and_nic(gpus: int = 1, driver: str = "gpu.nvidia.com") -> tuple[DeviceRequest, DeviceRequest]:
    rdma = "device.attributes['dra.net'].rdma"
    return request("gpu", driver, count=gpus), request("nic", "dra.net", rdma)


@pytest.mark.parametrize(
    ("file", "driver", "gpus", "devices"),
    [
        ("p4d.24xlarge.yaml", "gpu.nvidia.com", 2, ["gpu-0", "gpu-1", "efa-0"]),
        ("p4d.24xlarge.yaml", "gpu.nvidia.com", 3, []),
        ("p5.48xlarge.yaml", "gpu.nvidia.com", 1, ["gpu-0", "efa-0"]),
        ("p5en.48xlarge.yaml", "gpu.nvidia.com", 1, ["gpu-0", "efa-0"]),
        ("p5en.48xlarge.yaml", "gpu.nvidia.com", 2, []),
        ("gb200.yaml", "gpu.nvidia.com", 1, []),
        ("mi300x.yaml", "gpu.amd.com", 1, []),
    ],
)
def test_a_gpu_and_a_network_card_share_a_root_on(file: str, driver: str, gpus: int, devices: list[str]) -> None:
    found = answer(sound(sample(file)), *gpu_and_nic(gpus, driver), matching=ROOT)

    assert [one.device for one in found] == devices


@pytest.mark.parametrize(("profile", "most"), [("1g.10gb", 7), ("2g.20gb", 3), ("3g.40gb", 2), ("4g.40gb", 1)])
def test_a_gpu_is_cut_into_as_many_partitions_as_it_has_room_for(profile: str, most: int) -> None:
    expanded = sound(sample("p5.4xlarge-mig.yaml"))
    of_profile = f"device.attributes['gpu.nvidia.com'].?profile.orValue('') == '{profile}'"

    assert len(answer(expanded, request("mig", "gpu.nvidia.com", of_profile, count=most))) == most
    assert answer(expanded, request("mig", "gpu.nvidia.com", of_profile, count=most + 1)) == []


def test_labels_say_what_every_node_of_the_type_has() -> None:
    expanded = sound(sample("p5en.48xlarge.yaml"))

    assert expanded.labels == {
        "instance-family": "p5en",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "p5en.48xlarge",
        "topology.kubernetes.io/zone": "zone-a",
    }
    assert expanded.requirements.of(CAPACITY_TYPE_LABEL).values == {"spot", "on-demand"}


def test_the_name_of_a_machine_may_be_one_that_no_object_can_have() -> None:
    assert sound(sample("mi300x.yaml")).name == "Standard_ND96isr_MI300X_v5"


def test_offerings_go_by_price_and_only_those_that_can_be_had_count() -> None:
    expanded = sound(sample("p5en.48xlarge.yaml"))
    in_b = Requirements.of_new_node(Requirement(key=ZONE_LABEL, values=frozenset(("zone-b",))))

    offered = [(one.capacity_type, one.zone) for one in expanded.offerings_within(expanded.requirements)]
    assert offered == [("spot", "zone-a"), ("on-demand", "zone-a")]
    assert expanded.offerings_within(in_b) == ()


def test_a_type_that_cannot_be_had_is_had_under_no_labels() -> None:
    offerings = [{"zone": "a", "price": 1, "available": False}]
    expanded = sound(written({"offerings": offerings}))

    assert not expanded.is_available
    assert all(expanded.requirements.conflict(offering) is not None for offering in expanded.candidate.offerings)
    assert expanded.candidate.offerings


def test_pods_get_what_the_system_leaves_rounded_down() -> None:
    spec = {"capacity": {"cpu": 2, "memory": "8Gi"}, "overhead": {"cpu": "0.0705", "memory": "1Gi"}}
    expanded = sound(written(spec))

    assert dict(expanded.allocatable.items()) == {"cpu": 1929, "memory": 7 << 30, "pods": 110}
    assert {name: str(amount) for name, amount in expanded.capacity.items()} == {
        "pods": "110",
        "cpu": "2",
        "memory": "8Gi",
    }


def test_the_same_content_is_expanded_once_whatever_its_status() -> None:
    one = written()
    other = read_as(
        InstanceType,
        {
            "metadata": {"name": "small"},
            "spec": {
                "capacity": {"memory": "16Gi", "cpu": 4},
                "offerings": [{"price": 1, "zone": "a"}],
            },
            "status": {"deviceCount": 7},
        },
    )

    assert expand(one) is expand(other)
    assert expand(one) is not expand(written(name="large"))


def test_types_with_the_same_devices_share_them() -> None:
    devices = {"groups": [{"driver": "dra.net", "name": "n"}]}
    one, other = (sound(written({"devices": devices}, name)) for name in ("one", "other"))

    assert one.candidate.devices is other.candidate.devices


def test_bindings_hold_for_the_type_in_the_node_pool() -> None:
    declared = sound(sample("p5en.48xlarge.yaml")).bindings(POOL)

    assert set(declared) == {
        Scope(ROOT, POOL, "p5en.48xlarge"),
        Scope("gpu.nvidia.com/driverVersion", POOL, "p5en.48xlarge"),
    }
    assert [len(group) for group in declared[Scope(ROOT, POOL, "p5en.48xlarge")]] == [3] * 8


def test_the_status_of_a_sound_type_counts_its_devices() -> None:
    one = sample("p4d.24xlarge.yaml")
    status = status_of(one, expand(one), now=NOW)

    assert (status.device_count, status.devices, status.cheapest_price) == (15, "7 dra.net, 8 gpu.nvidia.com", "9.61")
    assert condition_of(status.conditions, "Valid") == Condition(
        type="Valid", status="True", reason="Expanded", last_transition_time=NOW
    )


def test_the_status_of_a_bad_type_names_the_paths() -> None:
    one = written({"offerings": [], "overhead": {"cpu": 5}})
    (condition,) = status_of(one, expand(one), now=NOW).conditions

    assert (condition.status, condition.reason, condition.observed_generation) == ("False", "Invalid", 3)
    assert condition.message == (
        'spec.offerings: expected at least one offering; spec.overhead["cpu"]: takes 5, there is 4 in spec.capacity'
    )


def test_what_others_have_written_into_the_status_stays() -> None:
    one = written({"offerings": []})
    status = InstanceTypeStatus(device_count=8, device_failures=2, retry_after=LATER)

    after = status_of(replace(one, status=status), expand(one), now=NOW)

    assert (after.device_count, after.device_failures, after.retry_after) == (0, 2, LATER)


def test_a_status_that_says_the_same_later_is_the_same() -> None:
    one = written()
    status = status_of(one, expand(one), now=NOW)
    again = replace(one, status=status)

    assert status_of(again, expand(again), now=LATER) == status


@pytest.mark.parametrize(
    ("label", "node_class", "belongs"), [(None, "default", True), ("gpu", "gpu", True), ("gpu", "default", False)]
)
def test_a_type_belongs_to_the_node_class_of_its_label_or_to_all(
    label: str | None,
    node_class: str,
    belongs: bool,  # noqa: FBT001
) -> None:
    labels = {} if label is None else {"dra-scheduler.dev/node-class": label}
    one = read_as(
        InstanceType, {"metadata": {"name": "a", "labels": labels}, "spec": {"offerings": [], "capacity": {}}}
    )

    assert one.belongs_to(node_class) == belongs
