"""The checker knows a good allocation, and names the rule that a bad one breaks."""

import pytest

from dra_oracle.building import GPU, NIC, claim, device, held, piece, request, wish, world
from dra_oracle.check import faults, prepared
from dra_oracle.kubernetes import Selected
from dra_oracle.publishing import NODE
from dra_oracle.wishes import wishes_of
from dra_oracle.world import Json, World

ONE = request("r", wish())
TWO = request("r", wish(count=2))
ALL = request("r", wish(count=0))
A, B, C = device("a"), device("b"), device("c")
SHARED = device("s", capacity={"memory": {"value": "10Gi"}}, allowMultipleAllocations=True)
STEPPED = {"value": "1", "requestPolicy": {"default": "250m", "validRange": {"min": "250m", "step": "250m"}}}
CORES = device("s", capacity={"cores": STEPPED}, allowMultipleAllocations=True)
TAINTED = device("a", taints=[{"key": "broken", "value": "yes", "effect": "NoSchedule"}])
SETS = [{"name": "set", "counters": {"slots": {"value": "3"}}}]


def using(name: str, slots: str) -> Json:
    return device(name, consumesCounters=[{"counterSet": "set", "counters": {"slots": {"value": slots}}}])


def partitioned(*devices: Json) -> list[Json]:
    return [piece("s", *devices, count=2), piece("t", count=2, sharedCounters=SETS)]


def numbered(name: str, **attributes: object) -> Json:
    return device(name, dict(attributes))


def asking_memory(name: str, memory: str) -> Json:
    return request(name, wish(capacity={"requests": {"memory": memory}}))


def share(memory: str, number: int = 1, **more: object) -> Json:
    return {"shareID": f"id-{number}", "consumedCapacity": {"memory": memory}, **more}


def everything(world_: World) -> tuple[Selected, ...]:
    """Each request selects each device, as selectors that always hold would."""
    places = tuple((n, m) for n, each in enumerate(world_.slices) for m in range(len(each["spec"]["devices"])))
    return tuple(
        Selected(claim=each.claim, request=each.name, matching=places, possible=(GPU, NIC))
        for each in wishes_of(world_)
    )


def allocation(*results: tuple[str, str, Json], selector: Json | None = None, **more: object) -> Json:
    """Results as request, device and more, of pool p of the GPU driver, pinned to the node."""
    pin = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [NODE]}]}
    listed = [
        {"request": name, "driver": GPU, "pool": "p", "device": device_name, **fields}
        for name, device_name, fields in results
    ]
    return {"devices": {"results": listed, **more}, "nodeSelector": selector or {"nodeSelectorTerms": [pin]}}


def kinds(world_: World, *allocations: Json) -> set[str]:
    return {each.kind for each in faults(prepared(world_, everything(world_)), allocations)}


def got(request_name: str, *names: str) -> tuple[tuple[str, str, Json], ...]:
    return tuple((request_name, name, {}) for name in names)


def got_share(memory: str, number: int = 1) -> tuple[tuple[str, str, Json], ...]:
    return (("r", "s", share(memory, number)),)


SLICES = [piece("s", A, B, C)]
GOOD = {
    "one": (world(SLICES, claim(ONE)), [allocation(*got("r", "a"))]),
    "two": (world(SLICES, claim(TWO)), [allocation(*got("r", "a", "c"))]),
    "all": (world(SLICES, claim(ALL)), [allocation(*got("r", "a", "b", "c"))]),
    "two claims": (world(SLICES, claim(ONE), claim(ONE)), [allocation(*got("r", "b")), allocation(*got("r", "a"))]),
    "an alternative": (world(SLICES, claim(request("r", wish(), wish()))), [allocation(*got("r/s1", "a"))]),
    "counters to the last": (
        world(partitioned(using("a", "1"), using("b", "2")), claim(TWO)),
        [allocation(*got("r", "a", "b"))],
    ),
    "shares to the last": (
        world([piece("s", SHARED)], claim(asking_memory("r", "4Gi"), asking_memory("q", "6Gi"))),
        [allocation(("r", "s", share("4Gi")), ("q", "s", share("6Gi", 2)))],
    ),
    "a rounded share": (
        world([piece("s", CORES)], claim(request("r", wish(capacity={"requests": {"cores": "300m"}})))),
        [allocation(("r", "s", {"shareID": "id", "consumedCapacity": {"cores": "0.5"}}))],
    ),
    "a tolerated taint": (
        world([piece("s", TAINTED)], claim(request("r", wish(tolerations=[{"key": "broken", "operator": "Exists"}])))),
        [allocation(("r", "a", {"tolerations": [{"key": "broken", "operator": "Exists"}]}))],
    ),
    "admin access to what is taken": (
        world(SLICES, claim(request("r", wish(adminAccess=True))), taken=[held("a")]),
        [allocation(("r", "a", {"adminAccess": True}))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GOOD)
def test_a_good_allocation_has_no_fault(case: str) -> None:
    world_, allocations = GOOD[case]

    assert kinds(world_, *allocations) == set()


MATCH = [{"matchAttribute": f"{GPU}/numa"}]
DISTINCT = [{"distinctAttribute": f"{GPU}/numa"}]
NUMAS = [piece("s", numbered("a", numa=0), numbered("b", numa=1), numbered("c", numa=0), device("d"))]
OVERDRAWN = partitioned(using("a", "2"), using("b", "2"))
HALF = [piece("s", A, count=2)]
ADMIN = {"adminAccess": True}
SHARES = [piece("s", SHARED)]
CONFIG = [{"opaque": {"driver": GPU, "parameters": {"of": "claim"}}}]
IN_ZONE = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}
ZONED = piece("s", A, nodeSelector=IN_ZONE)
DOUBTFUL = [*SLICES, piece("t", A, pool="q", count=2)]

BAD = [
    ("count", world(SLICES, claim(TWO)), [allocation(*got("r", "a"))]),
    ("count", world(SLICES, claim(ONE)), [allocation(*got("r", "a", "b"))]),
    ("count", world(SLICES, claim(ONE, request("q", wish()))), [allocation(*got("r", "a"))]),
    ("count", world(SLICES, claim(request("r", wish(), wish()))), [allocation(*got("r/s0", "a"), *got("r/s1", "b"))]),
    ("twice", world(SLICES, claim(TWO)), [allocation(*got("r", "a", "a"))]),
    ("claims", world(SLICES, claim(ONE)), []),
    ("unknown", world(SLICES, claim(ONE)), [allocation(*got("x", "a"))]),
    ("unpublished", world(SLICES, claim(ONE)), [allocation(*got("r", "x"))]),
    ("unpublished", world([piece("s", A, nodeName="other")], claim(ONE)), [allocation(*got("r", "a"))]),
    ("unpublished", world([*SLICES, piece("t", generation=2)], claim(ONE)), [allocation(*got("r", "a"))]),
    ("pool-incomplete", world(HALF, claim(ONE)), [allocation(*got("r", "a"))]),
    ("pool-disagreeing", world([*HALF, piece("t", B)], claim(ONE)), [allocation(*got("r", "a"))]),
    ("pool-duplicates", world([*HALF, piece("t", A, count=2)], claim(ONE)), [allocation(*got("r", "a"))]),
    ("pool-counters", world([piece("s", using("a", "1"))], claim(ONE)), [allocation(*got("r", "a"))]),
    ("taint", world([piece("s", TAINTED)], claim(ONE)), [allocation(*got("r", "a"))]),
    ("taken", world(SLICES, claim(ONE), taken=[held("a")]), [allocation(*got("r", "a"))]),
    ("taken", world(SHARES, claim(ONE), taken=[held("s")]), [allocation(("r", "s", share("10Gi")))]),
    ("taken-twice", world(SLICES, claim(ONE), claim(ONE)), [allocation(*got("r", "a")), allocation(*got("r", "a"))]),
    ("constraint", world(NUMAS, claim(TWO, constraints=MATCH)), [allocation(*got("r", "a", "b"))]),
    ("constraint", world(NUMAS, claim(TWO, constraints=MATCH)), [allocation(*got("r", "a", "d"))]),
    ("constraint", world(NUMAS, claim(TWO, constraints=DISTINCT)), [allocation(*got("r", "a", "c"))]),
    ("counters", world(OVERDRAWN, claim(TWO)), [allocation(*got("r", "a", "b"))]),
    ("counters", world(OVERDRAWN, claim(ONE), taken=[held("a")]), [allocation(*got("r", "b"))]),
    ("capacity", world(SHARES, claim(ONE), taken=[held("s", **share("1Gi"))]), [allocation(*got_share("10Gi", 2))]),
    ("capacity", world(SHARES, claim(asking_memory("r", "11Gi"))), [allocation(("r", "s", share("11Gi")))]),
    ("share", world(SHARES, claim(ONE)), [allocation(("r", "s", share("1Gi")))]),
    ("share", world(SHARES, claim(ONE)), [allocation(*got("r", "s"))]),
    ("share", world(SLICES, claim(ONE)), [allocation(("r", "a", {"shareID": "x"}))]),
    ("share", world(SHARES, claim(asking_memory("r", "1Gi"), asking_memory("q", "1Gi"))),
     [allocation(("r", "s", share("1Gi")), ("q", "s", share("1Gi")))]),
    ("all", world(SLICES, claim(ALL)), [allocation(*got("r", "a", "b"))]),
    ("all-in-doubt", world(DOUBTFUL, claim(ALL)), [allocation(*got("r", "a", "b", "c"))]),
    ("order", world(SLICES, claim(TWO)), [allocation(*got("r", "b", "a"))]),
    ("order", world(SLICES, claim(ONE, request("q", wish()))), [allocation(*got("q", "a"), *got("r", "b"))]),
    ("limit", world([piece("s", *(device(f"d{n:02}") for n in range(33)))], claim(ALL)),
     [allocation(*got("r", *(f"d{n:02}" for n in range(33))))]),
    ("field", world(SLICES, claim(ONE)), [allocation(("r", "a", {"tolerations": [{"operator": "Exists"}]}))]),
    ("field", world(SLICES, claim(ONE)), [allocation(("r", "a", ADMIN))]),
    ("field", world([piece("s", device("a", bindingConditions=["x"]))], claim(ONE)), [allocation(*got("r", "a"))]),
    ("config", world(SLICES, claim(ONE, config=CONFIG)), [allocation(*got("r", "a"))]),
    ("config", world(SLICES, claim(ONE)), [allocation(*got("r", "a"), config=[{"source": "FromClaim", **CONFIG[0]}])]),
    ("node-selector", world([ZONED], claim(ONE)), [allocation(*got("r", "a"))]),
    ("node-selector", world(SLICES, claim(ONE)), [allocation(*got("r", "a"), selector=IN_ZONE)]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "world_", "allocations"), BAD, ids=[f"{n}-{each[0]}" for n, each in enumerate(BAD)])
def test_a_broken_rule_is_named(kind: str, world_: World, allocations: list[Json]) -> None:
    assert kinds(world_, *allocations) == {kind}


@pytest.mark.parametrize(("failing", "kind"), [(((0, 0),), "selector-failed"), ((), "not-selected")])
def test_a_device_that_the_selectors_do_not_take_is_noticed(failing: tuple[tuple[int, int], ...], kind: str) -> None:
    world_, allocations = GOOD["one"]
    selected = Selected(claim=0, request="r", matching=((0, 1),), failing=failing)

    assert {each.kind for each in faults(prepared(world_, (selected,)), tuple(allocations))} == {kind}


def test_an_allocation_of_a_zone_can_be_used_in_the_zone() -> None:
    assert kinds(world([ZONED], claim(ONE)), allocation(*got("r", "a"), selector=IN_ZONE)) == set()
