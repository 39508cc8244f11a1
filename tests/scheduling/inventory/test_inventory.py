"""What the inventory knows of pools, types and NodeClaims, and when it says that pods could be helped."""

from typing import Any

import pytest
from msgspec.structs import replace

from dra_cases.planning import Json
from dra_cases.worlds import claim_template, manifests
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.instancetypes import namesake_fault
from dra_scheduling.inventory import Inventory, MachineTable, Nominee, nominees_of, requested_drivers
from dra_scheduling.inventory.nominations import NOMINATED_PODS
from dra_scheduling.model.claims import ResourceClaimTemplate
from dra_scheduling.model.daemonsets import DaemonSet
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.instancetypes import InstanceType, InstanceTypeStatus
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import Pod
from dra_scheduling.template_devices import Scope
from dra_scheduling.wire import read, read_as


def objects(**world: Json) -> list[Any]:
    return [read(raw) for raw in manifests(world)]


def inventory(**world: Json) -> Inventory:
    found = Inventory()
    for value in objects(**world):
        found.apply(value)
    return found


def table(found: Inventory, pool: str = "default") -> MachineTable:
    template = found.template(pool)
    assert template is not None
    return found.table(template)


def names(found: Inventory, pool: str = "default") -> list[str]:
    return [machine.name for machine in table(found, pool).machines]


POOL: Json = {"default": {}}


def test_types_are_known_by_the_name_of_the_object_and_planned_with_by_their_label() -> None:
    found = inventory(pools=POOL, types={"p5-48xlarge": {"needs": {"type": "p5.48xlarge"}}})

    (machine,) = table(found).machines
    expanded = found.expanded("p5-48xlarge")
    assert (machine.name, machine.instance_type) == ("p5.48xlarge", "p5-48xlarge")
    assert expanded is not None
    assert expanded.name == "p5.48xlarge"
    assert found.expanded("p5.48xlarge") is None


def test_of_two_types_with_one_label_the_first_by_name_is_used() -> None:
    found = inventory(
        pools=POOL, types={"y": {"cpu": 2, "needs": {"type": "t"}}, "x": {"cpu": 4, "needs": {"type": "t"}}}
    )

    assert [machine.instance_type for machine in table(found).machines] == ["x"]


def test_the_second_takes_over_when_the_first_goes() -> None:
    found = inventory(pools=POOL, types={"y": {"needs": {"type": "t"}}, "x": {"needs": {"type": "t"}}})
    table(found)
    found.remove(InstanceType, ObjectKey("", "x"))

    assert [machine.instance_type for machine in table(found).machines] == ["y"]


@pytest.mark.parametrize(
    ("first", "second", "is_faulty"),
    [
        ({}, {}, True),
        ({"class": "one"}, {}, True),
        ({"class": "one"}, {"class": "one"}, True),
        ({"class": "one"}, {"class": "two"}, False),
        ({"has": {"cpu": -1}}, {}, False),
    ],
)
def test_a_type_is_faulty_whose_label_a_sound_one_of_its_class_has(
    first: Json, second: Json, *, is_faulty: bool
) -> None:
    one, other = objects(types={"a": {**first, "needs": {"type": "t"}}, "b": {**second, "needs": {"type": "t"}}})
    fault = namesake_fault(other, [one])

    assert (fault is not None) == is_faulty
    assert namesake_fault(one, [other]) is None


def test_the_fault_names_the_type_that_is_used() -> None:
    one, other = objects(types={"a": {"needs": {"type": "t"}}, "b": {"needs": {"type": "t"}}})

    text = "spec.requirements: node.kubernetes.io/instance-type=t are the nodes of InstanceType a already"
    assert str(namesake_fault(other, [one])) == text


def test_answers_are_kept_until_something_changes_that_they_depend_on() -> None:
    types: Json = {"t": {}}
    found = inventory(pools=POOL, types=types)
    first = table(found)
    for value in objects(pools=POOL, types=types):
        found.apply(value)
    (value,) = objects(types=types)
    found.apply(replace(value, status=InstanceTypeStatus(device_failures=1)))

    assert table(found) is first


@pytest.mark.parametrize(
    "change",
    [{"types": {"t": {"cpu": 9}}}, {"daemons": {"d": {}}}, {"pools": {"default": {"weight": 1}}}, {"types": {"u": {}}}],
)
def test_a_change_of_supply_helps_pods(change: Json) -> None:
    found = inventory(pools=POOL, types={"t": {}})
    first = table(found)
    (value,) = objects(**change)

    assert found.apply(value) == ClusterEvent.SUPPLY
    assert found.apply(value) == ClusterEvent.NOTHING
    assert table(found) is not first


@pytest.mark.parametrize(("kind", "name"), [(NodePool, "default"), (InstanceType, "t"), (DaemonSet, "d")])
def test_what_goes_may_help_pods_and_what_is_not_there_does_not(kind: type, name: str) -> None:
    found = inventory(pools=POOL, types={"t": {}}, daemons={"d": {}})
    key = ObjectKey("kube-system" if kind is DaemonSet else "", name)

    assert [found.remove(kind, key), found.remove(kind, key)] == [ClusterEvent.SUPPLY, ClusterEvent.NOTHING]


@pytest.mark.parametrize(("name", "wake"), [("d-gpu", ClusterEvent.SUPPLY), ("e-gpu", ClusterEvent.NOTHING)])
def test_a_claim_template_may_help_pods_if_a_daemon_takes_devices_by_it(name: str, wake: ClusterEvent) -> None:
    found = inventory(pools=POOL, types={"t": {}}, daemons={"d": {"wants": ["r"]}})
    found.remove(ResourceClaimTemplate, ObjectKey("kube-system", "d-gpu"))
    template = read(claim_template(name, ["r"]))
    assert isinstance(template, ResourceClaimTemplate)

    assert [found.apply(template), found.apply(template)] == [wake, ClusterEvent.NOTHING]
    assert found.remove(ResourceClaimTemplate, ObjectKey("kube-system", name)) == wake


def test_a_living_pod_of_a_daemon_is_news_where_it_changes_what_the_next_one_takes() -> None:
    found = inventory(pools=POOL, types={"t": {"cpu": 8}}, daemons={"d": {"cpu": 1}})
    small, large, newer = (
        read_as(Pod, {**raw, "metadata": {**raw["metadata"], "creationTimestamp": f"2030-01-0{day}T00:00:00Z"}})
        for day, (name, cpu) in enumerate((("d-1", 1), ("d-2", 3), ("d-3", 2)), start=1)
        for raw in manifests({"pods": {name: {"daemon": "d", "cpu": cpu, "runs": "n"}}})
    )

    def free() -> int:
        return table(found).machines[0].allocatable["cpu"]

    assert [found.apply_pod(small), free()] == [ClusterEvent.NOTHING, 7000]
    assert [found.apply_pod(large), free()] == [ClusterEvent.SUPPLY, 5000]
    assert [found.apply_pod(newer), free()] == [ClusterEvent.SUPPLY, 6000]
    assert [found.remove_pod(small.key), free()] == [ClusterEvent.NOTHING, 6000]
    assert [found.remove_pod(newer.key), free()] == [ClusterEvent.SUPPLY, 5000]
    assert [found.remove_pod(large.key), free()] == [ClusterEvent.SUPPLY, 7000]
    assert found.remove_pod(large.key) == ClusterEvent.NOTHING


def test_types_with_the_same_devices_differ_by_the_daemons_that_take_some() -> None:
    gpu: Json = {"devices": {"a": 1}}
    seen = {**gpu, "needs": {"example.com/gpu": "yes"}}
    daemon = {"wants": ["r"], "needs": {"example.com/gpu": {"operator": "Exists"}}}
    found = inventory(pools=POOL, types={"x": seen, "y": seen, "z": gpu}, daemons={"d": daemon, "plain": {"cpu": 1}})

    assert [sorted(table(found).names(kin.members)) for kin in table(found).kin] == [["x", "y"], ["z"]]


def test_a_type_that_becomes_faulty_is_no_longer_planned_with() -> None:
    found = inventory(pools=POOL, types={"t": {}, "u": {}})
    for value in objects(types={"t": {"overhead": {"cpu": 99}}}):
        found.apply(value)

    assert names(found) == ["u"]


def test_types_of_another_node_class_are_not_the_pools() -> None:
    found = inventory(
        pools={"default": {"class": "mine"}}, types={"t": {"class": "mine"}, "u": {"class": "other"}, "v": {}}
    )

    assert names(found) == ["t", "v"]


def test_bindings_hold_for_the_pools_that_may_use_the_type() -> None:
    bound = [{"attribute": "x/root", "devices": [{"driver": "a", "name": "a-{index}"}]}]
    types = {
        "x": {"class": "one", "needs": {"type": "t"}, "devices": {"a": 2}, "bindings": bound},
        "y": {"class": "two", "needs": {"type": "t"}, "devices": {"a": 2}},
    }
    found = inventory(pools={"one": {"class": "one"}, "two": {"class": "two"}}, types=types)

    held = {pool: len(found.bindings().components(Scope("x/root", pool, "t"))) for pool in ("one", "two")}
    assert held == {"one": 1, "two": 0}


def decided(*pods: str) -> NodeClaim:
    (value,) = objects(nodeclaims={"nc": {"types": ["t"], "pods": list(pods)}})
    assert isinstance(value, NodeClaim)
    return replace(value, metadata=replace(value.metadata, uid=""))


def nominees(found: Inventory) -> list[str]:
    return [one.uid for claim in found.claims.values() for one in nominees_of(claim)]


def test_what_was_decided_counts_until_it_is_seen() -> None:
    found = Inventory()
    found.assume(decided("p"))
    found.apply(decided("p"))
    found.forget("nc")

    assert nominees(found) == ["p"]


def test_what_could_not_be_written_counts_no_longer() -> None:
    found = Inventory()
    found.assume(decided("p"))
    found.forget("nc")

    assert found.claims == {}


def test_an_older_state_of_a_node_claim_takes_no_nomination_back() -> None:
    found = Inventory()
    found.apply(decided("p"))
    found.assume(decided("p", "q"))
    found.apply(decided("p"))

    assert nominees(found) == ["p", "q"]


def test_a_nomination_that_could_not_be_added_is_forgotten() -> None:
    found = Inventory()
    found.apply(decided("p"))
    found.assume(decided("p", "q"))
    found.forget("nc")

    assert nominees(found) == ["p"]


@pytest.mark.parametrize("text", ["", "p", "[1]", '["a/b"]', '{"a": 1}', "["])
def test_a_note_that_cannot_be_read_names_nobody(text: str) -> None:
    claim = decided()
    claim = replace(claim, metadata=replace(claim.metadata, annotations={NOMINATED_PODS: text}))

    assert nominees_of(claim) == ()


def test_nominees_and_drivers_are_read_as_they_were_written() -> None:
    (claim,) = objects(nodeclaims={"nc": {"pods": ["p"], "drivers": ["a", "b"]}})

    assert nominees_of(claim) == (Nominee(ObjectKey("default", "p"), "p"),)
    assert requested_drivers(claim) == ("a", "b")


def test_pools_whose_nodes_others_make_are_planned_with_only_where_that_is_wanted() -> None:
    theirs = manifests({"pools": {"theirs": {}}})[0]
    theirs["spec"]["template"]["spec"]["nodeClassRef"]["group"] = "karpenter.k8s.aws"
    everybody, ours = Inventory(), Inventory(groups=frozenset(("dra-scheduler.dev",)))
    for found in (everybody, ours):
        found.apply(read_as(NodePool, theirs))

    assert [one.name for one in everybody.templates()] == ["theirs"]
    assert ours.templates() == ()
