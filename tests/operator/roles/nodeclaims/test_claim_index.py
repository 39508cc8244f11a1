"""Which NodeClaims an event concerns, and what is found for one of them, without a look at everything."""

import pytest
from msgspec.structs import replace

from dra_builders.values import devices, pod, resource_slice
from dra_operator.roles.nodeclaims.claim_index import ClaimIndex
from dra_operator.watch.cache import Cache
from dra_scheduling.basics.features import DEFAULT_FEATURES
from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimSpec, NodeClaimStatus, NodeClassRef
from dra_scheduling.model.nodepools import NodePool, NodePoolSpec, NodePoolStatus, NodeTemplate, NodeTemplateSpec
from dra_scheduling.model.pods import Node, NodeSpec
from dra_scheduling.wire import KubernetesObject, key_of, read_as

TYPE_LABEL = "node.kubernetes.io/instance-type"


class Board:
    """A cache and the index over it, as events reach both."""

    def __init__(self) -> None:
        self.cache = Cache()
        self.index = ClaimIndex(self.cache, DEFAULT_FEATURES)

    def see(self, value: KubernetesObject) -> list[str]:
        self.cache.put(value)
        return sorted(set(self.index.changed(value)))

    def lose(self, value: KubernetesObject) -> list[str]:
        self.cache.drop(type(value), key_of(value), value.metadata.uid)
        return sorted(set(self.index.removed(value)))


def claim(name: str, *, kind: str = "t", deleted: str = "") -> NodeClaim:
    return NodeClaim(
        metadata=ObjectMeta(name=name, uid=name, labels={TYPE_LABEL: kind}, deletion_timestamp=deleted),
        spec=NodeClaimSpec(node_class_ref=NodeClassRef("dra-scheduler.dev", "InstanceType", "gpus"), requirements=()),
        status=NodeClaimStatus(provider_id=f"id-{name}"),
    )


def machine(name: str, of: str) -> Node:
    return Node(metadata=ObjectMeta(name=name, uid=name), spec=NodeSpec(provider_id=f"id-{of}"))


def instance_type(name: str, *, node_class: str = "", called: str = "") -> InstanceType:
    labels = {"dra-scheduler.dev/node-class": node_class} if node_class else {}
    requirements = [{"key": TYPE_LABEL, "operator": "In", "values": [called]}] if called else []
    spec = {"offerings": [{"zone": "a", "price": 1}], "capacity": {"cpu": 1}, "requirements": requirements}
    return read_as(InstanceType, {"metadata": {"name": name, "uid": name, "labels": labels}, "spec": spec})


@pytest.fixture
def board() -> Board:
    """Two NodeClaims with a node each."""
    board = Board()
    for name in ("c1", "c2"):
        board.see(claim(name))
        board.see(machine(f"n-{name}", name))
    return board


def test_a_slice_concerns_the_claim_of_its_node(board: Board) -> None:
    piece = resource_slice("s", devices(1), node="n-c1")

    assert board.see(piece) == ["c1"]
    assert board.see(resource_slice("s", devices(1), node="n-c2")) == ["c1", "c2"]
    assert board.see(resource_slice("other", devices(1))) == []
    assert board.lose(piece) == ["c2"]


def test_a_node_concerns_the_claim_of_its_machine(board: Board) -> None:
    assert board.see(machine("n-c1", "c2")) == ["c1", "c2"]
    assert [node.name for node in board.index.nodes_of(claim("c2"))] == ["n-c1", "n-c2"]
    assert board.lose(machine("n-c1", "c2")) == ["c2"]
    assert board.index.nodes_of(claim("c1")) == ()


def test_a_node_that_comes_before_its_claim_is_found(board: Board) -> None:
    assert board.see(machine("n-c3", "c3")) == []
    assert board.see(claim("c3")) == ["c3"]
    assert [node.name for node in board.index.nodes_of(claim("c3"))] == ["n-c3"]


def test_a_node_belongs_to_the_first_of_several_claims_of_its_machine(board: Board) -> None:
    twin = replace(claim("c3"), status=NodeClaimStatus(provider_id="id-c1"))
    board.see(twin)
    assert [node.name for node in board.index.nodes_of(twin)] == ["n-c1"]
    bare = machine("n-c1", "c1")
    owners = tuple(OwnerReference(kind="NodeClaim", name=one, uid=one) for one in ("gone", "c1", "c3"))
    board.see(replace(bare, metadata=replace(bare.metadata, owner_references=owners)))

    assert board.index.nodes_of(twin) == ()
    assert [node.name for node in board.index.nodes_of(claim("c1"))] == ["n-c1"]


def test_a_node_goes_to_the_other_claim_of_its_machine_once_its_own_is_gone(board: Board) -> None:
    twin = replace(claim("c3"), status=NodeClaimStatus(provider_id="id-c1"))
    board.see(twin)
    bare = machine("n-c1", "c1")
    owner = OwnerReference(kind="NodeClaim", name="c1", uid="c1")
    board.see(replace(bare, metadata=replace(bare.metadata, owner_references=(owner,))))
    board.lose(claim("c1"))

    assert [node.name for node in board.index.nodes_of(twin)] == ["n-c1"]


def test_pods_concern_only_claims_that_are_being_deleted(board: Board) -> None:
    on_first = pod("p", node_name="n-c1")
    assert board.see(on_first) == []
    board.see(claim("c1", deleted="2026-01-01T00:00:00Z"))

    assert board.see(on_first) == ["c1"]
    assert board.index.pods_on([machine("n-c1", "c1")]) == (on_first,)
    assert board.lose(on_first) == ["c1"]
    assert board.index.pods_on([machine("n-c1", "c1")]) == ()


def test_a_type_concerns_the_claims_that_became_it(board: Board) -> None:
    board.see(claim("c2", kind="Big.Machine"))

    assert board.see(instance_type("t")) == ["c1"]
    assert board.see(instance_type("big", called="Big.Machine")) == ["c2"]
    found, expanded = board.index.type_of(claim("c2", kind="Big.Machine"))
    assert found is not None
    assert expanded is not None
    assert (found.name, expanded.name) == ("big", "Big.Machine")


def test_a_type_of_another_node_class_is_not_meant(board: Board) -> None:
    board.see(instance_type("a", node_class="cpus", called="t"))
    assert board.index.type_of(claim("c1")) == (None, None)
    board.see(instance_type("b", node_class="gpus", called="t"))
    found, _ = board.index.type_of(claim("c1"))

    assert found is not None
    assert found.name == "b"


def test_a_type_that_is_not_sound_is_known_as_it_is_written(board: Board) -> None:
    sound = instance_type("t")
    board.see(replace(sound, spec=replace(sound.spec, overhead={"memory": sound.spec.capacity["cpu"]})))
    found, expanded = board.index.type_of(claim("c1"))

    assert found is not None
    assert expanded is None


def pool(expiry: str = "720h", nodes: int = 0) -> NodePool:
    reference = NodeClassRef("dra-scheduler.dev", "InstanceType", "gpus")
    template = NodeTemplate(spec=NodeTemplateSpec(node_class_ref=reference, requirements=(), expire_after=expiry))
    spec = NodePoolSpec(template=template)
    return NodePool(metadata=ObjectMeta(name="pool", uid="pool"), spec=spec, status=NodePoolStatus(nodes=nodes))


def test_a_pool_concerns_its_claims_when_it_demands_something_else(board: Board) -> None:
    mine = claim("c3")
    labelled = replace(mine.metadata, labels={**mine.metadata.labels, "karpenter.sh/nodepool": "pool"})
    board.see(replace(mine, metadata=labelled))

    assert board.see(pool()) == ["c3"]
    assert board.see(pool(nodes=1)) == []
    assert board.see(pool(expiry="1h")) == ["c3"]
    assert board.index.pool_of(replace(mine, metadata=labelled)) == pool(expiry="1h")
    assert board.lose(pool()) == []
    assert board.index.pool_of(replace(mine, metadata=labelled)) is None


def test_the_claims_on_a_node_are_found(board: Board) -> None:
    assert [one.name for one in board.index.claims_on("n-c1")] == ["c1"]
    assert board.index.claims_on("elsewhere") == ()


def test_a_type_is_known_by_what_its_nodes_are_called(board: Board) -> None:
    big = instance_type("big", called="Big.Machine")
    board.see(big)
    assert (board.index.is_type("Big.Machine"), board.index.is_type("big")) == (True, False)

    board.lose(big)
    assert not board.index.is_type("Big.Machine")
