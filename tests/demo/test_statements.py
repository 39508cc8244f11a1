from collections.abc import Callable
from functools import partial

import msgspec
import pytest

from dra_controlplane.client import Json
from dra_demo import statements
from dra_demo.check import Finding
from dra_demo.supply import Supply

GPU, NIC = "gpu.nvidia.com", "dra.net"
NAME = "pool-1"


def conditions(**statuses: str) -> Json:
    return {"conditions": [{"type": kind, "status": status} for kind, status in statuses.items()]}


def made(name: str, status: Json, **spec: object) -> Json:
    return {"metadata": {"name": name}, "spec": spec, "status": status}


def piece(driver: str, *devices: str, node: str = NAME) -> Json:
    return made(f"{node}-{driver}", {}, driver=driver, nodeName=node, devices=[{"name": one} for one in devices])


def world() -> Supply:
    """A pod that runs on the node that was made for it."""
    labels = {"node.kubernetes.io/instance-type": "big", "karpenter.sh/initialized": "true"}
    node = made(NAME, conditions(Ready="True"))
    node["metadata"]["labels"] = labels
    wanted = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["big"]}
    every = dict.fromkeys(("Launched", "Registered", "Initialized", "Ready"), "True")
    claim = made(NAME, {"nodeName": NAME, **conditions(**every)}, requirements=[wanted])
    claim["metadata"]["annotations"] = {
        "karpenter.sh/requested-dra-drivers": f"{NIC},{GPU}",
        "dra-scheduler.dev/nominated-pods": '["demo/trainer/1"]',
    }
    devices = [{"driver": GPU, "pool": NAME, "device": "gpu-0"}, {"driver": NIC, "pool": NAME, "device": "nic-0"}]
    return Supply(
        pools=(made("pool", conditions(Ready="True")),),
        types=(made("big", conditions(Valid="True")),),
        node_claims=(claim,),
        nodes={NAME: node},
        slices=(piece(GPU, "gpu-0", "gpu-1"), piece(NIC, "nic-0")),
        pod=made("trainer", {"phase": "Running"}, nodeName=NAME),
        claims=(made("both", {"allocation": {"devices": {"results": devices}}}),),
    )


def waiting() -> Supply:
    """The same while one driver has not published."""
    state = world()
    state.pod["spec"]["nodeName"] = ""
    message = f"waits for NodeClaim {NAME} (NodePool pool, big)"
    state.pod["status"] = {"conditions": [{"type": "PodScheduled", "status": "False", "message": message}]}
    del state.nodes[NAME]["metadata"]["labels"]["karpenter.sh/initialized"]
    state.claims[0]["status"] = {}
    state.slices[1]["spec"] |= {"devices": [], "nodeName": "other"}
    shut = {"status": "Unknown", "reason": "DRADriverPoolsNotPublished", "message": f'driver "{NIC}" has not'}
    state.node_claim["status"]["conditions"][2] |= shut
    return state


usable, planned = statements.usable, partial(statements.planned, kind="big", drivers=f"{NIC},{GPU}")
running, opened, single = partial(statements.running, count=2), statements.opened, statements.single
published, shut = statements.published, partial(statements.shut, missing=NIC)


@pytest.mark.parametrize(
    "claim", [usable, planned, statements.registered, partial(published, driver=GPU, count=2), opened, running, single]
)
def test_what_is_said_of_a_pod_that_runs_is_true(claim: Callable[[Supply], Finding]) -> None:
    assert claim(world()).problems == ()


@pytest.mark.parametrize("claim", [planned, statements.waiting, shut, partial(published, driver=NIC, count=0)])
def test_what_is_said_of_a_pod_that_waits_is_true(claim: Callable[[Supply], Finding]) -> None:
    assert claim(waiting()).problems == ()


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        (statements.waiting, "it is bound, or has devices"),
        (shut, "the node is labelled as initialized"),
        (shut, f"expected it to wait for {NIC}"),
        (partial(published, driver=GPU, count=3), "expected 3"),
        (partial(statements.lacking, driver=NIC), f"ResourceSlice {NAME}-{NIC} is of {NIC}"),
        (partial(planned, kind="small"), "it may be big, expected small alone"),
        (partial(planned, drivers=NIC), f"expected it to wait for {NIC}"),
        (partial(running, count=1), "expected 1 devices, has 2"),
        (partial(statements.gone, name=NAME), f"node {NAME} is there"),
    ],
)
def test_an_untruth_about_a_pod_that_runs_is_found(claim: Callable[[Supply], Finding], problem: str) -> None:
    assert problem in claim(world()).problems


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        (opened, "the node is not labelled as initialized"),
        (opened, "Initialized is not True"),
        (running, f"it is on no node, expected {NAME}"),
        (running, "it is not Running"),
        (partial(published, driver=NIC, count=1), "expected 1"),
    ],
)
def test_an_untruth_about_a_pod_that_waits_is_found(claim: Callable[[Supply], Finding], problem: str) -> None:
    assert problem in claim(waiting()).problems


def test_a_device_that_is_not_published_is_found() -> None:
    state = world()
    state.slices[0]["spec"]["devices"].pop(0)

    assert running(state).problems == (f"{GPU}/{NAME}/gpu-0 is not published there",)


def test_a_type_or_a_pool_that_is_not_usable_is_found() -> None:
    state = world()
    state.types[0]["status"] = conditions(Valid="False")
    state.pools[0]["status"] = {}

    assert usable(state).problems == ("InstanceType big is not Valid", "NodePool pool is not Ready")


def test_a_second_nodeclaim_is_found() -> None:
    state = world()
    two = msgspec.structs.replace(state, node_claims=state.node_claims * 2)

    assert [claim(two).problems[0] for claim in (single, planned)] == ["there are 2", "there are 2 NodeClaims"]
