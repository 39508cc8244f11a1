"""How decisions are carried out, one write after the other, and what becomes of them if a process is killed."""

from collections.abc import Iterator, Sequence

import pytest
from msgspec.structs import replace

from dra_cases import fleet as fleets
from dra_cases.fleet import DRIVER, NOW, Fleet
from dra_scheduling.disruption import (
    AbandonDecision,
    Close,
    Create,
    DisruptionView,
    MarkNodeClaim,
    Remove,
    Reopen,
    Stay,
    Step,
    WhatIfOptions,
    first_steps,
    is_under_way,
    next_decision,
    next_steps,
)
from dra_scheduling.disruption.decision_annotations import RETRY_AFTER, annotated
from dra_scheduling.inventory.replacements import DISRUPTION
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.nodeclaims.lifecycle_steps import DISRUPTED_TAINT
from dra_scheduling.provisioning import plan

LATER = "2026-01-02T00:02:00Z"


class Api:
    """Takes steps as an API server would, and remembers them."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.taken: list[str] = []

    def begin(self) -> list[Step]:
        decision = next_decision(DisruptionView(self.fleet.cluster), WhatIfOptions(now=NOW))
        assert decision is not None
        return list(first_steps(decision, NOW))

    def steps(self, now: str = NOW) -> tuple[Step, ...]:
        return next_steps(DisruptionView(self.fleet.cluster), WhatIfOptions(now=now))

    def take(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self._take(step)

    def settle(self, now: str = NOW) -> None:
        """Take one step at a time, forgetting the others, until nothing is left to be done."""
        for _ in range(50):
            steps = self.steps(now)
            if not steps:
                return
            self.take(steps[:1])
        pytest.fail(f"no end: {self.taken[-5:]}")

    def _take(self, step: Step) -> None:
        cluster = self.fleet.cluster
        match step:
            case Create(claim=claim):
                self._note("create", claim)
                cluster.apply(replace(claim, metadata=replace(claim.metadata, uid=f"uid-{claim.name}")))
            case MarkNodeClaim(claim=claim, record=record):
                self._note("mark", claim)
                cluster.apply(annotated(cluster.inventory.claims[claim.name], {DISRUPTION: record.text}))
            case AbandonDecision(claim=claim, retry_after=until):
                self._note("give up", claim)
                known = cluster.inventory.claims[claim.name]
                notes = {key: text for key, text in known.metadata.annotations.items() if key != DISRUPTION}
                cluster.apply(
                    replace(known, metadata=replace(known.metadata, annotations=notes | {RETRY_AFTER: until}))
                )
            case Remove(claim=claim):
                self._note("remove", claim)
                cluster.remove(NodeClaim, ObjectKey("", claim.name))
            case Stay(claim=claim):
                self._note("stay", claim)
            case Close(node=name) | Reopen(node=name):
                taints = (DISRUPTED_TAINT,) if isinstance(step, Close) else ()
                self.taken.append(f"{'close' if taints else 'reopen'} {name}")
                node = cluster.nodes[name].node
                cluster.apply(replace(node, spec=replace(node.spec, taints=taints)))

    def _note(self, word: str, claim: NodeClaim) -> None:
        self.taken.append(f"{word} {claim.metadata.labels['karpenter.sh/nodepool']}/{claim.status.node_name or 'new'}")


def oversized() -> Api:
    """One pod on a node that is too large: the decision is to replace it by a smaller one."""
    fleet = Fleet()
    fleet.node("a", "gpu-4")
    fleet.pod("one", "a", gpus=1)
    return Api(fleet)


def replacements(api: Api) -> Iterator[NodeClaim]:
    return (claim for claim in api.fleet.cluster.inventory.claims.values() if not claim.status.node_name)


def bring_up(api: Api) -> None:
    """Let every NodeClaim without a node be an initialized node of its cheapest type."""
    for claim in list(replacements(api)):
        types = next(one.values for one in claim.spec.requirements if one.key.endswith("instance-type"))
        notes = dict(claim.metadata.annotations)
        api.fleet.cluster.remove(NodeClaim, ObjectKey("", claim.name))
        api.fleet.node(claim.name.removeprefix("claim-"), types[0], name_of_claim=claim.name, notes=notes)


def test_an_empty_node_is_marked_closed_looked_at_again_and_deleted() -> None:
    fleet = Fleet()
    fleet.node("a")
    api = Api(fleet)

    api.take(api.begin())
    api.settle()

    assert api.taken == ["mark pool/a", "close a", "remove pool/a"]


def test_a_replacement_is_there_before_its_node_goes() -> None:
    api = oversized()

    api.take(api.begin())
    api.settle()
    waiting = list(api.taken)
    assert is_under_way(api.fleet.cluster)
    bring_up(api)
    api.settle()

    assert not is_under_way(api.fleet.cluster)
    assert waiting == ["create pool/new", "mark pool/a", "close a"]
    assert api.taken[3:] == ["remove pool/a"]


def test_a_replacement_keeps_its_devices_for_the_pods_that_it_was_made_for() -> None:
    api = oversized()
    api.take(api.begin())
    (made,) = replacements(api)
    api.fleet.pod("late", gpus=2)
    late = api.fleet.cluster.pod(ObjectKey("default", "late"))
    assert late is not None

    found = plan(api.fleet.cluster, [late])

    assert found.nominations[0].node_claim not in {"", made.name}


@pytest.mark.parametrize("written", range(3))
def test_a_kill_after_any_write_of_a_decision_changes_nothing_in_the_end(written: int) -> None:
    api = oversized()

    api.take(api.begin()[:written])
    if not written:
        api.take(api.begin())
    api.settle()
    bring_up(api)
    api.settle()

    assert api.taken == ["create pool/new", "mark pool/a", "close a", "remove pool/a"]


def test_a_node_stays_if_what_replaces_it_does_not_come_up() -> None:
    api = oversized()
    api.take(api.begin())
    api.settle()
    (claim,) = replacements(api)
    failed = Condition(type="Launched", status="False", reason="InsufficientCapacity")
    api.fleet.cluster.apply(replace(claim, status=replace(claim.status, conditions=(failed,))))

    api.settle()

    assert api.taken[3:] == ["remove pool/new", "give up pool/a", "reopen a"]
    assert next_decision(DisruptionView(api.fleet.cluster), WhatIfOptions(now=LATER)) is None


def test_a_replacement_that_takes_too_long_is_given_up() -> None:
    api = oversized()
    api.take(api.begin())
    api.settle()

    api.settle("2026-01-02T01:01:00Z")

    assert api.taken[3:] == ["remove pool/new", "give up pool/a", "reopen a"]


def test_a_node_that_got_a_protected_pod_meanwhile_stays() -> None:
    api = oversized()
    api.take(api.begin())
    api.settle()
    bring_up(api)
    api.fleet.pod("late", "a", notes={"karpenter.sh/do-not-disrupt": "true"})

    api.settle()

    assert api.taken[3:] == ["give up pool/a", "reopen a"]


def test_an_empty_node_that_got_a_pod_meanwhile_stays() -> None:
    fleet = Fleet()
    fleet.node("a")
    api = Api(fleet)
    api.take(api.begin())
    fleet.pod("late", "a")

    api.settle()

    assert api.taken == ["mark pool/a", "close a", "give up pool/a", "reopen a"]


def test_an_empty_node_whose_device_got_a_holder_meanwhile_stays() -> None:
    fleet = Fleet()
    fleet.node("a")
    api = Api(fleet)
    api.take(api.begin())
    fleet.show(fleets.claim("held", [DeviceID(DRIVER, "a", "gpu-0")], users=["elsewhere"]))

    api.settle()

    assert api.taken == ["mark pool/a", "close a", "give up pool/a", "reopen a"]


def test_a_replacement_whose_companions_were_never_made_goes_again() -> None:
    fleet = Fleet({"gpu-1": {"gpus": 1}, "old": {"gpus": 2}}, disruption={"consolidateAfter": "Never"})
    fleet.node("a", "old")
    fleet.pod("one", "a", gpus=1)
    fleet.pod("two", "a", gpus=1)
    fleet.remove_kind("old")
    api = Api(fleet)
    steps = api.begin()
    assert [type(step) for step in steps] == [Create, Create, MarkNodeClaim]

    api.take(steps[:1])
    api.settle()
    early = list(api.taken)
    api.settle(LATER)

    assert (early, api.taken[1:]) == (["create pool/new"], ["remove pool/new"])


def test_an_expired_node_goes_whatever_its_pods_and_budgets_say() -> None:
    fleet = Fleet(disruption={"budgets": [{"nodes": "0"}]})
    fleet.node("a", claim={"expireAfter": "23h"})
    fleet.pod("one", "a", notes={"karpenter.sh/do-not-disrupt": "true"})

    steps = Api(fleet).steps()

    assert [(type(step), step.reason) for step in steps if isinstance(step, Remove)] == [(Remove, "Expired")]


def test_a_taint_that_nobody_needs_any_more_is_taken_off() -> None:
    fleet = Fleet()
    fleet.node("a", taints=[{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}])

    assert Api(fleet).steps() == (Reopen(node="a", uid="uid-a"),)
