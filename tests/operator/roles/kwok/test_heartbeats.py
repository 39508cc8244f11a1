"""Leases of made-up nodes."""

import itertools

from dra_kube.errors import ApiError, UnclearError
from dra_operating.loop import settle
from dra_operating.machines import LEASES, NODES, Machines, Server, writes_to
from dra_operator.roles.kwok.heartbeats import SLOTS, Heartbeats
from dra_operator.roles.kwok.writer import KwokWriter

MANY = 4 * SLOTS


def nodes(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


async def renewed(server: Server, heartbeats: Heartbeats) -> set[str]:
    """The nodes whose Leases one tick renews."""
    begun = len(server.writes)
    await heartbeats.tick()
    patched = itertools.islice(server.writes, begun, None)
    return {path.rpartition("/")[2] for method, path in patched if method == "PATCH"}


async def test_a_new_node_is_alive_at_the_next_tick() -> None:
    server = Server()
    heartbeats = Heartbeats(KwokWriter(server))
    heartbeats.add("n", "uid-of-n")
    await heartbeats.tick()

    lease = server.objects[f"{LEASES}/n"]
    assert lease["spec"]["holderIdentity"] == "n"
    assert lease["metadata"]["ownerReferences"][0]["uid"] == "uid-of-n"


async def test_renewals_are_spread_over_the_wheel() -> None:
    server = Server()
    heartbeats = Heartbeats(KwokWriter(server))
    for name in nodes(MANY):
        heartbeats.add(name, "uid")
    await heartbeats.tick()
    turns = [await renewed(server, heartbeats) for _ in range(SLOTS)]

    assert {len(turn) for turn in turns} == {MANY // SLOTS}
    assert set().union(*turns) == set(nodes(MANY))


async def test_a_renewal_that_failed_is_tried_again_at_the_next_tick() -> None:
    server = Server()
    server.before = writes_to("PATCH", UnclearError("patch", 500))
    heartbeats = Heartbeats(KwokWriter(server))
    heartbeats.add("n", "uid")
    await heartbeats.tick()

    assert await renewed(server, heartbeats) == {"n"}
    assert server.names(LEASES) == ["n"]


async def test_a_node_that_is_gone_is_not_renewed() -> None:
    server = Server()
    heartbeats = Heartbeats(KwokWriter(server))
    heartbeats.add("n", "uid")
    heartbeats.drop("n")

    assert [await renewed(server, heartbeats) for _ in range(SLOTS)] == [set()] * SLOTS
    assert len(heartbeats) == 0


async def test_a_node_that_dies_while_its_lease_is_renewed_gets_none_again() -> None:
    server = Server()
    heartbeats = Heartbeats(KwokWriter(server))
    heartbeats.add("n", "uid")

    def dies(method: str, _: str) -> ApiError | None:
        if method == "PATCH":
            heartbeats.drop("n")
        return None

    server.before = dies
    await heartbeats.tick()

    assert server.writes == [("PATCH", f"{LEASES}/n")]


async def test_a_kubelet_that_is_dead_says_nothing_and_ends_no_pod() -> None:
    machines = Machines()
    machines.instance_type(count=0)
    machines.claim(never="heartbeat")
    machines.pod()
    async with machines.role():
        await machines.until(lambda: machines.server.names(NODES))
        await settle()

    assert machines.server.names(LEASES) == []
    assert machines.server.writes[-1] == ("POST", NODES)
