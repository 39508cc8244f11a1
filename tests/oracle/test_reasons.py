"""Every reason in the table is real: Kubernetes does so, we do otherwise, and the reworded question gets our answer."""

import msgspec
import pytest

from dra_oracle.building import GPU, NIC, claim, device, held, piece, request, wish, world
from dra_oracle.compare import Kind, compare
from dra_oracle.kubernetes import Kubernetes
from dra_oracle.ours import Ours, ours
from dra_oracle.reasons import REASONS
from dra_oracle.world import Json, World

pytestmark = pytest.mark.timeout(900)

A, B = device("a", {"numa": 0}), device("b", {"numa": 1})
BROKEN = piece("broken", device("n"), driver=NIC, count=2)
NEWER = piece("newer", generation=2, nodeName="other")
SAME_NUMA = [{"matchAttribute": f"{GPU}/numa"}]
FAILING = f'device.attributes["{GPU}"].model == "x"'
NUMA = f'device.attributes["{GPU}"].numa'
IS_A, IS_B = (f'device.attributes["{GPU}"].numa == {number}' for number in (0, 1))
ONE = request("r", wish())
ALL = request("r", wish("gpu", count=0))
ADMIN = request("admin", wish(adminAccess=True))
EITHER = request("r", wish("missing"), wish())
NO_BINDING, NO_SHARING, ROUNDED = "DeviceBindingAndStatus", "ConsumableCapacity", "FractionalCapacityRange"
GONE, SHARE = held("gone"), held("a", shareID="x")


def partitioned(*uses: tuple[str, str, str]) -> list[Json]:
    """A pool with a set of two counters of 2 each, and devices that draw from one of these."""
    devices = [
        device(name, consumesCounters=[{"counterSet": "set", "counters": {counter: {"value": amount}}}])
        for name, counter, amount in uses
    ]
    sets = [{"name": "set", "counters": {"slots": {"value": "2"}, "engines": {"value": "2"}}}]
    return [piece("s", *devices, count=2), piece("t", count=2, sharedCounters=sets)]


def without(feature: str, world_: World) -> World:
    return msgspec.structs.replace(world_, features=tuple(name for name in world_.features if name != feature))


LISTED = {"name": "a", "attributes": {"numa": {"ints": [0]}}}
BOUND = device("a", bindsToNode=True)
CORES = {"default": "100m", "validRange": {"min": "100m", "step": "100m"}}
TENTHS = device("a", allowMultipleAllocations=True, capacity={"cores": {"value": "800m", "requestPolicy": CORES}})
TENTH = request("r", wish(capacity={"requests": {"cores": "250m"}}))
FULL = device("b", allowMultipleAllocations=True, capacity={"cores": {"value": "1"}})
FILLING = held("b", shareID="x", consumedCapacity={"cores": "1"})
DISTINCT_NUMA = [{"distinctAttribute": f"{GPU}/numa"}]
ONE_SLOT = partitioned(("a", "slots", "2"), ("b", "slots", "2"))
OVERDRAWN = partitioned(("a", "slots", "2"), ("b", "slots", "2"), ("c", "engines", "1"))
GROUPED = piece(
    "g", device("g", consumesCounters=[{"counterSet": "s", "counters": {}, "compatibilityGroups": ["x"]}]), pool="q"
)
DERIVING = request("r", wish(derivedAttributes=[{"name": f"{GPU}/numa", "expression": f"1 / {NUMA}"}]))
APART = partitioned(("a", "slots", "0"), ("b", "slots", "0"), ("c", "slots", "0"))
APART[0]["spec"]["devices"][1]["consumesCounters"][0]["compatibilityGroups"] = ["g"]
SECOND_CHOICE = claim(request("r0", wish()), request("r1", wish("any", IS_A), wish("any", IS_B)))

CASES = [
    ("failing-selector", "podError", "allocated",
     world([piece("s", A, device("b", {"model": "x"}))], claim(request("r", wish("gpu", FAILING))))),
    ("all-beside-broken-pool", "podError", "allocated", world([piece("s", A, B), BROKEN], claim(ALL))),
    ("all-against-constraint", "podError", "impossible", world([piece("s", A, B)], claim(ALL, constraints=SAME_NUMA))),
    ("all-against-constraint", "podError", "allocated",
     world([piece("s", A, B)], claim(request("r", wish(count=0), wish()), constraints=SAME_NUMA))),
    ("uncompilable-unnoticed", "impossible", "refused",
     world([piece("s", A)], claim(request("r", wish("nic", "device.driver =="))))),
    ("broken-alternative", "podError", "allocated", world([piece("s", A)], claim(EITHER))),
    ("broken-alternative", "podError", "impossible", world([], claim(EITHER))),
    ("alternatives-by-request", "allocated", "allocated", world([piece("s", A, B)], SECOND_CHOICE)),
    ("admin-access", "impossible", "allocated", world([piece("s", A)], claim(ADMIN), claim(ONE))),
    ("admin-access", "impossible", "allocated", world(ONE_SLOT, claim(ADMIN), taken=[held("a")])),
    ("admin-access", "impossible", "allocated", world([piece("s", A, B)], claim(ADMIN, ONE), claim(ONE))),
    ("admin-access", "impossible", "allocated", world([piece("s", A, FULL)], claim(ONE, ADMIN), taken=[FILLING])),
    ("draws-unseen", "allocated", "impossible", world(ONE_SLOT, claim(ONE), taken=[GONE])),
    ("share-of-whole-device", "allocated", "impossible", world([piece("s", A)], claim(ONE), taken=[SHARE])),
    ("overdrawn-elsewhere", "impossible", "allocated", world(OVERDRAWN, claim(ONE), taken=[held("a"), held("b")])),
    ("whole-ranges", "impossible", "allocated", without(ROUNDED, world([piece("s", TENTHS)], claim(TENTH)))),
    ("binding-switched-off", "allocated", "impossible", without(NO_BINDING, world([piece("s", BOUND)], claim(ONE)))),
    ("lists-switched-off", "allocated", "impossible", world([piece("s", LISTED)], claim(ONE, constraints=SAME_NUMA))),
    ("sharing-switched-off", "allocated", "impossible", without(NO_SHARING, world([piece("s", TENTHS)], claim(ONE)))),
    ("distinction-switched-off", "allocated", "refused",
     without(NO_SHARING, world([piece("s", A)], claim(ONE, constraints=DISTINCT_NUMA)))),
    ("groups-switched-off", "allocated", "impossible", world([piece("s", A), GROUPED], claim(ALL))),
    ("failing-derivation", "podError", "allocated",
     world([piece("s", A, B)], claim(DERIVING, constraints=SAME_NUMA), extra=["DerivedAttributes"])),
    ("contradicting-groups", "allocated", "impossible",
     world(APART, claim(ONE), taken=[held("a"), held("b")], extra=["CompatibilityGroups"])),
    ("former-generation", "allocated", "impossible", world([piece("s", A), NEWER], claim(ONE))),
    ("slice-counts-disagree", "allocated", "impossible",
     world([piece("s", A), piece("t", B, count=3, nodeName="other")], claim(ONE))),
    ("name-twice-in-pool", "allocated", "impossible",
     world([piece("s", A, count=2), piece("t", A, count=2, nodeName="other")], claim(ONE))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "theirs", "mine", "world_"), CASES, ids=[f"{n}-{case[0]}" for n, case in enumerate(CASES)]
)
def test_a_difference_has_its_reason(kubernetes: Kubernetes, name: str, theirs: str, mine: str, world_: World) -> None:
    outcome = compare(kubernetes, world_)

    assert (outcome.theirs.verdict, outcome.mine.verdict) == (theirs, mine), outcome
    assert (outcome.kind, outcome.reasons) == (Kind.EXPLAINED, (name,))


def test_every_reason_has_its_case() -> None:
    assert {reason.name for reason in REASONS} == {case[0] for case in CASES}


def test_reasons_are_found_together(kubernetes: Kubernetes) -> None:
    both = world([piece("s", A), BROKEN], claim(ADMIN), claim(ALL))

    outcome = compare(kubernetes, both)

    assert (outcome.kind, set(outcome.reasons)) == (Kind.EXPLAINED, {"all-beside-broken-pool", "admin-access"})


def test_a_difference_without_a_reason_is_not_explained_away(kubernetes: Kubernetes) -> None:
    def never(_: World) -> Ours:
        return ours(world([], claim(ONE)))

    outcome = compare(kubernetes, world([piece("s", A)], claim(ONE)), never)

    assert outcome.kind == Kind.UNEXPLAINED


def test_an_allocation_that_breaks_a_rule_is_never_explained(kubernetes: Kubernetes) -> None:
    def heedless(world_: World) -> Ours:
        return ours(world(world_.slices, *world_.claims))

    outcome = compare(kubernetes, world([piece("s", A, B)], claim(ONE), taken=[held("a")]), heedless)

    assert outcome.kind == Kind.UNEXPLAINED
    assert "somebody else's" in outcome.text
