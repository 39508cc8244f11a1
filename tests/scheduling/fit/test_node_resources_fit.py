import pytest

from dra_scheduling.basics.reasons import ClusterEvent, fold, one_line
from dra_scheduling.basics.resources import Resources
from dra_scheduling.fit.node_resources_fit import room_refusals

GI = 2**30
NODE = {"cpu": 4000, "memory": 16 * GI, "pods": 110, "example.com/gpu": 4}


def test_a_pod_that_fits_is_not_refused() -> None:
    assert room_refusals(Resources({"cpu": 4000, "pods": 1}), NODE, NODE) == ()


def test_everything_that_is_short_is_named_with_the_need() -> None:
    free = {"cpu": 500, "memory": GI, "pods": 0, "example.com/gpu": 1}
    wanted = Resources({"cpu": 4000, "memory": 2 * GI, "pods": 1, "example.com/gpu": 2})

    assert [refusal.message for refusal in room_refusals(wanted, free, NODE)] == [
        "insufficient cpu, needs 4",
        "insufficient memory, needs 2Gi",
        "too many pods",
        "insufficient example.com/gpu, needs 2",
    ]


def test_the_line_shows_the_nearest_miss_over_all_nodes() -> None:
    wanted = Resources({"cpu": 4000})
    refusals = [refusal for left in (500, 3500, -100) for refusal in room_refusals(wanted, {"cpu": left}, NODE)]

    assert one_line(fold(refusals), 3) == "0/3 nodes fit: on 3: insufficient cpu, needs 4 (3500m free at most)"


@pytest.mark.parametrize(("wanted", "wake"), [(4, ClusterEvent.NODE | ClusterEvent.ROOM), (5, ClusterEvent.NODE)])
def test_a_leaving_pod_helps_only_if_the_empty_node_is_large_enough(wanted: int, wake: ClusterEvent) -> None:
    (refusal,) = room_refusals(Resources({"example.com/gpu": wanted}), {"example.com/gpu": 0}, NODE)

    assert refusal.wake == wake


def test_a_resource_that_the_node_does_not_offer_is_insufficient() -> None:
    (refusal,) = room_refusals(Resources({"hugepages-2Mi": GI}), {"cpu": 1}, {"cpu": 1})

    assert refusal.message == "insufficient hugepages-2Mi, needs 1Gi"
    assert refusal.found == 0
