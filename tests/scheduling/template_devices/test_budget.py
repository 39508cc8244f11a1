"""Running out is an outcome of its own: it keeps what is finished and proves nothing."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from dra_cases.planning import Json, Plan, given
from dra_scheduling.model.claims import DeviceRequest
from dra_scheduling.template_devices import Allotment, Denied, SearchBudget, UnfinishedSearch, within
from dra_scheduling.template_devices.template_allocator import StaleAllotmentError
from dra_scheduling.wire.objects import InvalidObjectError, read_as

TYPES: Json = {
    "easy": [{"devices": [{"name": "x", "is": {"k": 1}}, {"name": "y", "is": {"k": 1}}]}],
    "hopeless": [],
    "other": [{"pool": "u", "devices": [{"name": "v", "is": {"k": 1}}, {"name": "w", "is": {"k": 2}}, "q"]}],
}


def ticking(*times: float) -> Callable[[], float]:
    remaining = list(times)
    return lambda: remaining.pop(0) if len(remaining) > 1 else remaining[0]


def test_types_finished_before_time_is_up_are_kept() -> None:
    plan = Plan({"types": TYPES})

    answer = plan.ask("nc", ["c"], within(ticking(0, 1, 2, 9), seconds=5))

    assert isinstance(answer, Allotment)
    assert (answer.types, answer.unfinished) == (("easy",), ("other",))


def test_types_finished_before_the_steps_end_are_kept() -> None:
    plan = Plan({"types": TYPES})

    answer = plan.ask("nc", ["c"], SearchBudget(steps=2))

    assert isinstance(answer, Allotment)
    assert (answer.types, answer.unfinished) == (("easy",), ("hopeless", "other"))


def test_no_time_at_all_proves_nothing() -> None:
    answer = Plan({"types": TYPES}).ask("nc", ["c"], within(ticking(0, 5), seconds=5))

    assert isinstance(answer, UnfinishedSearch)
    assert answer.types == ("easy", "hopeless", "other")
    assert answer.refusal.reason == "OutOfBudget"


def test_no_time_in_the_last_type_is_not_taken_for_a_proof() -> None:
    plan = Plan({"types": {"a": [], "b": [{"devices": ["x"]}]}})

    assert isinstance(plan.ask("nc", ["c"], within(ticking(0, 1, 9), seconds=5)), UnfinishedSearch)


def test_a_pod_that_runs_out_does_not_hold_up_the_next_one() -> None:
    plan = Plan({"types": TYPES})

    assert isinstance(plan.ask("nc", ["c"], SearchBudget(steps=0)), UnfinishedSearch)
    assert isinstance(plan.ask("nc", ["c"]), Allotment)


def test_an_answer_that_ran_out_is_not_kept_as_an_answer() -> None:
    devices = [{"name": f"d{number}", "is": {"k": number % 3}} for number in range(6)]
    claims = {
        "c": {
            "requests": [{"name": "r", "count": 2}, {"name": "s", "count": 2}],
            "match": [["a/k", ["r"]], ["a/k", ["s"]]],
        }
    }
    plan = Plan({"types": {"t": [{"devices": devices}]}, "claims": claims})
    pod, candidate = plan.pod("c"), plan.candidates["nc"]

    first = plan.allocator.allocate(pod, candidate, SearchBudget(steps=10, each=1))
    second = plan.allocator.allocate(pod, candidate)

    assert (type(first), type(second)) == (UnfinishedSearch, Allotment)


def test_an_allotment_is_good_until_the_next_write() -> None:
    plan = Plan(
        {"slices": [{"devices": ["d"]}], "candidates": {"one": {}, "two": {}}, "claims": {"c1": ["r"], "c2": ["r"]}}
    )
    first, second = plan.ask("one", ["c1"]), plan.ask("two", ["c2"])
    assert isinstance(first, Allotment)
    assert isinstance(second, Allotment)

    plan.allocator.commit(first)

    with pytest.raises(StaleAllotmentError, match="allotment of two"):
        plan.allocator.commit(second)


def test_an_allotment_is_committed_once() -> None:
    plan = Plan({"slices": [{"devices": ["d"]}]})
    answer = plan.ask("nc", ["c"])
    assert isinstance(answer, Allotment)
    plan.allocator.commit(answer)

    with pytest.raises(StaleAllotmentError):
        plan.allocator.commit(answer)


def test_the_requirements_of_the_pod_come_with_the_candidate() -> None:
    case: Json = {
        "slices": [
            {"pool": "pa", "node": {"zone": "a"}, "devices": ["d"]},
            {"pool": "pb", "node": {"zone": "b"}, "devices": ["e"]},
        ],
        "candidates": {"nc": {}, "with-pod": {"needs": {"zone": "b"}}},
    }

    answer = Plan(case).ask("with-pod", ["c"])

    assert isinstance(answer, Allotment)
    assert given(answer) == {"t": ["pb/e"]}


@pytest.mark.parametrize("mode", ["Most", "exactcount"])
def test_an_allocation_mode_that_is_not_known_is_refused(mode: str) -> None:
    plan = Plan({"slices": [{"devices": ["d"]}], "claims": {"c": [{"name": "r"}]}})
    claim = plan.claims["c"]
    asked = read_as(DeviceRequest, {"name": "r", "exactly": {"deviceClassName": "a", "allocationMode": mode}})
    spec = replace(claim.spec, devices=replace(claim.spec.devices, requests=(asked,)))
    plan.claims["c"] = replace(claim, spec=spec)

    answer = plan.ask("nc", ["c"])

    assert isinstance(answer, Denied)
    assert f"allocationMode is {mode}" in answer.refusal.message


@pytest.mark.parametrize("content", [{}, {"firstAvailable": []}])
def test_a_request_of_no_kind_cannot_be_read(content: Json) -> None:
    with pytest.raises(InvalidObjectError, match="exactly one of exactly, firstAvailable"):
        read_as(DeviceRequest, {"name": "r", **content})


def test_no_more_topologies_are_looked_at_than_anybody_can() -> None:
    slices = [
        {"pool": f"p{key}{value}", "node": {f"label-{key}": str(value)}, "devices": ["d"]}
        for key in range(7)
        for value in range(4)
    ]
    needs = {f"label-{key}": [str(value) for value in range(4)] for key in range(7)}
    plan = Plan(
        {"slices": slices, "candidates": {"nc": {"needs": needs}}, "claims": {"c": [{"name": "r", "count": 8}]}}
    )

    assert isinstance(plan.ask("nc", ["c"]), UnfinishedSearch)
