"""Worlds on which searches take long, and large clusters: what the benchmark measures Kubernetes' allocator on."""

from collections.abc import Callable
from typing import NamedTuple

from dra_oracle.building import GPU, NIC, claim, device, piece, request, wish, world
from dra_oracle.kubernetes import Answer, Kubernetes
from dra_oracle.publishing import NODE, ROOT
from dra_oracle.world import Json, World

NEVER = f'device.attributes["{GPU}"].?model.orValue("") == "none of these"'


class Scenario(NamedTuple):
    """A world of one node on which a search is hard."""

    name: str
    world: World
    is_solvable: bool = False


class Field(NamedTuple):
    """A cluster and a pod that none of its nodes can serve, so that every node is looked at."""

    name: str
    nodes: tuple[Json, ...]
    world: World


def searches() -> tuple[Scenario, ...]:
    """The hard searches."""
    return (
        *(Scenario(f"T1, {k} requests for {k - 1} devices", many_requests(k)) for k in (8, 11, 16, 32)),
        *(Scenario(f"T2, {k} of {k - 1} devices", one_request(k, k - 1)) for k in (16, 22, 32)),
        *(Scenario(f"T3, {g + 1} of one of two groups of {g}", two_groups(g, g + 1)) for g in (18,)),
        Scenario("T3, 19 of one of two groups of 18 and 1 more", two_groups(18, 19, 1)),
        Scenario("T4, 8 of 32 devices, then one that nothing fits", then_nothing(8, 32)),
        Scenario("T5, 6 pairs of GPU and NIC with 5 NICs", pairs(6)),
        Scenario("T6, 7 requests of 8 alternatives, then one that nothing fits", alternatives(7, 8)),
        *(Scenario(f"T7, {k} quarters, then 8 whole GPUs", partitions(k)) for k in (2, 5)),
        Scenario("T8, 32 of 128 devices", one_request(32, 128), is_solvable=True),
    )


def many_requests(count: int) -> World:
    """One device less than there are requests of one."""
    return world([piece("s", *_plain(count - 1))], claim(*(request(f"r{n}", wish("gpu")) for n in range(count))))


def one_request(count: int, there: int) -> World:
    """One request for several of identical devices."""
    return world([piece("s", *_plain(there))], claim(request("r", wish("gpu", count=count))))


def two_groups(size: int, count: int, more: int = 0) -> World:
    """Devices in two groups of equal value, and a request for more than one group has."""
    devices = [device(f"d{n:03}", {"numa": n // size}) for n in range(2 * size)]
    second = [request("r1", wish("gpu", count=more))] if more else []
    rule = {"matchAttribute": f"{GPU}/numa", "requests": ["r0"]}
    return world([piece("s", *devices)], claim(request("r0", wish("gpu", count=count)), *second, constraints=[rule]))


def then_nothing(count: int, there: int) -> World:
    """A request with very many ways to serve it, before one that there is no way to serve."""
    return world(
        [piece("s", *_plain(there))],
        claim(request("r0", wish("gpu", count=count)), request("r1", wish("gpu", NEVER))),
    )


def pairs(count: int) -> World:
    """Pairs of devices of two drivers at one root, one NIC too few."""
    gpus = [device(f"g{n}", {ROOT: f"pci{n}"}) for n in range(count)]
    nics = [device(f"n{n}", {ROOT: f"pci{n}"}) for n in range(count - 1)]
    requests, rules = [], []
    for n in range(count):
        requests += [request(f"g{n}", wish("gpu")), request(f"n{n}", wish("nic"))]
        rules.append({"matchAttribute": ROOT, "requests": [f"g{n}", f"n{n}"]})
    return world([piece("g", *gpus), piece("n", *nics, driver=NIC)], claim(*requests, constraints=rules))


def alternatives(requests: int, count: int) -> World:
    """Requests with several alternatives each, before one that there is no way to serve."""
    listed = [request(f"r{n}", *(wish("gpu") for _ in range(count))) for n in range(requests)]
    return world([piece("s", *_plain(requests))], claim(*listed, request("last", wish("gpu", NEVER))))


def partitions(count: int) -> World:
    """Parts of GPUs, and then all GPUs whole."""
    part, whole = (f'device.attributes["{GPU}"].size == {size}' for size in (2, 8))
    small = [request(f"p{n}", wish("gpu", part)) for n in range(count)]
    return world(_partitioned(NODE), claim(*small, request("w", wish("gpu", whole, count=8))))


def fields() -> tuple[tuple[str, Callable[[], Field]], ...]:
    """The large clusters by name; each takes a while to make."""
    return (
        ("5,000 nodes of 8 devices", lambda: _field("plain", 5_000, _plain_pool)),
        ("400 nodes of 56 partitions", lambda: _field("partitions", 400, _partitioned)),
        ("5,000 nodes of 56 partitions", lambda: _field("partitions", 5_000, _partitioned)),
        ("one pool over 400 nodes", lambda: _field("one pool", 400, _part_of_pool(400))),
        ("one pool over 1,600 nodes", lambda: _field("one pool", 1_600, _part_of_pool(1_600))),
    )


def measure_search(kubernetes: Kubernetes, scenario: Scenario, limit_milliseconds: int, rounds: int) -> Answer:
    """What Kubernetes' allocator makes of it, and how long each of the rounds took."""
    return kubernetes.measure((scenario.world.node,), scenario.world, limit_milliseconds, rounds)


def measure_field(kubernetes: Kubernetes, field: Field, limit_milliseconds: int, rounds: int) -> Answer:
    """How long Kubernetes' allocator takes for one pod and all nodes, one after the other; none of them can."""
    return kubernetes.measure(field.nodes, field.world, limit_milliseconds, rounds)


def _field(name: str, count: int, slices_of: Callable[[str], list[Json]]) -> Field:
    names = [f"node-{number:05}" for number in range(count)]
    slices = [each for node in names for each in slices_of(node)]
    return Field(
        f"{name}, {count} nodes",
        tuple({"metadata": {"name": node, "labels": {"kubernetes.io/hostname": node}}} for node in names),
        world(slices, claim(request("r", wish("nic")))),
    )


def _plain(count: int) -> list[Json]:
    return [device(f"d{number:03}", {"model": "a"}) for number in range(count)]


def _plain_pool(node: str) -> list[Json]:
    return [piece(f"{node}-gpu", *_plain(8), pool=node, nodeName=node)]


def _part_of_pool(count: int) -> Callable[[str], list[Json]]:
    def part(node: str) -> list[Json]:
        devices = [device(f"{node}-{each['name']}", {"model": "a"}) for each in _plain(8)]
        return [piece(f"{node}-gpu", *devices, pool="all", nodeName=node, count=count)]

    return part


def _partitioned(node: str) -> list[Json]:
    """Eight GPUs of 8 units, each to be had whole, in two halves or in four quarters."""
    units = [(8, 0), (4, 0), (4, 4), (2, 0), (2, 2), (2, 4), (2, 6)]
    devices = [
        device(
            f"gpu-{gpu}-{size}-{start}",
            {"model": "a", "size": size, "gpu": gpu},
            consumesCounters=[
                {"counterSet": f"gpu-{gpu}", "counters": {f"u{n}": {"value": "1"} for n in range(start, start + size)}}
            ],
        )
        for gpu in range(8)
        for size, start in units
    ]
    sets = [{"name": f"gpu-{gpu}", "counters": {f"u{n}": {"value": "1"} for n in range(8)}} for gpu in range(8)]
    of_devices = piece(f"{node}-gpu", *devices, pool=node, nodeName=node, count=2)
    of_counters = piece(f"{node}-counters", pool=node, nodeName=node, count=2, sharedCounters=sets)
    del of_counters["spec"]["devices"]
    return [of_devices, of_counters]
