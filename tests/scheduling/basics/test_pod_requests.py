import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_builders.values import container, pod, quantities
from dra_scheduling.basics.pod_requests import container_requests, pod_requests
from dra_scheduling.basics.resources import Resources
from dra_scheduling.model.pods import Container, Pod, PodSpec, ResourceRequirements

GPU = "example.com/gpu"
MI = 2**20


def amounts(value: Pod) -> dict[str, int]:
    return dict(pod_requests(value).without({"pods"}).items())


def wants(**requests: str) -> Container:
    return container(requests={name.replace("gpu", GPU): text for name, text in requests.items()})


def sidecar(**requests: str) -> Container:
    return container(
        requests={name.replace("gpu", GPU): text for name, text in requests.items()}, restart_policy="Always"
    )


def with_spec(value: Pod, spec: PodSpec) -> Pod:
    return Pod(metadata=value.metadata, spec=spec)


def pod_level(requests: dict[str, str], limits: dict[str, str], *containers: Container) -> Pod:
    resources = ResourceRequirements(requests=quantities(requests), limits=quantities(limits))
    return with_spec(pod("p"), PodSpec(containers=containers, resources=resources))


def test_a_pod_without_requests_takes_one_pod() -> None:
    assert pod_requests(pod("p")) == Resources({"pods": 1})


def test_containers_are_summed_exactly_and_rounded_once() -> None:
    assert amounts(pod("p", wants(cpu="100u", memory="0.5"), wants(cpu="100u", memory="0.5"))) == {
        "cpu": 1,
        "memory": 1,
    }


def test_zero_quantities_are_no_requests() -> None:
    assert amounts(pod("p", wants(cpu="0", gpu="0"))) == {}


def test_a_limit_stands_in_for_a_missing_request_only() -> None:
    both = container(requests={"cpu": "1"}, limits={"cpu": "2", GPU: "3"})

    assert container_requests(both) == quantities({"cpu": "1", GPU: "3"})


def test_an_explicit_zero_request_is_not_replaced_by_the_limit() -> None:
    assert amounts(pod("p", container(requests={"cpu": "0"}, limits={"cpu": "2"}))) == {}


@pytest.mark.parametrize(
    ("init", "regular", "gpus"),
    [
        pytest.param([], ["1", "2"], 3, id="containers run together"),
        pytest.param(["1"], ["8"], 8, id="an init container ends before the containers start"),
        pytest.param(["5", "3"], ["1"], 5, id="init containers run one after another"),
        pytest.param(["s1"], ["1"], 2, id="a sidecar runs beside the containers"),
        pytest.param(["s1", "2"], ["1"], 3, id="an init container runs beside the sidecars before it"),
        pytest.param(["2", "s1"], ["1"], 2, id="an init container has ended before a later sidecar"),
        pytest.param(["1", "s1", "2"], ["1"], 3, id="the example of KEP-5004's discussion needs three"),
        pytest.param(["s1", "s2"], [], 3, id="sidecars add up"),
        pytest.param(["s1", "4", "s2"], ["1"], 5, id="the worst moment may lie between two sidecars"),
    ],
)
def test_init_containers_and_sidecars_need_their_worst_moment(init: list[str], regular: list[str], gpus: int) -> None:
    first = [sidecar(gpu=text[1:]) if text.startswith("s") else wants(gpu=text) for text in init]
    value = pod("p", *(wants(gpu=text) for text in regular), init=first)

    assert amounts(value) == {GPU: gpus}


@given(
    init=st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=5),
    regular=st.lists(st.integers(0, 9), max_size=3),
)
def test_a_pod_needs_what_is_in_use_in_the_worst_moment_of_its_life(
    init: list[tuple[bool, int]], regular: list[int]
) -> None:
    moments, running = [], 0
    for is_sidecar, count in init:
        moments.append(running + count)
        running += count if is_sidecar else 0
    moments.append(running + sum(regular))

    first = [sidecar(gpu=str(count)) if is_sidecar else wants(gpu=str(count)) for is_sidecar, count in init]
    value = pod("p", *(wants(gpu=str(count)) for count in regular), init=first)
    assert pod_requests(value).get(GPU) == max(moments)


def test_each_resource_has_its_own_worst_moment() -> None:
    value = pod("p", wants(cpu="2", memory="1Mi"), init=[wants(cpu="1", memory="4Mi")])

    assert amounts(value) == {"cpu": 2000, "memory": 4 * MI}


def test_overhead_comes_on_top() -> None:
    spec = PodSpec(containers=(wants(cpu="1"),), overhead=quantities({"cpu": "250m", "memory": "8Mi"}))

    assert amounts(with_spec(pod("p"), spec)) == {"cpu": 1250, "memory": 8 * MI}


def test_pod_level_requests_replace_the_sum_of_cpu_memory_and_hugepages() -> None:
    level = {"cpu": "3", "memory": "2Mi", "hugepages-2Mi": "4Mi", GPU: "9", "ephemeral-storage": "9"}
    inner = container(requests={"cpu": "1", "memory": "8Mi", GPU: "1", "ephemeral-storage": "1"})

    assert amounts(pod_level(level, {}, inner)) == {
        "cpu": 3000,
        "memory": 2 * MI,
        "hugepages-2Mi": 4 * MI,
        GPU: 1,
        "ephemeral-storage": 1,
    }


def test_overhead_comes_on_top_of_pod_level_requests() -> None:
    resources = ResourceRequirements(requests=quantities({"cpu": "3"}))
    spec = PodSpec(containers=(wants(cpu="1"),), resources=resources, overhead=quantities({"cpu": "1"}))

    assert amounts(with_spec(pod("p"), spec)) == {"cpu": 4000}


def test_a_pod_level_limit_counts_only_where_nothing_is_requested() -> None:
    limits = {"cpu": "4", "memory": "8Mi", GPU: "2"}

    assert amounts(pod_level({}, limits, wants(cpu="1"))) == {"cpu": 1000, "memory": 8 * MI}


def test_any_scalar_is_counted_in_whole_units() -> None:
    value = pod("p", container(limits={"hugepages-1Gi": "2Gi", "ephemeral-storage": "1k", "example.com/fpga": "1500m"}))

    assert amounts(value) == {"hugepages-1Gi": 2 * 2**30, "ephemeral-storage": 1000, "example.com/fpga": 2}
