"""Objects that nobody should write: refused by name, and the rest of the cluster scheduled as if they were absent."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dra_builders.values import claim, devices, driver_class, node, pod, request, resource_slice
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.state.assignments import Assignment
from dra_scheduling.wire import KubernetesObject
from dra_scheduling.wire.objects import InvalidObjectError, read

Json = Any
ODD_NUMBERS = st.sampled_from([0, 1, -1, 2**31, 2**63, -(2**63), 10**40])
ODD_QUANTITIES = st.sampled_from(
    ["0", "-1", "1", "500m", "9E", "1n", "99999999999999999999Ei", "1e99", "x", "", None, 1.5]
)
ODD_TEXTS = st.sampled_from(["", "a", "gpu.example.com", "x" * 300, "a/b/c", "\x00", "ü"])
ODD: st.SearchStrategy[Json] = (
    st.none() | st.booleans() | ODD_NUMBERS | ODD_TEXTS | st.just([]) | st.just({}) | st.just([{}]) | st.just([[]])
)
EXPRESSIONS = st.sampled_from(
    [
        "true",
        "false",
        "",
        "device.nothing",
        "!" * 200 + "true",
        "(" * 300 + "true" + ")" * 300,
        "true || " * 1_300 + "true",
        "[1, 2, 3].all(a, [1, 2, 3].all(b, [1, 2, 3].all(c, a + b + c > 0)))",
        'device.attributes["gpu.example.com"].x',
        'device.capacity["gpu.example.com"].m.isGreaterThan(quantity("1"))',
        "1 / 0 == 1",
    ]
)


def often(usual: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Mostly what is usual, now and then something that does not belong there."""
    return st.one_of(usual, usual, usual, usual, usual, usual, ODD)


POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "default": ODD_QUANTITIES,
        "validValues": st.lists(ODD_QUANTITIES, max_size=3),
        "validRange": st.fixed_dictionaries(
            {"min": ODD_QUANTITIES}, optional={"max": ODD_QUANTITIES, "step": ODD_QUANTITIES}
        ),
    },
)
DEVICES = st.fixed_dictionaries(
    {"name": often(st.sampled_from(["d0", "d1"]))},
    optional={
        "attributes": st.fixed_dictionaries({"x": often(st.builds(lambda n: {"int": n}, ODD_NUMBERS))}),
        "capacity": st.fixed_dictionaries(
            {"m": st.fixed_dictionaries({"value": ODD_QUANTITIES}, optional={"requestPolicy": often(POLICIES)})}
        ),
        "consumesCounters": st.lists(
            st.fixed_dictionaries(
                {
                    "counterSet": st.sampled_from(["s", "unknown"]),
                    "counters": st.fixed_dictionaries(
                        {}, optional={"c": st.builds(lambda q: {"value": q}, ODD_QUANTITIES)}
                    ),
                }
            ),
            max_size=2,
        ),
        "allowMultipleAllocations": often(st.booleans()),
        "taints": often(st.just([{"key": "k", "effect": "NoSchedule"}])),
        "bindingConditions": often(st.just(["A"])),
    },
)
SLICES = st.builds(
    lambda spec, count, generation: {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "odd"},
        "spec": {
            "driver": "gpu.example.com",
            "pool": {"name": "odd", "generation": generation, "resourceSliceCount": count},
            **spec,
        },
    },
    st.fixed_dictionaries(
        {"nodeName": often(st.just("n1"))},
        optional={
            "devices": often(st.lists(DEVICES, max_size=3)),
            "sharedCounters": often(
                st.just([{"name": "s", "counters": {"c": {"value": "4"}}}]) | st.just([{"name": "s"}, {"name": "s"}])
            ),
            "allNodes": st.booleans(),
        },
    ),
    st.sampled_from([1, 1, 1, 0, -1, 2**40]),
    st.sampled_from([1, 0, -5]),
)
WISHES = st.fixed_dictionaries(
    {"deviceClassName": often(st.just("gpu.example.com"))},
    optional={
        "count": often(st.sampled_from([1, 2, 33])),
        "allocationMode": st.sampled_from(["All", "ExactCount", "Odd", ""]),
        "selectors": st.lists(st.builds(lambda text: {"cel": {"expression": text}}, EXPRESSIONS), max_size=2),
        "capacity": st.builds(lambda q: {"requests": {"m": q}}, ODD_QUANTITIES),
        "adminAccess": often(st.booleans()),
        "tolerations": often(st.just([{"operator": "Exists"}])),
    },
)
REQUESTS = st.builds(lambda wish: {"name": "r", "exactly": wish}, often(WISHES)) | st.builds(
    lambda wishes: {"name": "r", "firstAvailable": [{"name": f"s{n}", **wish} for n, wish in enumerate(wishes)]},
    st.lists(WISHES, max_size=9),
)
CLAIMS = st.builds(
    lambda devices_: {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "odd", "namespace": "default", "uid": "odd"},
        "spec": {"devices": devices_},
    },
    st.fixed_dictionaries(
        {"requests": often(st.lists(REQUESTS, max_size=2))},
        optional={
            "constraints": often(
                st.lists(
                    st.fixed_dictionaries(
                        {},
                        optional={
                            "matchAttribute": ODD_TEXTS,
                            "distinctAttribute": ODD_TEXTS,
                            "requests": often(st.just(["r"])),
                        },
                    ),
                    max_size=2,
                )
            ),
            "config": often(st.just([])),
        },
    ),
)


def taken_in(raw: Json, cluster: Cluster) -> None:
    """Give the object to the cluster, or see it refused with its kind, its name and the place of the mistake."""
    found = value_or_refusal(raw)
    if not isinstance(found, InvalidObjectError):
        cluster.apply(found)
        return
    assert found.subject.endswith(raw["metadata"]["name"])
    assert found.path.startswith("$")
    assert found.problem


def value_or_refusal(raw: Json) -> KubernetesObject | InvalidObjectError:
    try:
        return read(raw)
    except InvalidObjectError as refusal:
        return refusal


def sound() -> tuple[KubernetesObject, ...]:
    content = resource_slice("sound", devices(1), node="n1", pool="a-sound-pool")
    sound_pod, odd_pod = pod("sound", claims={"gpu": "sound"}), pod("odd", claims={"gpu": "odd"})
    return driver_class(), node("n1"), content, claim("sound", request()), sound_pod, odd_pod


@given(SLICES, CLAIMS)
def test_odd_slices_and_claims_stop_nobody_else(odd_slice: Json, odd_claim: Json) -> None:
    cluster = Cluster()
    for raw in (odd_slice, odd_claim):
        taken_in(raw, cluster)
    for value in sound():
        cluster.apply(value)
    first = [each for each in cluster.pending() if each.metadata.name == "sound"]
    (outcome,) = schedule(cluster, first).outcomes
    assert isinstance(outcome, Assignment)
    results = outcome.claims[0].allocation.devices.results
    assert [(result.pool, result.device) for result in results] == [("a-sound-pool", "gpu-0")]
    for other in schedule(cluster, cluster.pending()).outcomes:
        assert isinstance(other, Assignment) or other.message
