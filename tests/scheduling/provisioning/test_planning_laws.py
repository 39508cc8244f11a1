"""Laws over random tiny worlds, held against an oracle that tries everything."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dra_cases.planning import Json
from dra_cases.planoracle import PLUGGED, can_be_served, flaws, zones_of
from dra_cases.turns import Play, Turn, told
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL, ZONE_LABEL
from dra_scheduling.model.nodeclaims import NodeClaim

ZONES = ("z1", "z2")
TAINT = "gpu:NoSchedule"
PLUGGED_CLASS = {
    "extendedResourceName": PLUGGED,
    "selectors": [{"cel": {"expression": 'device.driver == "a"'}}],
}
zone = st.fixed_dictionaries({"zone": st.sampled_from(ZONES)})
requests = st.lists(
    st.fixed_dictionaries({"class": st.sampled_from(("a", "b", "any")), "count": st.integers(1, 2)}),
    min_size=1,
    max_size=2,
).map(lambda found: [{"name": f"r{number}", **one} for number, one in enumerate(found)])
types = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from((2, 4, 8)),
        "price": st.integers(1, 9),
        "zones": st.lists(st.sampled_from(ZONES), min_size=1, unique=True),
        "devices": st.fixed_dictionaries({"a": st.integers(0, 3), "b": st.integers(0, 2)}).map(
            lambda found: {driver: count for driver, count in found.items() if count}
        ),
    },
    optional={"has": st.fixed_dictionaries({PLUGGED: st.integers(1, 2)})},
)
pools = st.fixed_dictionaries(
    {"weight": st.integers(0, 2)},
    optional={
        "taints": st.just([TAINT]),
        "needs": st.fixed_dictionaries({"zone": st.lists(st.sampled_from(ZONES), min_size=1, unique=True)}),
        "limits": st.dictionaries(st.sampled_from(("cpu", "nodes", "a")), st.integers(1, 9), min_size=1, max_size=1),
    },
)
pods = st.fixed_dictionaries(
    {"cpu": st.integers(1, 4), "priority": st.integers(0, 1)},
    optional={
        "wants": requests,
        "claims": st.just(["c"]),
        "selector": zone,
        "tolerates": st.just([TAINT]),
        "ports": st.just([80]),
        "asks": st.fixed_dictionaries({PLUGGED: st.integers(1, 2)}),
    },
)
daemons = st.fixed_dictionaries({"cpu": st.just(1)}, optional={"tolerates": st.just([TAINT])})
# Of devices that are alike nobody can tell which ones a DaemonSet has.
greedy_daemons = st.fixed_dictionaries(
    {
        "cpu": st.just(1),
        "tolerates": st.just([TAINT]),
        "wants": st.fixed_dictionaries({"class": st.sampled_from(("a", "b")), "count": st.integers(1, 2)}).map(
            lambda found: [{"name": "r", **found}]
        ),
    }
)
slices = st.lists(
    st.fixed_dictionaries(
        {
            "driver": st.sampled_from(("a", "b")),
            "node": st.one_of(st.just("all"), zone),
            "devices": st.sampled_from((["x"], ["x", "y"])),
        }
    ),
    max_size=2,
).map(lambda found: [{**one, "pool": f"net-{number}"} for number, one in enumerate(found)])


def named(prefix: str, some: st.SearchStrategy[Json], least: int, most: int) -> st.SearchStrategy[Json]:
    return st.lists(some, min_size=least, max_size=most).map(
        lambda found: {f"{prefix}{number}": one for number, one in enumerate(found)}
    )


def worlds(least: int = 1, most: int = 4) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(
        {
            "pools": named("pool", pools, 1, 2),
            "types": named("type", types, 1, 3),
            "pods": named("p", pods, least, most),
            "claims": st.fixed_dictionaries({"c": requests}),
            "slices": slices,
            "daemons": named("d", daemons, 0, 2),
            "classes": st.just({"plugged": PLUGGED_CLASS}),
        }
    )


def greedy_worlds(most: int = 3) -> st.SearchStrategy[Json]:
    """Worlds of nodes whose DaemonSets take devices, and none on the network."""
    some = named("d", greedy_daemons, 1, 3)
    return st.builds(lambda world, daemons: {**world, "slices": [], "daemons": daemons}, worlds(most=most), some)


def wanting_choice(world: Json) -> Json:
    """The same world with a first pool of which two types have to remain possible."""
    pool = world["pools"]["pool0"]
    needs = {**pool.get("needs", {}), "type": {"operator": "Exists", "minValues": 2}}
    return {**world, "pools": {**world["pools"], "pool0": {**pool, "needs": needs}}}


def planned(world: Json, order: random.Random | None = None) -> Turn:
    play = Play(order=order)
    play.add(world)
    return play.turn()


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_every_type_of_every_node_claim_can_serve_all_of_its_pods(world: Json) -> None:
    assert list(flaws(world, planned(world).makes)) == []


@settings(max_examples=60, deadline=None)
@given(worlds().map(wanting_choice))
def test_as_many_types_are_left_as_the_pool_wants(world: Json) -> None:
    assert list(flaws(world, planned(world).makes)) == []


@settings(max_examples=150, deadline=None)
@given(world=worlds(most=3), late=named("late", pods, 1, 3), launches=st.booleans())
def test_what_is_written_can_serve_those_who_join_it_whatever_it_becomes(
    world: Json, late: Json, *, launches: bool
) -> None:
    play = Play()
    play.add(world)
    for pod, kind, zone in [(one["pods"][0], *first_choice(world, one)) for one in play.turn().makes]:
        if launches:
            play.launch(pod, {"type": kind, "zone": zone})
    play.add({"pods": late})
    play.turn()

    everything = [as_launched(one) for one in play.cluster.inventory.claims.values()]
    assert list(flaws({**world, "pods": {**world["pods"], **late}}, everything)) == []


def first_choice(world: Json, made: Json) -> tuple[str, str]:
    return made["types"][0], zones_of(world, made, made["types"][0])[0]


def as_launched(claim: NodeClaim) -> Json:
    labels = claim.metadata.labels
    made = told(claim)
    if INSTANCE_TYPE_LABEL in labels:
        return {**made, "types": [labels[INSTANCE_TYPE_LABEL]], "needs": {"zone": [labels[ZONE_LABEL]]}}
    return made


@settings(max_examples=100, deadline=None)
@given(worlds())
def test_every_pod_has_a_node_claim_or_is_told_why_not(world: Json) -> None:
    turn = planned(world)
    served = [pod for one in turn.makes for pod in one["pods"]]

    assert sorted([*served, *turn.refuses]) == sorted(world["pods"])
    assert all(turn.refuses.values())


@settings(max_examples=200, deadline=None)
@given(worlds(most=1))
def test_a_pod_is_refused_exactly_if_no_type_alone_could_serve_it(world: Json) -> None:
    assert bool(planned(world).makes) == can_be_served(world, "p0")


@settings(max_examples=100, deadline=None)
@given(greedy_worlds())
def test_every_type_of_every_node_claim_has_devices_for_its_daemons_besides_those_of_its_pods(world: Json) -> None:
    assert list(flaws(world, planned(world).makes)) == []


@settings(max_examples=100, deadline=None)
@given(greedy_worlds(most=1))
def test_daemons_keep_a_pod_only_from_types_that_cannot_serve_them_besides_it(world: Json) -> None:
    assert bool(planned(world).makes) == can_be_served(world, "p0")


@settings(max_examples=60, deadline=None)
@given(worlds())
def test_planning_twice_makes_nothing_more(world: Json) -> None:
    play = Play()
    play.add(world)
    first, again = play.turn(), play.turn()

    assert (again.makes, again.planned.extended) == ([], ())
    assert set(again.refuses) == set(first.refuses)


@settings(max_examples=60, deadline=None)
@given(worlds(), st.integers(0, 99))
def test_the_order_of_the_input_does_not_matter(world: Json, seed: int) -> None:
    shuffled: dict[str, Any] = {
        word: dict(random.Random(seed).sample(sorted(said.items()), len(said))) if isinstance(said, dict) else said
        for word, said in world.items()
    }

    assert planned(shuffled, random.Random(seed)).planned == planned(world).planned


@settings(max_examples=60, deadline=None)
@given(worlds(most=1), st.integers(2, 4))
def test_pods_of_one_shape_never_need_more_node_claims_than_one_each(world: Json, count: int) -> None:
    shape = world["pods"]["p0"]
    turn = planned({**world, "pods": {f"p{number}": shape for number in range(count)}})

    assert len(turn.makes) <= count
    assert all(one["pods"] for one in turn.makes)
