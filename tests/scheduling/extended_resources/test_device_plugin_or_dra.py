import pytest

from dra_builders.values import device_class
from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.basics.resources import Resources
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.extended_resources.device_plugin_or_dra import Split, extended_names, split
from dra_scheduling.extended_resources.resource_names import implicit_name

GPU, FPGA = "example.com/gpu", "example.com/fpga"
WANTED = Resources({"cpu": 1000, GPU: 2, "pods": 1})


def index_with(*names: str) -> ClassIndex:
    index = ClassIndex()
    for name in names:
        index.apply(device_class(f"class-of-{name.rpartition('/')[2]}", extended_resource_name=name))
    return index


def test_a_resource_that_the_node_offers_is_left_to_its_device_plugin() -> None:
    assert split(WANTED, {"cpu", GPU}, index_with(GPU)) == Split(dra={}, node=WANTED)


def test_a_resource_that_the_node_does_not_offer_is_served_by_dra() -> None:
    choice = split(WANTED, {"cpu"}, index_with(GPU))

    assert choice == Split(dra={GPU: "class-of-gpu"}, node=Resources({"cpu": 1000, "pods": 1}))


def test_a_node_may_serve_one_resource_by_plugin_and_another_by_dra() -> None:
    both = Resources({GPU: 1, FPGA: 1})

    assert split(both, {FPGA}, index_with(GPU, FPGA)) == Split(dra={GPU: "class-of-gpu"}, node=Resources({FPGA: 1}))


def test_an_implicit_name_needs_no_explicit_one() -> None:
    name = implicit_name("mig-1g")
    index = ClassIndex()
    index.apply(device_class("mig-1g"))

    choice = split(Resources({name: 1}), frozenset(), index)
    assert choice == Split(dra={name: "mig-1g"}, node=Resources())


def test_a_resource_that_nobody_serves_is_named() -> None:
    refusal = split(Resources({FPGA: 1}), {"cpu"}, index_with(GPU))

    assert isinstance(refusal, Refusal)
    assert refusal.message == f"insufficient {FPGA}: no node resource and no DeviceClass serves it"
    assert refusal.wake == ClusterEvent.NODE | ClusterEvent.CLASSES


def test_native_resources_are_never_served_by_dra() -> None:
    wanted = Resources({"cpu": 1, "hugepages-2Mi": 1, "kubernetes.io/batch": 1})

    assert split(wanted, frozenset(), index_with("cpu")) == Split(dra={}, node=wanted)


@pytest.mark.parametrize(
    ("name", "is_extended"),
    [
        ("nvidia.com/gpu", True),
        ("example.com/My_Device.v2", True),
        (implicit_name("gpu.example.com"), True),
        (implicit_name("-bad"), False),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("attachable-volumes-aws-ebs", False),
        ("kubernetes.io/thing", False),
        ("node.kubernetes.io/thing", False),
        ("requests.nvidia.com/gpu", False),
        ("nvidia.com/", False),
        ("/gpu", False),
        ("nvidia..com/gpu", False),
        (f"example.com/{'x' * 63}", True),
        (f"example.com/{'x' * 64}", False),
        (f"{'x.' * 122}/gpu", False),
        (f"{'x.' * 121}yz/gpu", True),
        (f"{'x.' * 122}y/gpu", False),
    ],
)
def test_extended_resources_are_qualified_names_outside_of_kubernetes_domain(name: str, *, is_extended: bool) -> None:
    assert extended_names(Resources({name: 1})) == ({name} if is_extended else set())
