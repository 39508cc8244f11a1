"""What NodeClaims say of disruption, and that they say it once."""

import pytest
from msgspec.structs import replace

from dra_cases.fleet import BORN, Fleet, Json
from dra_scheduling.basics.times import seconds_of
from dra_scheduling.disruption import DecisionRecord, Drift, Prospect, beside, last_words
from dra_scheduling.disruption.decision_annotations import annotated
from dra_scheduling.inventory.replacements import DISRUPTION
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.nodeclaims import ChangeStatus, Delete, Step, Wait
from dra_scheduling.nodeclaims.lifecycle_steps import Notice

QUIET = "2026-01-01T00:10:00Z"
"""So long after `BORN` nodes of the pool below may be consolidated."""
BEFORE = "2026-01-01T00:09:59Z"
RECORD = DecisionRecord(reason="Underutilized", message="others have room", since=BORN, node_claims=("claim-a",))


def a_node(after: str = "10m", claim: Json | None = None) -> Fleet:
    fleet = Fleet(disruption={"consolidateAfter": after})
    fleet.node("a", "gpu-2", claim=claim or {})
    return fleet


def look(fleet: Fleet, now: str = BEFORE, *, event: str = "", claim: NodeClaim | None = None) -> Step:
    """The step where the life cycle has none."""
    inventory = fleet.cluster.inventory
    claim = claim or fleet.claim_of("a")
    pool = inventory.pools.get("pool")
    kinds = {one.instance_type for one in inventory.instance_types.values()}
    found = Drift(kinds.__contains__).of(claim, pool) if pool is not None else None
    at = Prospect(claim=claim, pool=pool, difference=found, now=now, last_pod_event=seconds_of(event))
    return beside(Wait(), at)


def after_looks(fleet: Fleet, now: str = BEFORE, event: str = "", claim: NodeClaim | None = None) -> NodeClaim:
    """The NodeClaim once what is to be written has been; the next look finds nothing."""
    claim = claim or fleet.claim_of("a")
    step = look(fleet, now, event=event, claim=claim)
    if isinstance(step, ChangeStatus):
        claim = replace(claim, status=step.status)
    assert isinstance(look(fleet, now, event=event, claim=claim), Wait)
    return claim


def said(claim: NodeClaim) -> dict[str, str]:
    kinds = ("Drifted", "Consolidatable", "DisruptionReason")
    return {one.type: one.reason for one in claim.status.conditions if one.type in kinds and one.is_true}


def test_a_node_that_is_as_it_should_be_has_nothing_to_say_before_it_was_quiet_for_long_enough() -> None:
    assert look(a_node(), BORN) == Wait(until=QUIET)
    assert look(a_node("Never"), QUIET) == Wait()


@pytest.mark.parametrize(
    ("template", "reason", "message"),
    [
        ({"taints": [{"key": "t", "effect": "NoSchedule"}]}, "NodePoolDrifted", "the template of NodePool pool"),
        (
            {"requirements": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["a"]}]},
            "RequirementsDrifted",
            "NodePool pool does not allow its kubernetes.io/hostname (a) any more",
        ),
    ],
)
def test_drift_is_named_as_karpenter_names_it_and_taken_back(template: Json, reason: str, message: str) -> None:
    fleet = a_node()
    fleet.pool("pool", template=template, disruption={"consolidateAfter": "Never"})
    drifted = after_looks(fleet)
    condition = drifted.condition("Drifted")
    assert condition is not None
    assert (condition.status, condition.reason, condition.last_transition_time) == ("True", reason, BEFORE)
    assert message in condition.message

    fleet.pool("pool", disruption={"consolidateAfter": "Never"})
    assert said(after_looks(fleet, claim=drifted)) == {}


def test_a_node_whose_type_is_gone_has_drifted_until_the_type_is_back() -> None:
    fleet = a_node()
    fleet.remove_kind("gpu-2")
    drifted = after_looks(fleet)
    assert said(drifted) == {"Drifted": "InstanceTypeNotFound"}

    fleet.kind("gpu-2", gpus=2)
    assert said(after_looks(fleet, claim=drifted)) == {}


def test_what_is_not_launched_has_not_drifted() -> None:
    fleet = a_node()
    fleet.remove_kind("gpu-2")
    claim = fleet.claim_of("a")
    planned = replace(claim, status=replace(claim.status, conditions=()))

    assert look(fleet, claim=planned) == Wait()


def test_a_node_is_consolidatable_once_no_pod_came_or_went_for_as_long_as_its_pool_demands() -> None:
    fleet = a_node()
    quiet = after_looks(fleet, QUIET)
    assert said(quiet) == {"Consolidatable": "Consolidatable"}

    noisy = after_looks(fleet, "2026-01-01T01:00:00Z", "2026-01-01T01:00:00Z", quiet)
    assert said(noisy) == {}
    assert noisy.status.last_pod_event_time == "2026-01-01T01:00:00Z"
    # Whoever looks next need not have seen the pod.
    assert look(fleet, "2026-01-01T01:00:01Z", claim=noisy) == Wait(until="2026-01-01T01:10:00Z")
    assert said(after_looks(fleet, "2026-01-01T01:10:00Z", claim=noisy)) == {"Consolidatable": "Consolidatable"}


@pytest.mark.parametrize(
    ("disruption", "spec"), [({"consolidateAfter": "Never"}, {}), ({"consolidateAfter": "10m"}, {"replicas": 1})]
)
def test_a_node_is_not_consolidatable_any_more_once_its_pool_says_never(disruption: Json, spec: Json) -> None:
    fleet = a_node()
    quiet = after_looks(fleet, QUIET)
    fleet.pool("pool", disruption=disruption, spec=spec)

    assert said(after_looks(fleet, QUIET, claim=quiet)) == {}


def test_pods_that_come_and_go_all_the_time_are_written_down_every_ten_seconds() -> None:
    fleet = a_node()
    claim, writes = fleet.claim_of("a"), 0
    for second in range(60):
        now = f"2026-01-01T00:00:{second:02}Z"
        step = look(fleet, now, event=now, claim=claim)
        if isinstance(step, ChangeStatus):
            claim, writes = replace(claim, status=step.status), writes + 1

    assert writes == 5
    assert claim.status.last_pod_event_time == "2026-01-01T00:00:50Z"


def test_the_last_pod_is_written_down_although_another_one_just_was() -> None:
    fleet = a_node()
    first = after_looks(fleet, "2026-01-01T00:00:20Z", "2026-01-01T00:00:20Z")
    step = look(fleet, "2026-01-01T00:00:23Z", event="2026-01-01T00:00:23Z", claim=first)
    assert step == Wait(until="2026-01-01T00:00:30Z")

    last = after_looks(fleet, "2026-01-01T00:00:30Z", "2026-01-01T00:00:23Z", first)
    assert last.status.last_pod_event_time == "2026-01-01T00:00:23Z"


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (RECORD.text, "Underutilized"),
        (replace(RECORD, reason="two words").text, "DisruptionReason"),
        ("no record", None),
    ],
)
def test_a_node_that_goes_says_why_until_the_decision_is_given_up(written: str, reason: str | None) -> None:
    fleet = a_node("Never")
    claim = after_looks(fleet, claim=annotated(fleet.claim_of("a"), {DISRUPTION: written}))
    assert said(claim).get("DisruptionReason") == reason

    notes = {key: text for key, text in claim.metadata.annotations.items() if key != DISRUPTION}
    stays = replace(claim, metadata=replace(claim.metadata, annotations=notes))
    assert said(after_looks(fleet, claim=stays)) == {}


def deleted(claim: NodeClaim, at: str = BEFORE) -> NodeClaim:
    metadata = replace(claim.metadata, finalizers=("karpenter.sh/termination",), deletion_timestamp=at)
    return replace(claim, metadata=metadata)


def test_what_is_deleted_before_it_could_say_why_says_it_then() -> None:
    claim = deleted(annotated(a_node().claim_of("a"), {DISRUPTION: RECORD.text}))
    step = last_words(claim, BEFORE)
    assert step is not None
    said_so = replace(claim, status=step.status)
    condition = said_so.condition("DisruptionReason")

    assert condition is not None
    assert (condition.reason, condition.message) == ("Underutilized", "others have room")
    assert last_words(said_so, BEFORE) is None


def test_what_is_deleted_at_the_end_of_its_life_says_so_and_what_people_delete_says_nothing() -> None:
    claim = a_node(claim={"expireAfter": "1h"}).claim_of("a")
    step = last_words(deleted(claim, "2026-01-01T01:00:00Z"), "2026-01-01T01:00:01Z")

    assert step is not None
    assert step.status.conditions[-1].message == "it has lived for 1h"
    assert step.status.conditions[-1].reason == "Expired"
    assert last_words(deleted(claim, BEFORE), BEFORE) is None


def test_what_is_said_stays_once_the_pool_is_gone() -> None:
    fleet = a_node()
    quiet = after_looks(fleet, QUIET)
    fleet.cluster.remove(NodePool, ObjectKey("", "pool"))

    assert look(fleet, QUIET, claim=quiet) == Wait()


def test_the_life_cycle_writes_first_and_what_it_waits_for_counts() -> None:
    fleet = a_node()
    at = Prospect(claim=fleet.claim_of("a"), pool=fleet.cluster.inventory.pools["pool"], difference=None, now=BORN)
    notice = Notice(reason="Why", message="because")

    assert beside(Delete(), at) == Delete()
    assert beside(Wait(until=BEFORE, notices=(notice,)), at) == Wait(until=BEFORE, notices=(notice,))
    assert beside(Wait(until="2026-01-01T00:11:00Z"), at) == Wait(until=QUIET)


def test_conditions_of_others_stay_as_they_are() -> None:
    fleet = a_node()
    claim = fleet.claim_of("a")
    foreign = Condition(type="example.com/Mine", status="False", reason="R", last_transition_time=BORN)
    claim = replace(claim, status=replace(claim.status, conditions=(*claim.status.conditions, foreign)))
    quiet = after_looks(fleet, QUIET, claim=claim)

    assert quiet.status.conditions[:-1] == claim.status.conditions
