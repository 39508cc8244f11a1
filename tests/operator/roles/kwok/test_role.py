"""Machines for NodeClaims, from the launch to the end, over a server that may fail."""

import itertools
from collections.abc import Callable

import pytest

from dra_kube.errors import ApiError, ConflictError, UnclearError
from dra_operating.machines import (
    LEASES,
    NODE_CLAIMS,
    NODES,
    PODS,
    SLICES,
    TYPES,
    Fault,
    Machines,
    nth_write,
    writes_to,
)

CLAIM = f"{NODE_CLAIMS}/n"
NODE = f"{NODES}/n"
POD = f"{PODS}/p"
PODS_OF_NODE = "/api/v1/pods?fieldSelector=spec.nodeName%3Dn"
UNPUBLISHED = "kwok.dra-scheduler.dev/unpublished"


def is_up(machines: Machines) -> bool:
    return len(machines.slices()) == 2


def is_gone(machines: Machines) -> bool:
    finalizers: list[str] = machines.get(CLAIM)["metadata"]["finalizers"]
    return finalizers == ["karpenter.sh/termination"]


def on_first_question(path: str, happens: Callable[[], None]) -> Fault:
    """Something happens just before the server answers a question for the first time."""
    left = [happens]

    def fault(method: str, asked: str) -> ApiError | None:
        if (method, asked) == ("GET", path) and left:
            left.pop()()
        return None

    return fault


def what_is_left(machines: Machines) -> list[str]:
    return [path for path in machines.server.objects if path.startswith((NODES, SLICES, LEASES))]


async def test_a_node_claim_gets_a_machine_and_says_so() -> None:
    machines = Machines()
    machines.instance_type(count=130)
    machines.claim()
    async with machines.role():
        await machines.until(lambda: is_up(machines))

    claim, node = machines.get(CLAIM), machines.get(NODE)
    assert claim["status"]["providerID"] == node["spec"]["providerID"] == "kwok://n"
    assert claim["metadata"]["labels"].items() <= node["metadata"]["labels"].items()
    assert {one["key"] for one in node["spec"]["taints"]} == {"karpenter.sh/unregistered"}
    assert machines.slices() == [("n-gpu.example.com-0", 1, 2, 128), ("n-gpu.example.com-1", 1, 2, 2)]


async def test_labels_come_before_the_launch_and_the_launch_before_the_node() -> None:
    machines = Machines()
    machines.instance_type(count=130)
    machines.claim()
    async with machines.role():
        await machines.until(lambda: is_up(machines))

    assert [one for one in machines.server.writes if "lease" not in one[1]] == [
        ("PATCH", CLAIM),
        ("PATCH", f"{CLAIM}/status"),
        ("POST", NODES),
        ("POST", SLICES),
        ("POST", SLICES),
    ]


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize(
    "error", [UnclearError("write", 500), ConflictError("write", 409), ApiError("write", 422)], ids=lambda one: one.code
)
async def test_a_write_that_is_refused_is_made_again(error: ApiError, number: int) -> None:
    machines = Machines()
    machines.instance_type(count=130)
    machines.claim()
    machines.server.before = nth_write(number, error)
    async with machines.role():
        await machines.until(lambda: is_up(machines))

    assert [generation for _, generation, _, _ in machines.slices()] == [1, 1]


@pytest.mark.parametrize("number", range(5))
async def test_an_answer_that_is_lost_leads_to_no_second_machine(number: int) -> None:
    machines = Machines()
    machines.instance_type(count=130)
    machines.claim()
    machines.server.after = nth_write(number, UnclearError("write", 0))
    async with machines.role():
        await machines.until(lambda: is_up(machines))

    assert machines.server.names(NODES) == ["n"]
    assert [generation for _, generation, _, _ in machines.slices()] == [1, 1]


@pytest.mark.parametrize("number", range(5))
async def test_a_role_that_was_killed_is_followed_by_one_that_goes_on(number: int) -> None:
    machines = Machines()
    machines.instance_type(count=130)
    machines.claim()
    reached: list[int] = []
    counter = itertools.count()

    def stop(method: str, _: str) -> ApiError | None:
        if method != "GET" and next(counter) >= number:
            reached.append(number)
            return UnclearError("write", 0)
        return None

    machines.server.before = stop
    async with machines.role():
        await machines.until(lambda: bool(reached))
    machines.server.before = lambda _method, _path: None
    async with machines.role():
        await machines.until(lambda: is_up(machines))

    assert machines.server.names(NODES) == ["n"]
    assert [generation for _, generation, _, _ in machines.slices()] == [1, 1]


async def test_a_machine_goes_when_its_pods_are_away_and_not_before() -> None:
    machines = Machines()
    machines.instance_type(count=130)
    machines.claim()
    async with machines.role():
        await machines.until(lambda: is_up(machines))
        machines.server.delete(CLAIM)
        await machines.until(lambda: True)
        assert machines.get(NODE)
        machines.condition("n", "Drained")
        await machines.until(lambda: is_gone(machines))

    assert what_is_left(machines) == []


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("is_applied", [True, False], ids=["applied", "refused"])
async def test_a_removal_is_finished_whatever_fails(number: int, *, is_applied: bool) -> None:
    machines = Machines()
    machines.instance_type(count=130)
    machines.claim()
    async with machines.role():
        await machines.until(lambda: is_up(machines))
        fault = nth_write(number, UnclearError("write", 500))
        if is_applied:
            machines.server.after = fault
        else:
            machines.server.before = fault
        machines.end_claim()
        await machines.until(lambda: is_gone(machines))

    assert what_is_left(machines) == []


async def test_a_node_claim_that_was_never_launched_holds_nothing_up() -> None:
    machines = Machines()
    machines.instance_type()
    machines.claim(never="launch")
    async with machines.role():
        await machines.until(lambda: True)
        machines.server.delete(CLAIM)
        await machines.until(lambda: True)

    assert machines.server.writes == []


async def test_a_node_claim_without_capacity_says_so_and_goes() -> None:
    machines = Machines()
    machines.instance_type(offerings=[{"zone": "a", "price": 1, "available": False}])
    machines.claim()
    async with machines.role():
        await machines.until(lambda: "deletionTimestamp" in machines.get(CLAIM)["metadata"])

    (condition,) = machines.get(CLAIM)["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "Launched",
        "False",
        "InsufficientCapacity",
    )
    assert [one.reason for one in machines.notices.told] == ["InsufficientCapacity"]
    assert is_gone(machines)


async def test_a_node_that_was_taken_away_does_not_come_back() -> None:
    machines = Machines()
    machines.instance_type()
    machines.claim()
    async with machines.role():
        await machines.until(machines.slices)
        machines.condition("n", "Registered")
        machines.server.delete(NODE)
        await machines.until(lambda: not machines.slices())

    assert what_is_left(machines) in ([], [f"{LEASES}/n"])


async def test_pods_go_with_a_node_that_somebody_deletes() -> None:
    machines = Machines()
    machines.instance_type()
    machines.claim()
    machines.pod()
    async with machines.role():
        await machines.until(lambda: machines.get(POD).get("status", {}).get("phase") == "Running")
        machines.condition("n", "Registered")
        machines.server.delete(NODE)
        machines.server.delete(CLAIM)
        await machines.until(lambda: is_gone(machines))

    assert machines.server.names(PODS) == []


async def test_pods_stay_on_another_node_of_the_name() -> None:
    machines = Machines()
    machines.instance_type()
    machines.claim()
    machines.server.put(NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {}})
    machines.pod()
    async with machines.role():
        await machines.until(lambda: machines.notices.told)
        machines.server.delete(CLAIM)
        await machines.until(lambda: is_gone(machines))

    assert machines.server.names(PODS) == ["p"]


async def test_others_node_claims_nodes_and_pods_are_left_alone() -> None:
    machines = Machines()
    machines.instance_type()
    machines.claim("theirs", group="karpenter.kwok.sh")
    for name, provider in (("theirs", "kwok://theirs"), ("plain", "aws:///i-1"), ("orphan", "kwok://orphan")):
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"providerID": provider}}
        machines.server.put(f"{NODES}/{name}", body)
        machines.pod(f"on-{name}", node=name)
    async with machines.role():
        await machines.until(lambda: True)

    assert machines.server.writes == []


async def test_an_error_on_one_node_does_not_stop_the_others() -> None:
    machines = Machines()
    machines.instance_type()
    for name in ("bad", "good"):
        machines.claim(name)
    machines.server.before = lambda _, path: UnclearError("x", 500) if "/bad" in path else None
    async with machines.role():
        await machines.until(machines.slices)

    assert machines.server.names(NODES) == ["good"]


async def test_another_node_of_the_name_is_told_and_left_alone() -> None:
    machines = Machines()
    machines.instance_type()
    machines.claim()
    machines.server.put(NODE, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {}})
    async with machines.role():
        await machines.until(lambda: machines.notices.told)

    assert machines.notices.told[0].reason == "NodeNameTaken"
    assert machines.get(NODE)["spec"] == {}


async def test_a_pod_runs_and_succeeds_after_its_time() -> None:
    machines = Machines()
    machines.instance_type()
    machines.claim()
    machines.pod(runs_for="10ms")
    machines.pod("lasting")
    async with machines.role():
        await machines.until(lambda: machines.get(POD).get("status", {}).get("phase") == "Succeeded")
        await machines.until(lambda: machines.get(f"{PODS}/lasting").get("status", {}).get("phase") == "Running")


@pytest.mark.parametrize("error", [UnclearError("write", 500), ConflictError("write", 409)], ids=lambda one: one.code)
async def test_a_pod_that_is_deleted_goes_even_if_that_fails_once(error: ApiError) -> None:
    machines = Machines()
    machines.instance_type()
    machines.claim()
    machines.pod()
    machines.server.before = writes_to("DELETE .*/pods/", error)
    async with machines.role():
        await machines.until(lambda: machines.get(POD).get("status", {}).get("phase") == "Running")
        machines.server.patch(POD, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
        await machines.until(lambda: not machines.get(POD))


async def test_a_changed_type_reaches_the_slices_that_are_there() -> None:
    machines = Machines()
    machines.instance_type(count=130)
    machines.claim()
    async with machines.role():
        await machines.until(lambda: is_up(machines))
        machines.instance_type(count=3)
        await machines.until(lambda: len(machines.slices()) == 1)

    assert machines.slices() == [("n-gpu.example.com-0", 2, 1, 3)]


async def test_each_driver_of_a_machine_has_a_pool_of_its_own() -> None:
    machines = Machines()
    groups = [{"driver": one, "name": "device-{index}", "count": 2} for one in ("fpga.example.com", "nic.example.com")]
    machines.instance_type(devices={"groups": groups})
    machines.claim(unpublished="nic.example.com")
    async with machines.role():
        await machines.until(machines.slices)
        assert [name for name, _, _, _ in machines.slices()] == ["n-fpga.example.com-0"]
        machines.server.patch(CLAIM, {"metadata": {"annotations": {UNPUBLISHED: ""}}})
        await machines.until(lambda: len(machines.slices()) == 2)


async def test_a_machine_without_devices_publishes_nothing() -> None:
    machines = Machines()
    machines.instance_type(count=0)
    machines.claim()
    async with machines.role():
        await machines.until(lambda: machines.server.names(NODES))

    assert machines.server.names(SLICES) == []


async def test_an_annotation_that_cannot_be_used_is_told() -> None:
    machines = Machines()
    machines.instance_type()
    machines.claim(never="sleep")
    async with machines.role():
        await machines.until(machines.slices)

    assert [one.reason for one in machines.notices.told] == ["BadAnnotation"]


async def test_settings_hold_where_no_annotation_says_otherwise() -> None:
    machines = Machines(DRA_KWOK_REGISTRATION_SECONDS="3600", DRA_KWOK_POD_SECONDS="0.01")
    machines.instance_type()
    machines.claim("slow")
    machines.claim("n", registration_delay="0s")
    machines.pod()
    async with machines.role():
        await machines.until(lambda: machines.get(POD).get("status", {}).get("phase") == "Succeeded")

    assert machines.server.names(NODES) == ["n"]


async def test_a_replica_that_does_not_lead_writes_nothing_until_it_does() -> None:
    machines = Machines()
    machines.instance_type()
    async with machines.role():
        machines.leadership.step_back()
        machines.claim()
        await machines.until(lambda: True)
        assert machines.server.writes == []
        machines.leadership.take()
        await machines.until(machines.slices)


@pytest.mark.parametrize("types", [(), ({"available": False},)], ids=["no type", "no offering"])
async def test_no_node_claim_is_refused_for_a_type_that_has_not_been_seen(types: tuple[dict[str, bool], ...]) -> None:
    machines = Machines()
    for offering in types:
        machines.instance_type(count=130, offerings=[{"zone": "a", "price": 1, **offering}])
    async with machines.role():
        with machines.behind("InstanceType"):
            machines.instance_type(count=130)
            machines.claim()
            await machines.until(lambda: ("GET", TYPES) in machines.server.requests)
        await machines.until(lambda: is_up(machines))

    assert machines.notices.told == []


async def test_a_type_that_comes_while_the_server_is_asked_is_taken() -> None:
    machines = Machines()
    async with machines.role():
        machines.server.before = on_first_question(TYPES, lambda: machines.instance_type(count=130))
        machines.claim()
        await machines.until(lambda: is_up(machines))

    assert machines.notices.told == []


async def test_slices_stay_while_the_server_has_a_node_that_has_not_been_seen() -> None:
    machines = Machines()
    machines.instance_type(count=130)
    machines.claim()
    async with machines.role():
        await machines.until(lambda: is_up(machines))
    before = [machines.get(f"{SLICES}/{name}")["metadata"]["uid"] for name in machines.server.names(SLICES)]
    machines.server.requests.clear()
    with machines.behind("Node"):
        async with machines.role():
            await machines.until(lambda: ("GET", NODE) in machines.server.requests)

    assert [machines.get(f"{SLICES}/{name}")["metadata"]["uid"] for name in machines.server.names(SLICES)] == before


async def test_a_machine_goes_with_the_pods_that_have_not_been_seen_yet() -> None:
    machines = Machines()
    machines.instance_type()
    machines.claim()
    async with machines.role():
        await machines.until(machines.slices)
        with machines.behind("Pod"):
            machines.pod()
            machines.end_claim()
            await machines.until(lambda: ("GET", PODS_OF_NODE) in machines.server.requests)
            assert machines.get(NODE)
        await machines.until(lambda: is_gone(machines))

    assert machines.server.names(PODS) == []
