"""What is written on a NodeClaim, and what decides its name."""

import pytest

from dra_cases.planning import Json
from dra_cases.turns import Play
from dra_scheduling.inventory import nominees_of
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning.nodeclaim_builder import MOST_TYPES, claim_name, pool_hash
from dra_scheduling.wire import read, read_as, write

POOL: Json = {
    "labels": {"team": "red"},
    "notes": {"example.com/why": "because"},
    "needs": {"example.com/gen": {"operator": "Gt", "values": ["3"]}, "zone": ["!z9"], "disk": {"operator": "Exists"}},
    "taints": ["gpu:NoSchedule"],
    "startup": ["init:NoSchedule"],
}


def made(world: Json) -> tuple[NodeClaim, ...]:
    play = Play()
    play.add({"pools": {"default": {}}, **world})
    return play.turn().planned.created


def one_of(pool: Json) -> NodeClaim:
    types = {"t": {"needs": {"example.com/gen": "4", "disk": "ssd"}}}
    (claim,) = made({"pools": {"default": pool}, "types": types, "pods": {"p": {"tolerates": ["gpu:NoSchedule"]}}})
    return claim


def test_it_belongs_to_its_pool_and_says_so() -> None:
    meta = one_of(POOL).metadata

    assert meta.labels == {"team": "red", "karpenter.sh/nodepool": "default"}
    assert meta.finalizers == ("karpenter.sh/termination",)
    (owner,) = meta.owner_references
    assert (owner.kind, owner.name, owner.uid) == ("NodePool", "default", "default")


def test_it_carries_the_annotations_of_the_pool_and_its_hash() -> None:
    notes = one_of(POOL).metadata.annotations

    assert notes["example.com/why"] == "because"
    assert notes["karpenter.sh/nodepool-hash-version"] == "v3"
    assert "karpenter.sh/requested-dra-drivers" not in notes


def test_it_requires_what_the_pool_requires_in_the_words_of_karpenter() -> None:
    said = {(one.key, one.operator): one.values for one in one_of(POOL).spec.requirements}

    assert said == {
        ("disk", "Exists"): (),
        ("example.com/gen", "Gt"): ("3",),
        ("karpenter.sh/nodepool", "In"): ("default",),
        ("team", "In"): ("red",),
        ("topology.kubernetes.io/zone", "NotIn"): ("z9",),
        ("node.kubernetes.io/instance-type", "In"): ("t",),
    }


def test_it_can_be_written_and_read_again() -> None:
    claim = one_of(POOL)

    assert read(write(claim)) == claim


def test_its_name_is_the_same_when_the_plan_is_made_again() -> None:
    assert one_of(POOL).name == one_of(POOL).name


def test_the_name_of_another_that_failed_is_not_taken() -> None:
    world: Json = {"pools": {"default": {}}, "types": {"t": {}}, "pods": {"p": {}}}
    (first,) = made(world)
    failed = {"types": ["t"], "pods": ["p"], "conditions": {"Launched": False}}
    (second,) = made({**world, "nodeclaims": {first.name: failed}})

    assert second.name != first.name
    assert [one.uid for one in nominees_of(second)] == ["p"]


@pytest.mark.parametrize("pool", ["short", "p" * 60, "p" * 51 + "-q", "a.b-" * 13])
def test_names_are_names_of_objects(pool: str) -> None:
    name = claim_name(pool, read_as(Pod, {"metadata": {"name": "p", "uid": "u"}}), 0)

    assert len(name) <= 63
    assert name[:1].isalnum()
    assert "--" not in name
    assert ".-" not in name


def test_the_cheapest_types_are_listed_and_no_more_than_sixty() -> None:
    types = {f"t{number:03}": {"price": 1000 - number} for number in range(100)}
    (claim,) = made({"types": types, "pods": {"p": {}}})

    listed = claim.spec.requirements[-1].values
    assert listed == tuple(f"t{number:03}" for number in range(99, 99 - MOST_TYPES, -1))


def test_min_values_may_want_more_types_than_that() -> None:
    types: Json = {f"t{number:03}": {} for number in range(100)}
    pool = {"needs": {"type": {"operator": "Exists", "minValues": 80}}}
    (claim,) = made({"pools": {"default": pool}, "types": types, "pods": {"p": {}}})

    assert len(claim.spec.requirements[-1].values) == 80


def pool_of(said: Json) -> NodePool:
    play = Play()
    play.add({"pools": {"default": said}})
    return play.cluster.inventory.pools["default"]


@pytest.mark.parametrize("changed", ["labels", "notes", "taints", "startup"])
def test_the_hash_tells_of_what_nodes_would_have_to_be_made_anew_for(changed: str) -> None:
    assert pool_hash(pool_of({**POOL, changed: type(POOL[changed])()})) != pool_hash(pool_of(POOL))


def test_the_hash_does_not_tell_of_what_nodes_need_not_be_made_anew_for() -> None:
    assert pool_hash(pool_of({**POOL, "needs": {}, "weight": 7, "limits": {"cpu": 1}})) == pool_hash(pool_of(POOL))


def test_who_joins_is_nominated_and_what_is_required_stays() -> None:
    play = Play()
    play.add({"pools": {"default": {}}, "types": {"t": {"devices": {"a": 2}}}, "pods": {"p": {"wants": ["r"]}}})
    (claim,) = play.turn().planned.created
    play.add({"pods": {"q": {"wants": ["r"]}}})
    (extended,) = play.turn().planned.extended

    assert [one.uid for one in nominees_of(extended)] == ["p", "q"]
    assert (extended.name, extended.spec) == (claim.name, claim.spec)
