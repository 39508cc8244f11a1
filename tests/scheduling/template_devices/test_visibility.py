"""Who sees a device as taken, and how much is searched where types look the same."""

import pytest

from dra_cases.planning import Json, Plan, given
from dra_scheduling.template_devices import Allotment, DeviceHost


@pytest.mark.parametrize(
    ("holder", "held_by", "asked_by", "is_seen_as_taken"),
    [
        ("other", "t1", "t1", True),
        ("other", "t2", "t1", True),
        ("nc", "t1", "t1", True),
        ("nc", "t2", "t1", False),
    ],
)
def test_a_published_device_is_taken_for(holder: str, held_by: str, asked_by: str, is_seen_as_taken: bool) -> None:  # noqa: FBT001
    plan = Plan(
        {
            "slices": [{"devices": ["d"]}],
            "types": {"t1": [], "t2": []},
            "candidates": {"nc": {"types": [asked_by]}, "other": {"types": [asked_by]}},
            "claims": {"held": ["r"], "wanted": ["r"]},
        }
    )
    answer = plan.allocator.allocate(plan.pod("held"), as_type(plan, holder, held_by))
    assert isinstance(answer, Allotment)
    plan.allocator.commit(answer)

    wanted = plan.ask("nc", ["wanted"])

    assert isinstance(wanted, Allotment) != is_seen_as_taken


def as_type(plan: Plan, candidate: str, instance_type: str) -> DeviceHost:
    """The candidate as one that only this type is left of."""
    asked = plan.candidates[candidate]
    return DeviceHost.of_node_claim(candidate, asked.requirements, (plan.types[instance_type],))


@pytest.mark.parametrize(
    ("candidate", "instance_type", "is_taken"), [("nc", "t1", True), ("nc", "t2", False), ("other", "t1", False)]
)
def test_a_template_device_is_taken_for_its_own_candidate_and_type_only(
    candidate: str,
    instance_type: str,
    is_taken: bool,  # noqa: FBT001
) -> None:
    templates = [{"devices": ["x"]}]
    case: Json = {"types": {"t1": templates, "t2": templates}, "candidates": {"nc": {"types": ["t1"]}, "other": {}}}
    plan = Plan({**case, "claims": {"held": ["r"], "wanted": ["r"]}})
    held = plan.ask("nc", ["held"])
    assert isinstance(held, Allotment)
    plan.allocator.commit(held)

    answer = plan.allocator.allocate(plan.pod("wanted"), as_type(plan, candidate, instance_type))

    assert isinstance(answer, Allotment) != is_taken


def test_four_hundred_types_that_look_the_same_are_searched_once() -> None:
    def templates(number: int) -> list[Json]:
        devices = [{"name": f"x{each}", "is": {"numa": each // 4}} for each in range(8)]
        return [{"pool": f"pool-{number}", "devices": devices}]

    claim = {"requests": [{"name": "r", "count": 2}, {"name": "s", "count": 2}], "match": [["a/numa", []]]}
    few, many = (
        Plan({"types": {f"t{number:03}": templates(number) for number in range(count)}, "claims": {"c": claim}})
        for count in (1, 400)
    )

    alone, together = few.ask("nc", ["c"]), many.ask("nc", ["c"])

    assert isinstance(alone, Allotment)
    assert isinstance(together, Allotment)
    assert len(together.types) == 400
    assert together.steps == alone.steps


def test_types_with_the_same_names_and_other_content_are_searched_apart() -> None:
    types = {
        f"t{numa}": [{"devices": [{"name": "x", "is": {"numa": 0}}, {"name": "y", "is": {"numa": numa}}]}]
        for numa in range(2)
    }
    plan = Plan({"types": types, "claims": {"c": {"requests": [{"name": "r", "count": 2}], "match": [["a/numa", []]]}}})

    answer = plan.ask("nc", ["c"])

    assert isinstance(answer, Allotment)
    assert given(answer) == {"t0": ["~t/x", "~t/y"]}


def test_a_second_candidate_that_looks_the_same_needs_no_search() -> None:
    types = {"t": [{"devices": ["x", "y"]}]}
    plan = Plan({"types": types, "candidates": {"one": {}, "two": {}}})
    pod = plan.pod("c")

    first, second = (plan.allocator.allocate(pod, plan.candidates[name]) for name in ("one", "two"))

    assert isinstance(first, Allotment)
    assert isinstance(second, Allotment)
    assert (first.steps, second.steps) == (2, 1)
