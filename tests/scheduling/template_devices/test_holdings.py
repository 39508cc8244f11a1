"""The devices that claims of the cluster hold, as plans start from them, and which of them are free because pods go."""

from collections.abc import Sequence

import pytest

from dra_cases.planning import Json, claim_of
from dra_scheduling.devices import PoolIndex
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.model.ids import ObjectKey, PoolKey
from dra_scheduling.state.change_log import ChangeLog
from dra_scheduling.state.claim_book import ClaimBook
from dra_scheduling.template_devices import Replanning

POOL = PoolKey("a", "p")
Held = list[Json | str] | None
Step = tuple[str, Held]
"""A claim and what it has: None for a claim that goes, an empty list for one without an allocation."""


def share(device: str, **amounts: int) -> Json:
    return {"device": f"p/{device}", "takes": {f"a/{name}": amount for name, amount in amounts.items()}}


def ledger_after(steps: Sequence[Step]) -> Ledger:
    ledger = Ledger()
    book = ClaimBook(ledger, PoolIndex(), ChangeLog())
    for name, held in steps:
        if held is None:
            book.remove(ObjectKey("default", name))
        else:
            book.apply(claim_of(name, {"has": held} if held else {}))
    return ledger


def taken(ledger: Ledger) -> dict[str, Json | None]:
    """Devices by name, None for those that one claim has for itself, else what is consumed of them."""
    record = ledger.taken(POOL)
    if record is None:
        return {}
    whole: dict[str, Json | None] = dict.fromkeys(record.dedicated)
    return whole | {
        name: {key: amount // 10**9 for key, amount in record.consumed(name).items()} for name in record.shared
    }


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("c", [])], []),
        ([("c", ["p/d"])], ["d"]),
        ([("c", ["p/d", "p/e"])], ["d", "e"]),
        ([("c", ["p/d"]), ("k", ["p/e"])], ["d", "e"]),
        ([("c", ["p/d"]), ("k", ["p/d"])], ["d"]),
        ([("c", ["p/d"]), ("c", None)], []),
        ([("c", ["p/d"]), ("k", ["p/e"]), ("c", None)], ["e"]),
        ([("c", ["p/d"]), ("k", ["p/d"]), ("c", None)], ["d"]),
        ([("c", ["p/d", "p/e"]), ("k", ["p/e"]), ("c", [])], ["e"]),
        ([("c", ["p/d", "p/e"]), ("c", ["p/e", "p/f"])], ["e", "f"]),
        ([("c", ["p/d", "p/e"]), ("k", ["p/d"]), ("c", ["p/f"])], ["d", "f"]),
        ([("c", ["p/d"]), ("c", [])], []),
    ],
)
def test_a_device_is_taken_while_any_claim_names_it(steps: list[Step], expected: list[str]) -> None:
    assert sorted(taken(ledger_after(steps))) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("c", [share("d", memory=4)])], {"d": {"a/memory": 4}}),
        ([("c", [share("d", memory=4)]), ("k", [share("d", memory=3)])], {"d": {"a/memory": 7}}),
        ([("c", ["p/d"])], {"d": None}),
        ([("c", [share("d", memory=4), "p/e"])], {"d": {"a/memory": 4}, "e": None}),
        ([("c", [share("d", memory=4, cores=1)]), ("k", [share("d", memory=3)])], {"d": {"a/memory": 7, "a/cores": 1}}),
        ([("c", [share("d", memory=4)]), ("k", [share("d", cores=1)])], {"d": {"a/memory": 4, "a/cores": 1}}),
        ([("c", [share("d", memory=4)]), ("k", [share("d", memory=3)]), ("c", None)], {"d": {"a/memory": 3}}),
        ([("c", [share("d", memory=4)]), ("c", None)], {}),
        ([("c", [share("d", memory=4)]), ("c", [share("d", memory=9)])], {"d": {"a/memory": 9}}),
        ([("c", [share("d", memory=4)]), ("c", [share("e", memory=4)])], {"e": {"a/memory": 4}}),
        ([("c", [share("d", memory=4)]), ("k", ["p/d"]), ("c", None)], {"d": None}),
        ([("c", ["p/d"]), ("c", [share("d", memory=4)])], {"d": {"a/memory": 4}}),
        ([("c", [share("d")])], {"d": {}}),
    ],
)
def test_shares_add_up_and_go_with_their_claims(steps: list[Step], expected: dict[str, Json | None]) -> None:
    assert taken(ledger_after(steps)) == expected


@pytest.mark.parametrize(
    ("users", "is_replanned"),
    [
        (["u1"], True),
        (["u1", "u2"], True),
        ([], False),
        (["u3"], False),
        (["u1", "u3"], False),
        ([{"resource": "jobs", "apiGroup": "batch", "name": "j", "uid": "u1"}], False),
        (["u1", {"resource": "jobs", "apiGroup": "batch", "name": "j", "uid": "j"}], False),
        ([{"resource": "pods", "apiGroup": "other.io", "name": "u1", "uid": "u1"}], False),
    ],
)
def test_a_claim_is_planned_anew_if_only_pods_that_go_use_it(users: list[Json | str], is_replanned: bool) -> None:  # noqa: FBT001
    claim = claim_of("c", {"has": ["p/d"], "users": users})

    replanning = Replanning.of(["u1", "u2"], [claim])

    assert replanning.concerns(claim) == is_replanned
    assert replanning.holders == (frozenset({"default/c"}) if is_replanned else frozenset())


def test_a_claim_without_an_allocation_is_not_planned_anew() -> None:
    assert not Replanning.of(["u1"], []).concerns(claim_of("c", ["r"]))
