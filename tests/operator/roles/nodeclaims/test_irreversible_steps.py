"""What cannot be taken back waits until everything has been seen that may speak against it."""

import pytest

from dra_builders.values import node
from dra_kube.api import Json
from dra_operating.requests import RequestsInMemory
from dra_operator.kinds import INSTANCE_TYPES, NODES
from dra_operator.roles.nodeclaims.stepping import is_cache_current, is_irreversible
from dra_operator.watch.cache import Cache
from dra_operator.watch.freshness import Freshness
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.instancetypes import Failure
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimSpec, NodeClaimStatus, NodeClassRef
from dra_scheduling.nodeclaims import ChangeStatus, ChangeType, Delete, Release, Step, Wait

PROVIDER = "test://n"
PODS_OF_NODE = "/api/v1/pods?fieldSelector=spec.nodeName%3Dn"
SLICES_OF_NODE = "/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.nodeName%3Dn"
SPEC: Json = {"driver": "d", "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n"}


def claim(*conditions: Condition, provider: str = PROVIDER, node_name: str = "n", deleted: str = "") -> NodeClaim:
    reference = NodeClassRef("dra-scheduler.dev", "InstanceType", "default")
    return NodeClaim(
        metadata=ObjectMeta(name="c", uid="u", deletion_timestamp=deleted),
        spec=NodeClaimSpec(node_class_ref=reference, requirements=()),
        status=NodeClaimStatus(provider_id=provider, node_name=node_name, conditions=conditions),
    )


def says(kind: str, status: str) -> ChangeStatus:
    return ChangeStatus(status=NodeClaimStatus(conditions=(Condition(type=kind, status=status),)))


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (Delete(), True),
        (Release(), True),
        (ChangeType(name="t", failure=Failure.DEVICES, failures=1, retry_after="2026-01-01T00:00:00Z"), True),
        (ChangeType(name="t", failure=Failure.DEVICES, failures=0, retry_after=""), False),
        (says("Initialized", "False"), True),
        (says("Registered", "False"), True),
        (says("DevicesAsPromised", "False"), True),
        (says("Drained", "True"), True),
        (says("Drained", "Unknown"), False),
        (says("Initialized", "True"), False),
        (Wait(), False),
    ],
)
def test_lasting_is_what_gives_a_node_up_or_takes_it_away(step: Step, *, expected: bool) -> None:
    assert is_irreversible(claim(), step) is expected


def test_what_a_claim_says_already_is_no_step() -> None:
    assert not is_irreversible(claim(Condition(type="Initialized", status="False")), says("Initialized", "False"))


def listed(name: str, **rest: object) -> list[Json]:
    return [{"metadata": {"name": name, "namespace": "", "uid": "u", "resourceVersion": "1"}, **rest}]


TYPE = listed("t", spec={"offerings": [], "capacity": {}})
POD = listed("p", spec={"nodeName": "n", "containers": []})
NODE = listed("n", spec={"providerID": PROVIDER})


@pytest.mark.parametrize(
    ("path", "unseen", "value", "is_seen"),
    [
        (INSTANCE_TYPES.path, TYPE, claim(), False),
        (SLICES_OF_NODE, listed("s", spec=SPEC), claim(), False),
        (PODS_OF_NODE, POD, claim(), True),
        (PODS_OF_NODE, POD, claim(deleted="2026-01-01T00:00:00Z"), False),
        (INSTANCE_TYPES.path, TYPE, claim(deleted="2026-01-01T00:00:00Z"), True),
        (NODES.path, NODE, claim(node_name=""), False),
        (NODES.path, NODE, claim(node_name="", deleted="2026-01-01T00:00:00Z"), False),
        (NODES.path, NODE, claim(node_name="", provider="test://other"), True),
        (NODES.path, NODE, claim(node_name="", provider=""), True),
    ],
)
async def test_all_is_to_be_seen_that_belongs_to_the_claim(
    path: str, unseen: list[Json], value: NodeClaim, *, is_seen: bool
) -> None:
    freshness = Freshness(RequestsInMemory(lists={path: unseen}), Cache())
    nodes = (node("n"),) if value.status.node_name else ()

    assert await is_cache_current(freshness, value, nodes) is is_seen


async def test_a_node_that_the_server_has_is_not_gone_before_that_is_seen() -> None:
    server = RequestsInMemory()
    server.put(f"{NODES.path}/n", {"metadata": {"name": "n"}, "spec": {"providerID": PROVIDER}})

    assert not await is_cache_current(Freshness(server, Cache()), claim(), ())
