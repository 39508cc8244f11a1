"""Whichever type each candidate becomes: no device is given twice, no counter overdrawn and no capacity exceeded."""

import itertools
from collections import Counter
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from dra_cases.planning import Json, Plan
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.template_devices import Allotment, CandidateAnswer, DeviceUse

CANDIDATES = ("nc0", "nc1", "n0")
HALF = 500_000_000
KIND = 'device.attributes["a"].kind == {}'


def device(number: int, kind: int, draws: int, room: int) -> Json:
    return {
        "name": f"d{number}",
        "is": {"a/kind": kind},
        **({"draws": {"s": {"m": f"{draws * 500}m"}}} if draws else {}),
        **({"shared": True, "has": {"memory": room}} if room else {}),
    }


DEVICES = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 3), st.sampled_from([0, 0, 4, 7])), min_size=1, max_size=5
).map(lambda drawn: [device(number, *each) for number, each in enumerate(drawn)])
WISHES = st.builds(
    lambda count, kind, memory: {
        "count": count,
        "where": [] if kind is None else [KIND.format(kind)],
        "takes": {"memory": memory} if memory else {},
    },
    st.integers(1, 2),
    st.sampled_from([None, 0, 1]),
    st.sampled_from([0, 0, 2, 3]),
)
REQUESTS = st.one_of(
    WISHES.map(lambda wish: {"name": "r", **wish}),
    st.lists(WISHES, min_size=2, max_size=2).map(
        lambda two: {"name": "r", "first": [{"name": f"x{number}", **wish} for number, wish in enumerate(two)]}
    ),
)
ASKS = st.lists(
    st.tuples(st.sampled_from(CANDIDATES), st.lists(REQUESTS, min_size=1, max_size=1)), min_size=2, max_size=6
)


@st.composite
def plans(draw: st.DrawFn) -> tuple[Plan, list[tuple[str, str]], int]:
    """A world, what is asked of whom, and the total of its counter in halves."""
    devices, total = draw(DEVICES), draw(st.integers(1, 6))
    asks = draw(ASKS)
    kinds = [[{"pool": "t", "devices": [device(9, kind, 0, 0)]}] for kind in (0, 1)]
    case = {
        "slices": [{"counters": [["s", {"m": f"{total * 500}m"}]], "devices": devices}],
        "types": {"t0": kinds[0], "t1": kinds[1], "node": []},
        "candidates": {
            "nc0": {"types": ["t0", "t1"]},
            "nc1": {"types": ["t0", "t1"]},
            "n0": {"labels": {}, "types": ["node"]},
        },
        "claims": {f"c{number}": requests for number, (_, requests) in enumerate(asks)},
        "taken": ["p/d0"] if draw(st.booleans()) and "shared" not in devices[0] else [],
    }
    return Plan(case), [(candidate, f"c{number}") for number, (candidate, _) in enumerate(asks)], total


Holdings = dict[str, dict[str, list[DeviceUse]]]


def made(plan: Plan, asks: list[tuple[str, str]]) -> Holdings:
    """Make the plan, and return what every type of every candidate holds in the end, by its claims."""
    for candidate, claim in asks:
        answer = plan.ask(candidate, [claim])
        if isinstance(answer, Allotment):
            plan.allocator.commit(answer)
    holdings: Holdings = {}
    for record in plan.allocator.records.values():
        for name, served in record.by_type.items():
            holdings.setdefault(record.candidate, {}).setdefault(name, []).extend(served.uses)
    return holdings


def ends(holdings: Holdings) -> Iterator[list[tuple[str, DeviceUse]]]:
    """Every way in which candidates may become one of their types: the uses that come true, with their candidates."""
    options = [[(candidate, name) for name in by_type] for candidate, by_type in holdings.items()]
    for chosen in itertools.product(*options):
        yield [(candidate, use) for candidate, name in chosen for use in holdings[candidate][name]]


@given(plans())
@settings(max_examples=300)
def test_every_end_of_a_plan_is_possible(world: tuple[Plan, list[tuple[str, str]], int]) -> None:
    plan, asks, total = world
    taken = [device for held in plan.ledger.held.values() for device in held.devices]
    gone = sum(drawn_by(plan, device) for device in taken)

    for uses in ends(made(plan, asks)):
        whole = [(candidate * use.is_template, use.device) for candidate, use in uses if use.consumed is None]
        assert len(set(whole)) == len(whole)
        assert not {("", device) for device in taken} & set(whole)
        drawn = sum(drawn_by(plan, device) for device in {use.device for _, use in uses if not use.is_template})
        assert not drawn or drawn + gone <= total * HALF
        assert all(amount <= capacity_of(plan, device) for device, amount in consumed_by(uses).items())


@given(plans())
def test_nothing_is_left_of_a_plan_that_is_given_up(world: tuple[Plan, list[tuple[str, str]], int]) -> None:
    plan, asks, _ = world
    before = [plan.ask(candidate, [claim]) for candidate, claim in asks]

    for candidate in made(plan, asks):
        plan.allocator.retain(candidate, ())

    assert plan.allocator.records == {}
    after = [plan.ask(candidate, [claim]) for candidate, claim in asks]
    assert [served_in(answer) for answer in after] == [served_in(answer) for answer in before]


def served_in(answer: CandidateAnswer) -> object:
    return answer.served if isinstance(answer, Allotment) else answer.refusal


def drawn_by(plan: Plan, device: DeviceID) -> int:
    found = plan.index.device(device)
    consumptions = found.consumes_counters if found is not None else ()
    return sum(counter.value.nano for each in consumptions for counter in each.counters.values())


def consumed_by(uses: list[tuple[str, DeviceUse]]) -> Counter[DeviceID]:
    total: Counter[DeviceID] = Counter()
    for _, use in uses:
        for _, amount in use.consumed or ():
            total[use.device] += amount
    return total


def capacity_of(plan: Plan, device: DeviceID) -> int:
    found = plan.index.device(device)
    assert found is not None
    return found.capacity["memory"].value.nano
