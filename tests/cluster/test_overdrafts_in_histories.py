"""The reckoning that the mixed world is judged by finds what it is there to find."""

import pytest

from dra_builders import manifests
from dra_cluster.accounts import overdrafts
from dra_controlplane.client import Json

DRIVER = "gpu.example.com"
SHARED: Json = {"name": "shared", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "1Gi"}}}
PARTS: list[Json] = [
    {"name": name, "consumesCounters": [{"counterSet": "all", "counters": {"slices": {"value": drawn}}}]}
    for name, drawn in (("half", "500m"), ("most", "501m"))
]


def slices() -> list[Json]:
    pool = manifests.pool("p", count=2)
    body = manifests.resource_slice("devices", driver=DRIVER, pool=pool, devices=[SHARED, *PARTS], allNodes=True)
    sets = manifests.resource_slice("sets", driver=DRIVER, pool=pool, devices=(), allNodes=True)
    sets["spec"]["sharedCounters"] = [{"name": "all", "counters": {"slices": {"value": "1"}}}]
    return [body, sets]


def held(uid: str, device: str, **rest: object) -> tuple[str, Json]:
    """The event by which a claim comes to have a device."""
    result = {**manifests.result("gpu", driver=DRIVER, pool_name="p", device_name=device), **rest}
    return "MODIFIED", {"metadata": {"uid": uid}, "status": {"allocation": manifests.allocation("n1", result)}}


def share(uid: str, number: str, amount: str) -> tuple[str, Json]:
    return held(uid, "shared", shareID=number, consumedCapacity={"memory": amount})


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([held("a", "half"), held("b", "half")], "for himself"),
        ([held("a", "shared"), share("b", "1", "1Mi")], "for himself"),
        ([share("a", "1", "1Mi"), share("b", "1", "1Mi")], "two shares of one id"),
        ([share("a", "1", "512Mi"), share("b", "2", "513Mi")], "has given out"),
        ([held("a", "half"), held("b", "most")], "is overdrawn"),
    ],
)
def test_what_is_given_out_beyond_what_there_is_is_found(events: list[tuple[str, Json]], text: str) -> None:
    over = ("DELETED", {"metadata": {"uid": "b"}})
    assert [text in line for line in overdrafts(slices(), [*events, over])] == [True]


@pytest.mark.parametrize(
    "events",
    [
        [held("a", "half"), held("b", "half", adminAccess=True)],
        [share("a", "1", "512Mi"), share("b", "2", "512Mi")],
        [held("a", "half"), ("DELETED", {"metadata": {"uid": "a"}}), held("b", "most")],
    ],
)
def test_what_there_is_may_be_given_out(events: list[tuple[str, Json]]) -> None:
    assert overdrafts(slices(), events) == []
