from collections.abc import Callable

import msgspec
import pytest

from dra_builders.values import claim, container, driver_class, node, pod, request
from dra_operating.core import LateAtFirst
from dra_operating.planning import World, names, pods_of, said
from dra_operating.supply import cpu_pod, instance_type, node_pool
from dra_scheduling.cycle.decisions import Decisions, NodeClaimOrder
from dra_scheduling.cycle.events import LeadershipChanged, WriteResult
from dra_scheduling.cycle.nodeclaim_tracker import ARRIVAL_SECONDS
from dra_scheduling.cycle.provision import PLAN_LIMIT_SECONDS, REMEMBERED_SECONDS
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.assignments import Nominated, Unschedulable


@pytest.fixture
def world() -> World:
    world = World()
    world.add(node_pool(), instance_type())
    return world


def test_pods_that_come_together_are_planned_for_together(world: World) -> None:
    world.add(cpu_pod("a"))
    assert world.decide() == Decisions()
    world.now += 0.9
    world.add(cpu_pod("b"))
    assert world.decide() == Decisions()
    world.now += 0.9
    assert world.decide() == Decisions()
    world.now += 0.1

    (order,) = world.decide().node_claims

    assert (pods_of(order), order.is_new) == (["a", "b"], True)
    assert [one.pod.metadata.name for one in order.nominated] == ["a", "b"]


def test_a_batch_that_never_rests_is_planned_for_all_the_same(world: World) -> None:
    orders: list[NodeClaimOrder] = []
    for second in range(12):
        world.add(cpu_pod(f"p{second}"))
        world.decide()
        world.now += 0.9
        orders += world.decide().node_claims

    assert sum(len(order.nominated) for order in orders) == 12


def test_a_waiting_pod_is_told_which_node_claim_it_waits_for(world: World) -> None:
    world.add(instance_type("small", 4), cpu_pod("a"))

    (order,) = world.rest().node_claims

    (told,) = order.nominated
    assert told.message == f"waits for NodeClaim {order.claim.name} (NodePool general, one of 2 instance types)"


def test_nominated_pods_know_their_place_in_the_plan(world: World) -> None:
    world.add(cpu_pod("a", "1"), cpu_pod("b", "4"))

    (order,) = world.rest().node_claims

    assert [(one.pod.metadata.name, one.place) for one in order.nominated] == [("b", 0), ("a", 1)]


def test_a_pod_that_no_type_serves_is_told_so_and_makes_no_node(world: World) -> None:
    world.add(node("n1", allocatable={"cpu": "1"}), cpu_pod("huge", "100"))

    plans = world.rest()

    assert plans.node_claims == ()
    nodes, _, supply = said(plans).partition("; ")
    assert nodes.startswith("0/1 nodes fit: on 1: insufficient cpu, needs 100")
    assert supply == "no new node: NodePool general: insufficient cpu, needs 100 (8 free at most)"


def test_a_pod_that_nothing_can_help_is_not_planned_for(world: World) -> None:
    world.add(driver_class(extended_resource_name="example.com/gpu"))
    world.add(pod("greedy", container(limits={"example.com/gpu": "33"})))

    plans = world.decide()

    assert (names(plans, Unschedulable), world.pause() > ARRIVAL_SECONDS) == (["greedy"], True)


def test_devices_over_the_limit_of_a_claim_may_come_from_a_device_plugin(world: World) -> None:
    world.add(driver_class(extended_resource_name="example.com/gpu"))
    world.add(instance_type("plugged", plugged=64))
    world.add(pod("greedy", container(limits={"example.com/gpu": "33"})))

    (order,) = world.rest().node_claims

    assert pods_of(order) == ["greedy"]


def test_where_there_is_no_pool_nobody_waits_for_a_plan_until_there_is_one() -> None:
    world = World()
    world.add(instance_type(), cpu_pod("a"))
    assert names(world.decide(), Unschedulable) == ["a"]
    world.add(node_pool())

    assert [pods_of(order) for order in world.rest().node_claims] == [["a"]]


def test_a_pod_that_finds_room_meanwhile_needs_no_node(world: World) -> None:
    world.add(cpu_pod("a"))
    world.decide()
    world.add(node("n1"))

    plans = world.rest()

    assert (names(plans), plans.node_claims) == (["a"], ())


def test_nothing_is_planned_while_an_order_is_being_written(world: World) -> None:
    world.add(cpu_pod("a"))
    (order,) = world.rest().node_claims
    world.add(cpu_pod("b"))
    assert world.rest() == Decisions()

    world.settle(order)

    (extension,) = world.rest().node_claims
    assert (extension.is_new, extension.claim.name, pods_of(extension)) == (False, order.claim.name, ["a", "b"])
    assert [one.pod.metadata.name for one in extension.nominated] == ["b"]


def test_pods_of_an_order_that_could_not_be_written_are_planned_for_again_after_a_pause(world: World) -> None:
    world.add(cpu_pod("a"))
    (order,) = world.rest().node_claims
    world.settle(order, WriteResult.LOST)
    assert world.cluster.inventory.claims == {}
    assert world.decide() == Decisions()

    (again,) = world.rest().node_claims

    assert again.claim == order.claim


def test_an_extension_that_could_not_be_written_leaves_the_node_claim_to_its_pods(world: World) -> None:
    claim = world.nominate("a")
    world.add(cpu_pod("b"))
    (extension,) = world.rest().node_claims
    world.settle(extension, WriteResult.LOST)

    assert world.cluster.inventory.claims == {claim.name: claim}


def test_a_restart_plans_for_no_pod_that_has_a_node_claim(world: World) -> None:
    claim = world.nominate("a")
    other = World()
    other.add(node_pool(), instance_type(), claim, cpu_pod("a"))

    plans = other.rest()

    assert (names(plans, Nominated), plans.node_claims) == (["a"], ())


def test_a_nominated_pod_is_bound_when_its_node_is_initialized(world: World) -> None:
    claim = world.nominate("a")
    world.come_up(claim, is_initialized=False)
    assert world.rest() == Decisions()

    world.come_up(claim, is_initialized=True)

    (bound,) = world.decide().outcomes
    assert (bound.pod.metadata.name, getattr(bound, "node", "")) == ("a", claim.name)


@pytest.mark.parametrize(
    "end",
    [
        lambda world, claim: world.remove(claim),
        lambda world, claim: world.show(claim, conditions=(Condition(type="Launched", status="False"),)),
        lambda world, claim: world.add(
            msgspec.structs.replace(
                claim,
                metadata=msgspec.structs.replace(claim.metadata, deletion_timestamp="2026-01-01T00:00:00Z"),
            )
        ),
    ],
    ids=["gone", "failed", "being deleted"],
)
def test_a_pod_whose_node_claim_is_over_gets_another(world: World, end: Callable[[World, NodeClaim], None]) -> None:
    claim = world.nominate("a")

    end(world, claim)

    (order,) = world.rest().node_claims
    assert order.is_new
    assert pods_of(order) == ["a"]


def test_a_pod_whose_node_claims_cannot_be_launched_waits_longer_each_time(world: World) -> None:
    world.add(cpu_pod("p"))
    refused = (Condition(type="Launched", status="False", reason="InsufficientCapacity"),)
    pauses = []
    told: list[str] = []
    for _ in range(12):
        before = world.now
        while not (orders := (plans := world.decide()).node_claims):
            told += [getattr(one, "message", "") for one in plans.outcomes]
            world.now += world.pause()
        pauses.append(world.now - before)
        (order,) = orders
        claim = world.settle(order)
        world.remove(world.show(claim, conditions=refused))

    assert pauses[:3] == [1.0, 1.0, 2.0]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 301.0
    assert "was not launched, another one is made after a pause: InsufficientCapacity" in told[-1]


def test_an_old_node_claim_that_names_the_pod_does_not_hide_its_new_one(world: World) -> None:
    old = world.nominate("a")
    failed = world.show(old, conditions=(Condition(type="Launched", status="False"),))
    (order,) = world.rest().node_claims
    world.settle(order)

    world.show(failed, conditions=failed.status.conditions, image_id="changed")

    assert world.rest().node_claims == ()
    assert order.claim.name != old.name


def test_what_is_published_may_be_seen_after_its_node(world: World) -> None:
    claim = world.nominate("a")
    other = cpu_pod("other", "100m")
    world.add(msgspec.structs.replace(other, spec=msgspec.structs.replace(other.spec, node_name=claim.name)))
    world.come_up(claim, is_initialized=True, cpu="500m")
    since = world.now

    (order,) = world.rest().node_claims

    assert order.claim.name != claim.name
    assert world.now - since >= ARRIVAL_SECONDS


def test_a_node_claim_whose_pod_is_gone_stays(world: World) -> None:
    claim = world.nominate("a")

    world.remove(cpu_pod("a"))

    assert world.rest() == Decisions()
    assert world.cluster.inventory.claims == {claim.name: claim}


def test_a_trial_tells_what_would_be_made_and_makes_nothing() -> None:
    world = World(is_trial=True)
    world.add(node_pool(), instance_type(), cpu_pod("a"))

    plans = world.rest()

    assert plans.node_claims == ()
    assert "a NodeClaim would serve it (NodePool general, large)" in said(plans)
    assert world.cluster.inventory.claims == {}


def test_a_plan_has_only_so_many_pods_and_the_rest_is_next() -> None:
    world = World(most_pods=2)
    world.add(node_pool(), instance_type(), *(cpu_pod(f"p{number}") for number in range(3)))
    world.decide()

    (first,) = world.decide().node_claims
    world.settle(first)
    (second,) = world.decide().node_claims

    assert (pods_of(first), pods_of(second)) == (["p0", "p1"], ["p0", "p1", "p2"])


def test_a_plan_that_fails_concerns_its_pod_alone(world: World) -> None:
    def poisoned() -> Pod:
        # No reader makes such a value: it stands for whatever nobody has thought of.
        value = cpu_pod("poisoned")
        affinity = msgspec.structs.replace(value.spec.affinity.node_affinity)
        term = affinity.preferred_during_scheduling_ignored_during_execution
        broken = msgspec.structs.replace(affinity, preferred_during_scheduling_ignored_during_execution=(*term, None))
        whole = msgspec.structs.replace(value.spec.affinity, node_affinity=broken)
        return msgspec.structs.replace(value, spec=msgspec.structs.replace(value.spec, affinity=whole))

    world.add(cpu_pod("a"), poisoned(), cpu_pod("z"))

    plans = world.rest()

    assert [name for order in plans.node_claims for name in pods_of(order)] == ["a", "z"]


def test_a_pod_whose_plan_ran_out_of_time_is_planned_for_again_after_a_while() -> None:
    world = World(deadlines=LateAtFirst(PLAN_LIMIT_SECONDS))
    world.add(node_pool(), instance_type("gpus", gpus=8), driver_class(), claim("c", request()))
    world.add(pod("a", claims={"gpu": "c"}))
    assert "no answer" in said(world.rest())
    assert world.pause() <= REMEMBERED_SECONDS

    world.now += REMEMBERED_SECONDS

    (order,) = world.rest().node_claims
    assert pods_of(order) == ["a"]


def test_a_replica_that_does_not_lead_plans_nothing(world: World) -> None:
    world.add(cpu_pod("a"))
    world.decide()
    world.scheduler.observe(LeadershipChanged(is_leading=False), world.now)

    assert world.rest() == Decisions()


def test_nodes_that_come_up_cost_a_look_at_their_own_pods_only() -> None:
    world = World()
    world.add(node_pool(), instance_type("exact", cpu=8), *(cpu_pod(f"p{number:03}") for number in range(400)))
    orders = world.rest().node_claims
    claims = [world.settle(order) for order in orders]
    looked_at = 0
    for made in claims:
        world.come_up(made, is_initialized=False)
        looked_at += len(world.decide().outcomes)
        world.come_up(made, is_initialized=True)
        looked_at += len(world.decide().outcomes)

    assert (len(claims), looked_at) == (50, 400)


def test_a_pod_without_help_is_planned_for_again_when_something_new_could_be_made(world: World) -> None:
    world.add(cpu_pod("huge", "100"))
    assert names(world.rest(), Unschedulable) == ["huge"]

    world.add(instance_type("huge", cpu=128))

    (order,) = world.rest().node_claims
    assert pods_of(order) == ["huge"]


def test_changes_that_follow_each_other_are_one_plan_for_pods_without_help(world: World) -> None:
    world.add(cpu_pod("huge", "100"))
    world.rest()
    plans = world.reporter.plans
    for number in range(5):
        world.add(instance_type(f"other-{number}", cpu=4))
        world.decide()

    world.rest()

    assert world.reporter.plans == plans + 1


def test_a_pod_without_help_is_told_the_same_until_something_new_could_be_made(world: World) -> None:
    world.add(cpu_pod("huge", "100"))
    before = said(world.rest())
    world.add(node("n1", allocatable={"cpu": "1"}))

    after = said(world.decide())

    assert before.partition("; ")[2] == after.partition("; ")[2] != ""
