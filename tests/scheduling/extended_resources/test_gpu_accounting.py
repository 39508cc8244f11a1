from dra_builders.values import container, pod
from dra_scheduling.extended_resources.gpu_accounting import received_gpu
from dra_scheduling.extended_resources.resource_names import implicit_name
from dra_scheduling.model.bindrequests import ReceivedGPU


def test_gpus_of_containers_that_run_together_add_up() -> None:
    value = pod("p", container(limits={"nvidia.com/gpu": "2"}), container(limits={"amd.com/gpu": "1"}))

    assert received_gpu(value) == ReceivedGPU(count=3, portion="1.00")


def test_an_init_container_is_charged_only_for_what_it_needs_beyond_the_rest() -> None:
    value = pod("p", container(limits={"nvidia.com/gpu": "2"}), init=[container(limits={"nvidia.com/gpu": "3"})])

    assert received_gpu(value) == ReceivedGPU(count=3, portion="1.00")


def test_the_implicit_name_of_a_gpu_class_is_charged_like_the_explicit_one() -> None:
    value = pod("p", container(limits={implicit_name("gpu.nvidia.com"): "2"}))

    assert received_gpu(value) == ReceivedGPU(count=2, portion="1.00")


def test_a_name_that_merely_ends_in_gpu_is_no_gpu() -> None:
    assert received_gpu(pod("p", container(limits={"example.com/vgpu": "8"}))) is None


def test_which_resources_are_gpus_is_a_setting() -> None:
    value = pod("p", container(limits={"example.com/vgpu": "8"}))

    assert received_gpu(value, {"example.com/vgpu"}) == ReceivedGPU(count=8, portion="1.00")
