"""The search: the first solution, or a proof, in few steps."""

from collections.abc import Iterable

import pytest

from dra_scheduling.allocation.constraints import AdminOrNormal, MatchAttribute, alike
from dra_scheduling.allocation.search import Demand, Found, NotFound, search
from dra_scheduling.allocation.shortage_proofs import Shortage, shortage


def mask(*numbers: int) -> int:
    return sum(1 << number for number in numbers)


def demand(numbers: Iterable[int], wanted: int = 1, *rules: int, twin: int = -1) -> Demand:
    return Demand(candidates=mask(*numbers), wanted=wanted, rules=rules, twin=twin)


def test_the_first_devices_are_taken_in_order() -> None:
    assert search([demand(range(4), 2), demand(range(4), 1)], [], 99) == Found((mask(0, 1), mask(2)), 3)


def test_an_earlier_request_makes_way_for_a_later_one() -> None:
    found = search([demand([0, 1]), demand([0])], [], 99)
    assert isinstance(found, Found)
    assert found.picks == (mask(1), mask(0))


def test_matching_devices_come_from_one_group() -> None:
    rule = MatchAttribute([mask(0), mask(1, 2)])
    assert search([demand(range(4), 2, 0)], [rule], 99) == Found((mask(1, 2),), 3)


def test_two_rules_can_bind_one_request() -> None:
    first, second = MatchAttribute([mask(0, 1), mask(2, 3)]), MatchAttribute([mask(0, 2), mask(1), mask(3)])
    found = search([demand([0, 2], 1, 0, 1), demand([1, 2, 3], 1, 0), demand([2, 3], 1, 1)], [first, second], 99)
    assert isinstance(found, Found)
    assert found.picks == (mask(0), mask(1), mask(2))


def test_devices_that_nothing_tells_apart_are_tried_once() -> None:
    demands = [demand(range(32), 16), demand([32, 33], 1, 0), demand([34, 35], 1, 0)]
    rule = MatchAttribute([mask(32), mask(33), mask(34), mask(35)])
    found = search(demands, [rule], 1_000)
    assert found == NotFound(18, is_exhausted=False)


def test_constraints_are_as_before_when_nothing_was_found() -> None:
    rule = MatchAttribute([mask(0, 1), mask(2)])
    before = rule.allowed
    assert isinstance(search([demand([0, 2], 1, 0), demand([1], 2, 0)], [rule], 99), NotFound)
    assert rule.allowed == before


def test_the_budget_ends_a_search_without_an_answer() -> None:
    assert search([demand(range(4), 3)], [], 2) == NotFound(2, is_exhausted=True)
    assert isinstance(search([demand(range(4), 3)], [], 3), Found)


def test_alike_devices_are_in_the_same_sets() -> None:
    assert alike(mask(1), [mask(0, 1, 2), mask(2, 3)], mask(*range(5))) == mask(0, 1)


@pytest.mark.parametrize(
    ("demands", "proof"),
    [
        ([demand(range(3), 4)], Shortage(demands=(0,), wanted=4, found=3)),
        ([demand([9]), demand(range(3), 2), demand(range(3), 2)], Shortage(demands=(1, 2), wanted=4, found=3)),
        (
            [demand([0, 1]), demand([1, 2]), demand([0, 2]), demand([0, 1, 2])],
            Shortage(demands=(0, 1, 2, 3), wanted=4, found=3),
        ),
        ([demand([0, 1, 7], 1), demand([0, 1], 1), demand([1, 0, 2], 1), demand([2, 1], 1)], None),
        ([demand([0, 1, 2], 2), demand([0, 1], 1), demand([2, 3], 1)], None),
        ([demand([0, 1, 2], 2), demand([0, 1], 1), demand([2], 1)], Shortage(demands=(0, 1, 2), wanted=4, found=3)),
    ],
)
def test_a_shortage_is_proved_without_a_search(demands: list[Demand], proof: Shortage | None) -> None:
    assert shortage(demands) == proof


@pytest.mark.parametrize(
    ("demands", "proof"),
    [
        ([demand([0, 1], 2), demand([0, 1], 2)], Shortage(demands=(0, 1), wanted=4, found=3)),
        ([demand([0, 1], 2), demand([0], 1), demand([0], 1)], None),
        ([demand([0, 1], 1), demand([0, 1], 1)], None),
    ],
)
def test_what_requests_want_beyond_a_device_that_they_share_they_want_for_themselves(
    demands: list[Demand], proof: Shortage | None
) -> None:
    assert shortage(demands, shareable=mask(0)) == proof


def test_admin_access_and_a_normal_request_of_one_claim_never_share_a_device() -> None:
    look, use = AdminOrNormal.sides(mask(0, 1))
    admin = Demand(candidates=mask(0, 1), wanted=1, rules=(0,), space=0)
    found = search([admin, demand([0, 1], 1, 1)], [look, use], 99)
    assert isinstance(found, Found)
    assert found.picks == (mask(0), mask(1))
    assert isinstance(search([admin, demand([0], 1, 1), demand([1], 1, 1)], [look, use], 99), NotFound)


def test_alike_devices_are_told_apart_once_a_claim_with_admin_access_took_one() -> None:
    rules = [*AdminOrNormal.sides(mask(0, 1)), *AdminOrNormal.sides(mask(0, 1))]
    looks = [Demand(candidates=mask(0, 1), wanted=1, rules=(rule,), space=claim) for claim, rule in ((0, 0), (1, 2))]
    # The second claim can look only at what the first one uses.
    found = search([looks[0], demand([0, 1], 1, 1), looks[1], demand([0, 1], 1, 3)], rules, 99)
    assert isinstance(found, Found)
    assert found.picks == (mask(0), mask(1), mask(1), mask(0))


def test_a_shareable_device_serves_admin_access_and_a_share_of_one_claim() -> None:
    look, use = AdminOrNormal.sides(0)
    admin = Demand(candidates=mask(0), wanted=1, rules=(0,), space=0)
    assert search([admin, demand([0], 1, 1)], [look, use], 99, shareable=mask(0)) == Found((mask(0), mask(0)), 2)
