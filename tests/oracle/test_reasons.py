"""Every reason in the table is real: Kubernetes does so, we do otherwise, and the reworded question gets our answer."""

import pytest

from dra_oracle.building import GPU, NIC, claim, device, piece, request, wish, world
from dra_oracle.compare import Kind, compare
from dra_oracle.kubernetes import Kubernetes
from dra_oracle.ours import Ours, ours
from dra_oracle.reasons import REASONS
from dra_oracle.world import World

pytestmark = pytest.mark.timeout(900)

A, B = device("a", {"numa": 0}), device("b", {"numa": 1})
BROKEN = piece("broken", device("n"), driver=NIC, count=2)
NEWER = piece("newer", generation=2, nodeName="other")
TOO_FEW = [{"matchAttribute": f"{GPU}/numa"}]
FAILING = f'device.attributes["{GPU}"].model == "x"'

CASES = {
    "failing-selector": (
        world([piece("s", A, device("b", {"model": "x"}))], claim(request("r", wish("gpu", FAILING)))),
        ("podError", "allocated"),
    ),
    "all-beside-broken-pool": (
        world([piece("s", A, B), BROKEN], claim(request("r", wish("gpu", count=0)))),
        ("podError", "allocated"),
    ),
    "all-against-constraint": (
        world([piece("s", A, B)], claim(request("r", wish("gpu", count=0)), constraints=TOO_FEW)),
        ("podError", "impossible"),
    ),
    "uncompilable-unnoticed": (
        world([piece("s", A)], claim(request("r", wish("nic", "device.driver ==")))),
        ("impossible", "invalid"),
    ),
    "former-generation": (
        world([piece("s", A), NEWER], claim(request("r", wish()))),
        ("allocated", "impossible"),
    ),
    "slice-counts-disagree": (
        world([piece("s", A), piece("t", B, count=3, nodeName="other")], claim(request("r", wish()))),
        ("allocated", "impossible"),
    ),
    "name-twice-in-pool": (
        world([piece("s", A, count=2), piece("t", A, count=2, nodeName="other")], claim(request("r", wish()))),
        ("allocated", "impossible"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_difference_has_its_reason(kubernetes: Kubernetes, name: str) -> None:
    world_, verdicts = CASES[name]

    outcome = compare(kubernetes, world_)

    assert (outcome.theirs.verdict, outcome.mine.verdict) == verdicts, outcome
    assert (outcome.kind, outcome.reasons) == (Kind.EXPLAINED, (name,))


def test_every_reason_has_its_case() -> None:
    assert {reason.name for reason in REASONS} == set(CASES)


def test_a_difference_without_a_reason_is_not_explained_away(kubernetes: Kubernetes) -> None:
    def never(_: World) -> Ours:
        return ours(world([], claim(request("r", wish()))))

    outcome = compare(kubernetes, world([piece("s", A)], claim(request("r", wish()))), never)

    assert outcome.kind == Kind.UNEXPLAINED
