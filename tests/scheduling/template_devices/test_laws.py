"""Laws over random plans: two types, three zones, published and template devices, and an oracle that tries everything.

The oracle puts the node into every zone in turn and asks whether a type could serve the pod there.
"""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from dra_cases.planning import Json, Plan
from dra_cases.planning import given as devices_of
from dra_scheduling.allocation.allocation_outcomes import Allocated
from dra_scheduling.allocation.allocator import allocate
from dra_scheduling.allocation.claim_requests import ParsedClaim, parse_claim
from dra_scheduling.devices import NodePlace
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.template_devices import Allotment, CandidateAnswer, Denied, DeviceHost, UnfinishedSearch

ZONE = "topology.kubernetes.io/zone"
ZONES = ("a", "b", "c")
ELSEWHERE = "d"
"""A zone of which no device says that it is reached from there; those that every node reaches are."""
KIND = 'device.attributes["a"].kind == 1'


class Device(Struct, frozen=True):
    """A device as the oracle sees it. `zones` are those it is reached from, None for a template of the type.

    All of `ZONES` stands for every node.
    """

    name: str
    driver: str
    kind: int
    zones: tuple[str, ...] | None
    taken: bool = False


class World(Struct, frozen=True):
    """Published devices, templates of two types, and what is asked for: (class, count or 0 for all, kind) each."""

    published: tuple[Device, ...]
    types: dict[str, tuple[Device, ...]]
    asked: tuple[tuple[str, int, bool], ...]
    matching: bool
    needs: tuple[str, ...]

    @property
    def zones(self) -> tuple[str, ...]:
        return self.needs or (*ZONES, ELSEWHERE)


def written(device: Device) -> Json:
    return {"name": device.name, "is": {"a/kind": device.kind}}


def case_of(world: World) -> Json:
    slices = [
        {
            "name": f"s-{one.name}",
            "pool": one.name,
            "driver": one.driver,
            "node": "all" if one.zones == ZONES else {"zone": list(one.zones or ())},
            "devices": [written(one)],
        }
        for one in world.published
    ]
    types = {
        name: [{"driver": one.driver, "pool": one.name, "devices": [written(one)]} for one in templates]
        for name, templates in world.types.items()
    }
    asked = [
        {"name": f"r{number}", "class": name, "count": count or "all", "where": [KIND] if is_picky else []}
        for number, (name, count, is_picky) in enumerate(world.asked)
    ]
    claim = {"requests": asked, "match": [["a/kind", []]] if world.matching else []}
    return {
        "slices": slices,
        "types": types,
        "taken": [f"{one.driver}/{one.name}/{one.name}" for one in world.published if one.taken],
        "claims": {"c": claim, "d": claim},
        "candidates": {name: {"needs": {"zone": list(world.needs)} if world.needs else {}} for name in ("nc", "other")},
    }


def visible(world: World, type_name: str, zone: str) -> list[Device]:
    published = (one for one in world.published if one.zones == ZONES or zone in (one.zones or ()))
    return [*published, *world.types[type_name]]


def selected(asked: tuple[str, int, bool], devices: list[Device]) -> list[Device]:
    name, _, is_picky = asked
    return [one for one in devices if name in {"any", one.driver} and (not is_picky or one.kind == 1)]


def choices(world: World, type_name: str, zone: str) -> Iterator[list[tuple[Device, ...]]]:
    """Every way in which the type could serve the claim in the zone."""
    devices = visible(world, type_name, zone)
    options = []
    for one in world.asked:
        mine = selected(one, devices)
        if one[1]:
            options.append(list(itertools.combinations([each for each in mine if not each.taken], one[1])))
        else:
            options.append([tuple(mine)] if mine and not any(each.taken for each in mine) else [])
    for choice in itertools.product(*options):
        used = [each for group in choice for each in group]
        is_apart = len({id(each) for each in used}) == len(used)
        if is_apart and (not world.matching or len({each.kind for each in used}) == 1):
            yield list(choice)


def possible(world: World, zone: str) -> set[str]:
    return {name for name in world.types if next(choices(world, name, zone), None) is not None}


DRIVERS = st.sampled_from(["a", "b"])
PUBLISHED = st.tuples(
    DRIVERS, st.integers(0, 1), st.sampled_from([ZONES, ("a",), ("b",), ("a", "b"), ("b", "c")]), st.booleans()
)
TEMPLATES = st.lists(st.tuples(DRIVERS, st.integers(0, 1)), max_size=2)
ASKED = st.tuples(st.sampled_from(["a", "b", "any"]), st.sampled_from([0, 1, 1, 2]), st.booleans())


@st.composite
def worlds(draw: st.DrawFn) -> World:
    published = draw(st.lists(PUBLISHED, max_size=4))
    types = {name: draw(TEMPLATES) for name in ("t1", "t2")}
    return World(
        published=tuple(
            Device(f"d{number}", driver, kind, zones, taken)
            for number, (driver, kind, zones, taken) in enumerate(published)
        ),
        types={
            name: tuple(Device(f"x{number}", driver, kind, None) for number, (driver, kind) in enumerate(templates))
            for name, templates in types.items()
        },
        asked=tuple(draw(st.lists(ASKED, min_size=1, max_size=2))),
        matching=draw(st.booleans()),
        needs=draw(st.sampled_from([(), (), ("a",), ("a", "b"), ("c",)])),
    )


@given(worlds())
@settings(max_examples=400)
def test_as_many_types_are_served_as_any_one_zone_allows(world: World) -> None:
    answer = Plan(case_of(world)).ask("nc", ["c"])

    best = max(len(possible(world, zone)) for zone in world.zones)
    assert not isinstance(answer, UnfinishedSearch)
    assert (len(answer.types) if isinstance(answer, Allotment) else 0) == best


@given(worlds())
@settings(max_examples=400)
def test_what_is_given_is_there_in_every_zone_that_the_result_allows(world: World) -> None:
    answer = Plan(case_of(world)).ask("nc", ["c"])
    if isinstance(answer, Denied):
        return
    assert isinstance(answer, Allotment)

    narrowed = [wanted for wanted in answer.requirements if wanted.key == ZONE]
    left = [zone for zone in world.zones if all(wanted.has(zone) for wanted in narrowed)]
    assert left
    for one in answer.served:
        got = sorted((use.request, use.device.device) for claim in one.claims for use in claim.uses)
        for zone in left:
            ways = (
                sorted((f"r{number}", each.name) for number, group in enumerate(choice) for each in group)
                for choice in choices(world, one.name, zone)
            )
            assert got in ways


@given(worlds())
def test_no_order_of_the_input_matters(world: World) -> None:
    case = case_of(world)
    turned = {
        **case,
        "slices": case["slices"][::-1],
        "types": {name: templates[::-1] for name, templates in reversed(case["types"].items())},
    }

    assert told(Plan(case).ask("nc", ["c"])) == told(Plan(turned).ask("nc", ["c"]))


@given(worlds())
def test_a_release_gives_back_what_a_commit_took(world: World) -> None:
    plan = Plan(case_of(world))
    before = told(plan.ask("other", ["d"]))
    answer = plan.ask("nc", ["c"])
    if isinstance(answer, Allotment):
        plan.allocator.commit(answer)
        plan.allocator.release("nc", answer.types)

    assert told(plan.ask("other", ["d"])) == before
    assert plan.allocator.records == {}


@given(worlds())
def test_asking_changes_nothing(world: World) -> None:
    plan = Plan(case_of(world))

    assert told(plan.ask("nc", ["c"])) == told(plan.ask("nc", ["c"]))


@given(worlds())
def test_two_candidates_never_get_one_published_device(world: World) -> None:
    plan = Plan(case_of(world))
    first = plan.ask("nc", ["c"])
    if not isinstance(first, Allotment):
        return
    plan.allocator.commit(first)
    second = plan.ask("other", ["d"])

    assert not (published_in(first) & published_in(second))


@given(worlds(), st.sampled_from(ZONES))
def test_a_node_answers_what_the_allocator_of_nodes_answers(world: World, zone: str) -> None:
    case = case_of(world)
    plan = Plan({**case, "candidates": {"n1": {"labels": {"zone": zone}}}})
    answer = plan.ask("n1", ["c"])
    parsed = parse_claim("c", plan.claims["c"].spec, plan.classes, plan.features)
    assert isinstance(parsed, ParsedClaim)

    known = allocate([parsed], NodePlace("n1", {ZONE: zone}), plan.index, plan.ledger)

    expected = (
        [f"{result.pool}/{result.device}" for one in known.allocations for result in one.devices.results]
        if isinstance(known, Allocated)
        else None
    )
    assert (devices_of(answer)["t1"] if isinstance(answer, Allotment) else None) == expected


@given(worlds())
def test_template_devices_are_chosen_like_published_ones(world: World) -> None:
    case = {**case_of(world), "slices": [], "taken": []}
    plan = Plan(case)
    answer = plan.ask("nc", ["c"])
    for name, templates in case["types"].items():
        as_published = Plan({**case, "slices": [{"name": one["pool"], "node": "n1", **one} for one in templates]})
        parsed = parse_claim("c", plan.claims["c"].spec, plan.classes, plan.features)
        assert isinstance(parsed, ParsedClaim)
        known = allocate([parsed], NodePlace("n1", {}), as_published.index, Ledger())
        expected = isinstance(known, Allocated)
        assert (isinstance(answer, Allotment) and name in answer.types) == expected
        if isinstance(known, Allocated) and isinstance(answer, Allotment):
            got = [f"~{result.pool}/{result.device}" for one in known.allocations for result in one.devices.results]
            assert devices_of(answer)[name] == got


def test_candidates_may_be_asked_side_by_side() -> None:
    slices = [
        {"pool": f"p{zone}", "node": {"zone": zone}, "devices": [f"{zone}{number}" for number in range(6)]}
        for zone in ZONES
    ]
    types = {f"t{number}": [{"devices": [f"x{each}" for each in range(number % 4)]}] for number in range(20)}
    candidates = {f"nc{number}": {"needs": {"zone": ZONES[number % 3]}} for number in range(30)}
    case = {
        "slices": slices,
        "types": types,
        "candidates": candidates,
        "claims": {"c": [{"name": "r", "count": 7, "where": [KIND + " || true"]}]},
    }
    alone = Plan(case)
    expected = [told(alone.ask(name, ["c"])) for name in candidates]
    together = Plan(case)
    pod = together.pod("c")

    def ask(candidate: DeviceHost) -> object:
        return told(together.allocator.allocate(pod, candidate))

    with ThreadPoolExecutor(max_workers=4) as pool:
        assert list(pool.map(ask, together.candidates.values())) == expected


def told(answer: CandidateAnswer) -> object:
    """What an answer says, whatever the order of the types and however long it took."""
    if isinstance(answer, Allotment):
        return sorted(answer.types), devices_of(answer), answer.requirements
    return answer.refusal.message


def published_in(answer: CandidateAnswer) -> set[object]:
    served = answer.served if isinstance(answer, Allotment) else ()
    return {use.device for one in served for claim in one.claims for use in claim.uses if not use.is_template}
