"""One step at a time of NodeClaims that are being deleted."""

import pytest
from msgspec.structs import replace

from dra_builders.values import node, pod
from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.node_selectors import Taint, Toleration
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimSpec, NodeClaimStatus, NodeClassRef
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.nodeclaims import ChangeNode, ChangeStatus, Evict, Release, Step, Wait, termination_step
from dra_scheduling.nodeclaims.lifecycle_steps import DISRUPTED_TAINT, TERMINATION

DELETED, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"
DRAINING = Condition(type="Drained", status="Unknown", reason="Draining", message="pods are being evicted")
DRAINED = Condition(type="Drained", status="True", reason="Drained")


def claim(*conditions: Condition, grace: str = "", finalizers: tuple[str, ...] = (TERMINATION,)) -> NodeClaim:
    written = (replace(one, last_transition_time=DELETED) for one in conditions)
    return NodeClaim(
        metadata=ObjectMeta(name="c1", uid="u", deletion_timestamp=DELETED, finalizers=finalizers),
        spec=NodeClaimSpec(
            node_class_ref=NodeClassRef("dra-scheduler.dev", "InstanceType", "default"),
            requirements=(),
            termination_grace_period=grace,
        ),
        status=NodeClaimStatus(provider_id="p", conditions=tuple(written)),
    )


def machine(*taints: Taint) -> Node:
    return node("n1", taints=taints)


def running(name: str = "p", **changes: object) -> Pod:
    """A pod on the node; changes are of its metadata or its spec."""
    made = pod(name, node_name="n1")
    of_meta = {key: value for key, value in changes.items() if key in ObjectMeta.__struct_fields__}
    of_spec = {key: value for key, value in changes.items() if key not in of_meta}
    return replace(made, metadata=replace(made.metadata, **of_meta), spec=replace(made.spec, **of_spec))


def draining(*pods: Pod, grace: str = "", now: str = NOW) -> Step:
    return termination_step(claim(DRAINING, grace=grace), (machine(DISRUPTED_TAINT),), pods, now)


def owned_by(kind: str) -> tuple[OwnerReference, ...]:
    return (OwnerReference(api_version="v1", kind=kind, name="o", uid="o", controller=True),)


def test_new_pods_are_kept_away_before_anything_else() -> None:
    step = termination_step(claim(), (machine(),), (running(),), NOW)

    assert step == ChangeNode(name="n1", uid="uid-n1", added=(DISRUPTED_TAINT,))


def test_it_is_said_that_pods_go_before_they_do() -> None:
    step = termination_step(claim(), (machine(DISRUPTED_TAINT),), (running(),), NOW)

    assert isinstance(step, ChangeStatus)
    assert step.status.conditions[0].reason == "Draining"
    assert draining(running()) == Evict(pods=(running(),))


@pytest.mark.parametrize(
    "stays",
    [
        running(owner_references=owned_by("DaemonSet")),
        running(owner_references=owned_by("Node")),
        running(annotations={"kubernetes.io/config.mirror": "x"}),
        running(tolerations=(Toleration(operator="Exists"),)),
        replace(running(), status=replace(running().status, phase="Succeeded")),
        running(deletion_timestamp="2025-12-31T23:59:00Z"),
    ],
    ids=["of a DaemonSet", "of the node", "static", "tolerates the taint", "finished", "its kubelet is gone"],
)
def test_a_node_does_not_wait_for_such_a_pod(stays: Pod) -> None:
    step = draining(stays)

    assert isinstance(step, ChangeStatus)
    assert [(one.status, one.reason) for one in step.status.conditions] == [("True", "Drained")]


def test_a_pod_that_ends_is_waited_for() -> None:
    ending = running(deletion_timestamp="2026-01-01T00:00:50Z")

    assert draining(ending) == Wait(until="2026-01-01T00:01:50Z")


def test_a_pod_that_must_not_be_disrupted_is_waited_for() -> None:
    assert draining(running(annotations={"karpenter.sh/do-not-disrupt": "true"})) == Wait()


def test_what_the_cluster_needs_goes_last() -> None:
    critical = running("critical", priority_class_name="system-node-critical")

    assert draining(critical, running()) == Evict(pods=(running(),))
    assert draining(critical) == Evict(pods=(critical,))


def test_a_pod_has_its_own_time_before_the_grace_period_ends() -> None:
    slow = running("slow", termination_grace_period_seconds=60)

    early = draining(slow, running(), grace="2m", now="2026-01-01T00:00:30Z")
    late = draining(slow, running(), grace="2m", now="2026-01-01T00:01:00Z")

    assert early == Evict(pods=(slow, running()), until="2026-01-01T00:01:00Z")
    assert late == Evict(pods=(running(),), forced=(slow,), until="2026-01-01T00:01:30Z")


def test_a_grace_period_that_is_over_waits_for_nobody_that_is_ending() -> None:
    ending = running(deletion_timestamp=NOW)

    step = draining(ending, grace="1m")

    assert isinstance(step, ChangeStatus)
    assert step.status.conditions[0].reason == "TerminationGracePeriodElapsed"


def test_a_pod_without_time_of_its_own_is_ended_when_the_grace_period_is_over() -> None:
    quick = running(termination_grace_period_seconds=0)

    assert draining(quick, grace="1m") == Evict(forced=(quick,))


def test_a_drained_node_is_its_providers() -> None:
    assert termination_step(claim(DRAINED), (machine(DISRUPTED_TAINT),), (running(),), NOW) == Wait()


def test_a_claim_without_a_node_is_let_go() -> None:
    assert termination_step(claim(), (), (), NOW) == Release()
    assert termination_step(claim(finalizers=("dra-scheduler.dev/instance",)), (), (), NOW) == Wait()
