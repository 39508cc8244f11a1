"""Kinds that a cluster begins or ceases to serve while the operator runs."""

import pytest

from dra_kube.errors import ApiError
from dra_kube.resources import Resource
from dra_operating.api import ApiInMemory, Fault
from dra_operator.kinds import BIND_REQUESTS, INSTANCE_TYPES, NODE_CLAIMS, NODE_POOLS, TAINT_RULES, WATCHED
from dra_operator.watch.upgrades import CONFIRMATIONS, Upgrades

NODE_KINDS = (NODE_POOLS, INSTANCE_TYPES, NODE_CLAIMS)


class Place:
    """A cluster, and an operator that has found these optional kinds when it started."""

    def __init__(self, *optional: Resource) -> None:
        self.api = ApiInMemory()
        self.reasons: list[str] = []
        self.serve(*WATCHED, *optional)
        self.upgrades = Upgrades(self.api, optional, self.reasons.append)

    def serve(self, *resources: Resource) -> None:
        """From now on these kinds are served, and no others."""
        self.api.objects.clear()
        for root in {one.root for one in resources}:
            served = [{"name": one.plural} for one in resources if one.root == root]
            self.api.put(root, {"metadata": {}, "resources": served})

    async def look(self, times: int = CONFIRMATIONS) -> None:
        for _ in range(times):
            await self.upgrades.look()


async def test_as_long_as_nothing_changes_the_process_goes_on() -> None:
    place = Place(*NODE_KINDS)

    await place.look(3 * CONFIRMATIONS)

    assert (place.reasons, place.upgrades.problems) == ([], ())


@pytest.mark.parametrize("new", [TAINT_RULES, *NODE_KINDS], ids=lambda one: str(one.plural))
async def test_a_kind_that_is_new_ends_the_process_once(new: Resource) -> None:
    place = Place()
    place.serve(*WATCHED, new)

    await place.look(3 * CONFIRMATIONS)

    kinds = f"new: {new.plural} in {new.api_version}; gone: none"
    assert place.reasons == [f"the cluster serves other kinds now ({kinds}); start the operator again"]


async def test_an_optional_kind_that_has_gone_ends_the_process() -> None:
    place = Place(*NODE_KINDS)
    place.serve(*WATCHED, INSTANCE_TYPES)

    await place.look()

    (reason,) = place.reasons
    assert "new: none; gone: nodepools in karpenter.sh/v1, nodeclaims in karpenter.sh/v1" in reason


async def test_while_kinds_come_one_by_one_nothing_ends() -> None:
    place = Place()
    for number in range(1, len(NODE_KINDS) + 1):
        place.serve(*WATCHED, *NODE_KINDS[:number])
        await place.look(CONFIRMATIONS - 1)
    assert place.reasons == []

    await place.look(1)

    assert len(place.reasons) == 1


async def test_a_kind_that_is_away_for_a_moment_ends_nothing() -> None:
    place = Place(*NODE_KINDS)
    for _ in range(3):
        place.serve(*WATCHED)
        await place.look(CONFIRMATIONS - 1)
        place.serve(*WATCHED, *NODE_KINDS)
        await place.look(1)

    assert place.reasons == []


async def test_a_kind_that_has_to_be_there_is_waited_for() -> None:
    place = Place()
    place.serve(*(one for one in WATCHED if one is not BIND_REQUESTS))
    await place.look()

    (line,) = place.upgrades.problems
    assert line.startswith("the cluster does not serve bindrequests in scheduling.run.ai/v1alpha2")
    place.serve(*WATCHED)
    await place.look(1)
    assert (place.upgrades.problems, place.reasons) == ((), [])


async def test_as_long_as_nothing_changes_the_server_is_asked_once_a_minute() -> None:
    place = Place(*NODE_KINDS)
    assert place.upgrades.pause == 60

    await place.look()

    assert place.upgrades.pause == 60


async def test_a_change_is_confirmed_within_seconds() -> None:
    place = Place()
    place.serve(*WATCHED, *NODE_KINDS)
    await place.look(1)
    assert place.upgrades.pause * CONFIRMATIONS <= 10

    place.serve(*WATCHED)
    await place.look(1)

    assert place.upgrades.pause == 60


async def test_the_return_of_a_kind_that_has_to_be_there_is_seen_sooner() -> None:
    place = Place()
    place.serve(*(one for one in WATCHED if one is not BIND_REQUESTS))
    await place.look(1)
    assert place.upgrades.pause == 10

    place.serve(*WATCHED)
    await place.look(1)

    assert place.upgrades.pause == 60


async def test_a_server_that_does_not_answer_says_nothing_about_kinds() -> None:
    place = Place(*NODE_KINDS)
    error = ApiError("get", 503, reason="ServiceUnavailable", message="not now")

    for _ in range(2 * CONFIRMATIONS):
        place.api.faults.append(Fault(verb="get", path="/apis", error=error))
        with pytest.raises(ApiError):
            await place.look(1)

    assert (place.reasons, place.upgrades.problems) == ([], ())
