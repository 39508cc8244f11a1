import asyncio

import pytest

from dra_kube.errors import ApiError, ConflictError, UnclearError
from dra_operating.api import ApiInMemory, Fault
from dra_operating.clock import ManualClock
from dra_operating.loop import running, settle
from dra_operator.api.leases import Election, Leadership
from dra_operator.settings import Role, Settings

LEASE_SECONDS = 15
RENEW_SECONDS = 10
LEASE = "/apis/coordination.k8s.io/v1/namespaces/system/leases/dra-scheduler"


class Replica:
    """One of several that want the same Lease."""

    def __init__(self, name: str, api: ApiInMemory, clock: ManualClock) -> None:
        self.changes: list[bool] = []
        self.leadership = Leadership(Role.SCHEDULER, self._changed, clock)
        settings = Settings.from_environment({"DRA_IDENTITY": name, "DRA_NAMESPACE": "system"})
        self.election = Election(api, self.leadership, settings, clock)

    @property
    def is_leading(self) -> bool:
        return self.leadership.is_leading

    async def turn(self) -> None:
        """Takes part once."""
        async with running(self.election.run()):
            await settle()

    def _changed(self, _: Role) -> None:
        self.changes.append(self.leadership.is_leading)


class World:
    def __init__(self) -> None:
        self.api = ApiInMemory()
        self.clock = ManualClock()
        self.one = self.replica("one")
        self.two = self.replica("two")

    def replica(self, name: str) -> Replica:
        return Replica(name, self.api, self.clock)

    @property
    def holder(self) -> str:
        return str(self.api.objects[LEASE]["spec"]["holderIdentity"])


@pytest.fixture
def world() -> World:
    return World()


async def test_the_first_replica_leads_and_the_second_waits(world: World) -> None:
    await world.one.turn()
    await world.two.turn()

    assert (world.one.is_leading, world.two.is_leading, world.holder) == (True, False, "one")


async def test_a_lease_that_is_renewed_is_kept(world: World) -> None:
    await world.one.turn()
    for _ in range(20):
        world.clock.advance(5)
        await world.one.turn()
        await world.two.turn()

    assert (world.one.is_leading, world.two.is_leading) == (True, False)
    assert world.one.changes == [True]


async def test_a_lease_that_nobody_renews_is_taken_over_when_it_has_run_out(world: World) -> None:
    await world.one.turn()
    await world.two.turn()
    world.clock.advance(LEASE_SECONDS)
    await world.two.turn()
    assert not world.two.is_leading

    world.clock.advance(1)
    await world.two.turn()

    assert (world.two.is_leading, world.holder) == (True, "two")
    assert world.api.objects[LEASE]["spec"]["leaseTransitions"] == 1


async def test_the_clocks_of_two_hosts_need_not_agree(world: World) -> None:
    await world.one.turn()
    world.api.objects[LEASE]["spec"]["renewTime"] = "1999-12-31T23:59:59.000000Z"

    await world.two.turn()

    assert not world.two.is_leading


async def test_a_holder_that_cannot_renew_steps_back_before_anybody_takes_over(world: World) -> None:
    await world.one.turn()
    world.api.faults += [Fault(verb="get", path="leases", error=UnclearError("get", 503)) for _ in range(9)]
    world.clock.advance(RENEW_SECONDS - 1)
    await world.one.turn()
    assert world.one.is_leading

    world.clock.advance(1)

    assert not world.one.is_leading


async def test_a_process_that_slept_through_its_lease_writes_nothing_when_it_wakes(world: World) -> None:
    await world.one.turn()

    world.clock.advance(3_600)

    assert not world.one.is_leading


async def test_a_lead_that_lapsed_for_a_moment_is_begun_anew(world: World) -> None:
    await world.one.turn()
    world.clock.advance(RENEW_SECONDS + 1)

    await world.one.turn()

    # Whoever was not allowed to write in between is told to begin again.
    assert world.one.changes == [True, False, True]


async def test_a_holder_that_finds_another_in_its_place_steps_back(world: World) -> None:
    await world.one.turn()
    world.api.objects[LEASE]["spec"]["holderIdentity"] = "two"

    await world.one.turn()

    assert not world.one.is_leading
    assert world.one.changes == [True, False]


async def test_of_two_that_write_at_once_one_gets_it(world: World) -> None:
    await world.one.turn()
    world.api.objects[LEASE]["spec"]["holderIdentity"] = ""

    await asyncio.gather(world.one.turn(), world.two.turn())

    assert [world.one.is_leading, world.two.is_leading].count(True) == 1


async def test_a_lease_that_is_given_back_is_taken_over_at_once(world: World) -> None:
    await world.one.turn()
    await world.two.turn()

    await world.one.election.release()
    await world.two.turn()

    assert (world.one.is_leading, world.two.is_leading) == (False, True)


async def test_a_lease_is_given_back_whatever_was_written_of_a_renewal_that_was_cut_short(world: World) -> None:
    await world.one.turn()
    world.api.put(LEASE, world.api.objects[LEASE])

    await world.one.election.release()

    assert world.holder == ""


async def test_a_lease_is_given_back_when_a_renewal_is_written_while_it_is_given_back(world: World) -> None:
    await world.one.turn()
    world.api.faults.append(Fault(verb="replace", path="leases", error=ConflictError("replace", 409)))

    await world.one.election.release()

    assert world.holder == ""


async def test_what_another_has_taken_meanwhile_is_not_given_back(world: World) -> None:
    await world.one.turn()
    lease = world.api.objects[LEASE]
    world.api.put(LEASE, {**lease, "spec": {**lease["spec"], "holderIdentity": "two"}})

    await world.one.election.release()

    assert world.holder == "two"


async def test_nobody_gives_back_what_another_holds(world: World) -> None:
    await world.one.turn()
    await world.two.turn()

    await world.two.election.release()

    assert world.holder == "one"


async def test_no_right_to_leases_means_no_lead(world: World) -> None:
    world.api.faults += [Fault(verb="get", path="leases", error=ApiError("get", 403)) for _ in range(3)]

    await world.one.turn()

    assert not world.one.is_leading


def test_without_an_election_a_replica_leads_for_good() -> None:
    clock = ManualClock()
    replica = Replica("only", ApiInMemory(), clock)

    replica.leadership.take()
    clock.advance(1e9)

    assert replica.is_leading
