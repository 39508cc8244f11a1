from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dra_builders.values import container, device_class, pod
from dra_scheduling.basics.pod_requests import pod_requests
from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.extended_resources.device_plugin_or_dra import Split, split
from dra_scheduling.extended_resources.resource_names import implicit_name
from dra_scheduling.extended_resources.special_claim import (
    SpecialClaim,
    limit_refusal,
    over_limit_everywhere,
    special_claim,
)
from dra_scheduling.model.claims import DeviceRequest, ExactDeviceRequest
from dra_scheduling.model.pods import Container, ContainerExtendedResourceRequest, Pod

GPU, NIC = "example.com/gpu", "example.com/nic"
NAMES = {"gpu": GPU, "nic": NIC, "implicit": implicit_name("gpuc")}
CASES = yaml.safe_load(Path(__file__).with_name("special_claims.yaml").read_text())


def parsed_container(text: str) -> tuple[str, Container]:
    name, kind, *wishes = text.split()
    requests = {NAMES.get(key, key): value for key, value in (wish.split("=") for wish in wishes)}
    return kind, container(name, requests=requests, restart_policy="Always" if kind == "sidecar" else "")


def parsed_pod(texts: list[str]) -> Pod:
    containers = [parsed_container(text) for text in texts]
    regular = (item for kind, item in containers if kind == "main")
    return pod("p", *regular, init=[item for kind, item in containers if kind != "main"])


def full(name: str) -> str:
    return name.replace("c", "container-", 1).replace("-r", "-request-")


def parsed_request(text: str) -> DeviceRequest:
    name, class_name, count = text.split()
    exactly = ExactDeviceRequest(device_class_name=class_name, allocation_mode="ExactCount", count=int(count))
    return DeviceRequest(name=full(name), exactly=exactly)


def parsed_mapping(text: str) -> ContainerExtendedResourceRequest:
    name, resource, request = text.split()
    return ContainerExtendedResourceRequest(name, NAMES[resource], full(request))


def classes() -> ClassIndex:
    index = ClassIndex()
    index.apply(device_class("gpuc", extended_resource_name=GPU))
    index.apply(device_class("nicc", extended_resource_name=NIC))
    return index


def claim_of(value: Pod, offered: frozenset[str] = frozenset()) -> SpecialClaim:
    choice = split(pod_requests(value), offered, classes())
    assert isinstance(choice, Split)
    return special_claim(value, choice.dra)


def wanting(*counts: int, resource: str = GPU) -> Pod:
    return pod("p", *(container(f"c{n}", limits={resource: str(count)}) for n, count in enumerate(counts)))


def sized(claim: SpecialClaim) -> dict[str, int]:
    return {request.name: request.exactly.count for request in claim.requests if request.exactly is not None}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_special_claim_is_kube_schedulers(case: dict[str, Any]) -> None:
    found = claim_of(parsed_pod(case["containers"]), frozenset(NAMES[name] for name in case.get("plugin", ())))

    assert found.requests == tuple(parsed_request(text) for text in case["requests"])
    assert found.mappings == tuple(parsed_mapping(text) for text in case["mappings"])


def test_limits_count_among_the_requests_as_the_server_defaults_them() -> None:
    value = pod("p", container("m", requests={GPU: "1"}, limits={"cpu": "1", GPU: "1"}))

    assert list(sized(claim_of(value))) == ["container-0-request-1"]


COUNTS = st.integers(0, 5)
PODS = st.builds(
    lambda init, regular: parsed_pod(
        [f"i{n} {kind} gpu={count}" for n, (kind, count) in enumerate(init)]
        + [f"m{n} main gpu={count}" for n, count in enumerate(regular)]
    ),
    st.lists(st.tuples(st.sampled_from(["init", "sidecar"]), COUNTS), max_size=4),
    st.lists(COUNTS, min_size=1, max_size=3),
)


@given(value=PODS)
def test_every_container_is_served_enough_devices_by_requests_that_exist(value: Pod) -> None:
    found = claim_of(value)
    sizes = sized(found)

    assert {mapping.request_name for mapping in found.mappings} == set(sizes)
    for item in chain(value.spec.init_containers, value.spec.containers):
        served = sum(sizes[mapping.request_name] for mapping in found.mappings if mapping.container_name == item.name)
        assert served >= item.resources.requests[GPU].ceil_value()


@given(value=PODS)
def test_exactly_as_many_devices_as_kubernetes_counts_for_the_pod_are_asked_for(value: Pod) -> None:
    assert sum(sized(claim_of(value)).values()) == pod_requests(value).get(GPU)


@pytest.mark.parametrize("counts", [(32,), (20, 12), (1,) * 32])
def test_thirty_two_devices_fit_into_one_claim(counts: tuple[int, ...]) -> None:
    assert limit_refusal(claim_of(wanting(*counts))) is None


@pytest.mark.parametrize("counts", [(33,), (20, 13), (1,) * 33])
def test_thirty_three_devices_do_not_fit_into_one_claim(counts: tuple[int, ...]) -> None:
    refusal = limit_refusal(claim_of(wanting(*counts)))

    assert refusal is not None
    assert refusal.message == "too many devices for one ResourceClaim: 33 of DeviceClass gpuc, at most 32 in total"


def test_devices_of_all_classes_count_together() -> None:
    value = pod("p", container("a", limits={GPU: "30", NIC: "3"}))
    refusal = limit_refusal(claim_of(value))

    assert refusal is not None
    assert "30 of DeviceClass gpuc and 3 of DeviceClass nicc, at most 32" in refusal.message


def everywhere(value: Pod, *offers: set[str]) -> Refusal | None:
    return over_limit_everywhere(value, (frozenset(offer) for offer in offers), classes())


def test_too_many_devices_are_refused_at_once_where_no_plugin_serves_them() -> None:
    refusal = everywhere(wanting(33), {"cpu"}, {"cpu", NIC})

    assert refusal is not None
    assert refusal.reason == "TooManyDevices"
    assert ClusterEvent.DEVICES not in refusal.wake


def test_too_many_devices_are_refused_at_once_in_an_empty_cluster() -> None:
    assert everywhere(wanting(33)) is not None


def test_one_node_with_a_device_plugin_is_enough_to_try() -> None:
    assert everywhere(wanting(33), {"cpu"}, {"cpu", GPU}) is None


def test_a_plugin_for_another_resource_does_not_bring_the_rest_within_the_limit() -> None:
    value = pod("p", container("a", limits={GPU: "33", "example.com/fpga": "1"}))

    assert everywhere(value, {"example.com/fpga"}) is not None


def test_a_pod_that_nobody_serves_is_not_called_too_large() -> None:
    assert everywhere(wanting(33, resource="example.com/fpga")) is None


def test_a_pod_within_the_limit_is_not_refused() -> None:
    assert everywhere(wanting(32), {"cpu"}) is None


@pytest.mark.parametrize(
    ("containers", "owners"),
    [
        (["a main gpu=2", "b main gpu=1"], {"container-0-request-0": "a", "container-1-request-0": "b"}),
        (["i init gpu=4", "a main gpu=1"], {"container-0-request-0": "i", "container-1-request-0": "a"}),
        (["i init gpu=1", "j init gpu=4"], {"container-1-request-0": "j"}),
    ],
)
def test_every_request_can_be_called_by_the_container_that_made_it(
    containers: list[str], owners: dict[str, str]
) -> None:
    words = special_claim(parsed_pod(containers), {GPU: "gpu"}).words
    assert dict(words) == {
        request: (f"extended resource {GPU}", f'container "{owner}"') for request, owner in owners.items()
    }
