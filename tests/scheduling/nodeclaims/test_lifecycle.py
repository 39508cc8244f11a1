"""One step at a time of NodeClaims that are not being deleted."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from dra_builders.values import GPU_DRIVER, NIC_DRIVER, devices, node, pool, quantities, resource_slice
from dra_scheduling.basics.times import time_of
from dra_scheduling.instancetypes import Expanded, expand
from dra_scheduling.inventory.nominations import REQUESTED_DRIVERS
from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.instancetypes import Failure, InstanceDevices, InstanceType
from dra_scheduling.model.node_selectors import Taint
from dra_scheduling.model.nodeclaims import (
    NodeClaim,
    NodeClaimResources,
    NodeClaimSpec,
    NodeClaimStatus,
    NodeClassRef,
    NodeRequirement,
)
from dra_scheduling.model.pods import Node, NodeCondition, NodeStatus
from dra_scheduling.model.slices import Device
from dra_scheduling.nodeclaims import (
    ChangeNode,
    ChangeStatus,
    ChangeType,
    Deadlines,
    Delete,
    NodeClaimSituation,
    NodeSlices,
    Protect,
    Wait,
    gate_step,
    next_step,
)
from dra_scheduling.nodeclaims.lifecycle_steps import DRIVERS_TAINT, UNREGISTERED_TAINT
from dra_scheduling.wire import read_as

CREATED, LAUNCHED, REGISTERED = "2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z"
NOW = "2026-01-01T00:01:00Z"
LATE = "2026-01-01T01:00:00Z"
OWNED = ObjectMeta(
    name="c1", uid="uid-c1", creation_timestamp=CREATED, labels={"zone": "a"}, finalizers=("karpenter.sh/termination",)
)
REGISTERED_ONLY = {"karpenter.sh/registered": "true"}
OPEN = {"karpenter.sh/initialized": "true", "karpenter.sh/registered": "true"}
STARTING = Taint(key="example.com/starting", effect="NoSchedule")
TYPE = read_as(
    InstanceType,
    {
        "metadata": {"name": "t"},
        "spec": {
            "offerings": [{"zone": "a", "price": 1}],
            "capacity": {"cpu": 4},
            "devices": {"groups": [{"driver": GPU_DRIVER, "name": "gpu-{index}", "count": 2}]},
        },
    },
)
PLAIN = devices(1)[0]


def condition(kind: str, status: str = "True", *, at: str = NOW, reason: str = "") -> Condition:
    return Condition(type=kind, status=status, reason=reason or kind, last_transition_time=at)


def claim(*conditions: Condition, drivers: str = "", spec: Mapping[str, object] | None = None) -> NodeClaim:
    """A NodeClaim whose machine was launched, with what else is known of it."""
    annotations = {REQUESTED_DRIVERS: drivers} if drivers else {}
    wanted = NodeClaimSpec(node_class_ref=NodeClassRef("dra-scheduler.dev", "InstanceType", "default"), requirements=())
    return NodeClaim(
        metadata=replace(OWNED, annotations=annotations),
        spec=replace(wanted, **(spec or {})),
        status=NodeClaimStatus(provider_id="p", conditions=(condition("Launched", at=LAUNCHED), *conditions)),
    )


def registered(
    *conditions: Condition, drivers: str = GPU_DRIVER, spec: Mapping[str, object] | None = None
) -> NodeClaim:
    return claim(condition("Registered", at=REGISTERED), *conditions, drivers=drivers, spec=spec)


def machine(*taints: Taint, ready: str = "True", labels: Mapping[str, str] = REGISTERED_ONLY) -> Node:
    """The node n1 of a NodeClaim, registered unless labels say otherwise."""
    made = node("n1", taints=taints, labels=labels)
    owner = OwnerReference(kind="NodeClaim", name="c1", uid="uid-c1") if labels else None
    made = replace(made, metadata=replace(made.metadata, owner_references=(owner,) if owner else ()))
    kubelet = NodeCondition(type="Ready", status=ready, reason="KubeletSays", last_transition_time=REGISTERED)
    return replace(made, status=replace(made.status, conditions=(kubelet,)))


def offering(resource: str, amount: str) -> Node:
    made = machine()
    return replace(made, status=replace(made.status, allocatable=quantities({resource: amount})))


def published(*names: str, driver: str = GPU_DRIVER, of: int = 1, like: Device = PLAIN) -> NodeSlices:
    slices = NodeSlices()
    content = tuple(replace(like, name=name) for name in names)
    slices.apply(resource_slice(f"s-{driver}", content, driver=driver, pool=pool("n1", slices=of), node="n1"))
    return slices


def situation(
    of: NodeClaim,
    *nodes: Node,
    slices: NodeSlices | None = None,
    now: str = NOW,
    kind: InstanceType | None = None,
    gate: float = 900.0,
) -> NodeClaimSituation:
    """All that a step depends on; `kind` is the type that was launched, where it is known."""
    expanded = expand(kind) if kind is not None else None
    return NodeClaimSituation(
        claim=of,
        nodes=nodes,
        slices=slices or NodeSlices(),
        now=now,
        instance_type=kind,
        expanded=expanded if isinstance(expanded, Expanded) else None,
        deadlines=Deadlines(gate=gate),
    )


def said(step: object, kind: str = "Initialized") -> tuple[str, str]:
    """Status and reason that a step gives to a condition."""
    assert isinstance(step, ChangeStatus)
    return next((one.status, one.reason) for one in step.status.conditions if one.type == kind)


def told(step: object) -> list[str]:
    return [notice.reason for notice in getattr(step, "notices", ())]


def test_a_claim_that_somebody_made_by_hand_is_held_first() -> None:
    by_hand = replace(claim(), metadata=replace(OWNED, finalizers=()))

    assert next_step(situation(by_hand, machine())) == Protect()


def test_a_claim_waits_for_its_provider_no_longer_than_its_time() -> None:
    fresh = replace(claim(), status=NodeClaimStatus())

    assert next_step(situation(fresh)) == Wait(until="2026-01-01T00:05:00Z")
    late = next_step(situation(fresh, now="2026-01-01T00:05:00Z"))
    assert isinstance(late, ChangeStatus)
    assert (said(late, "Launched"), told(late)) == (("False", "LaunchTimeout"), ["LaunchTimeout"])
    assert next_step(situation(replace(fresh, status=late.status))) == Delete()


def test_a_claim_that_nobody_can_launch_says_what_is_wrong_with_it() -> None:
    wanted = tuple(NodeRequirement(key="zone", operator="In", values=(value,)) for value in "ab")
    fresh = replace(claim(spec={"requirements": wanted}), status=NodeClaimStatus())

    step = next_step(situation(fresh))

    assert said(step, "ValidationSucceeded") == ("False", "ValidationFailed")
    assert isinstance(step, ChangeStatus)
    assert step.status.conditions[0].message.startswith("spec.requirements[1]: contradicts")


def test_a_claim_that_could_not_be_launched_goes_at_once() -> None:
    failed = replace(claim(), status=NodeClaimStatus(conditions=(condition("Launched", "False"),)))

    assert told(next_step(situation(failed))) == ["LaunchFailed"]


def test_a_machine_without_a_node_is_told_and_then_given_up() -> None:
    step = next_step(situation(claim()))
    assert said(step, "Registered") == ("Unknown", "NodeNotFound")
    assert isinstance(step, ChangeStatus)
    told_already = replace(claim(), status=step.status)

    assert next_step(situation(told_already)) == Wait(until="2026-01-01T00:15:10Z")
    late = next_step(situation(told_already, now=LATE))
    assert told(late) == ["RegistrationTimeout"]
    assert said(late, "Registered") == said(late, "Ready") == ("False", "RegistrationTimeout")


def given_up() -> NodeClaim:
    return claim(condition("Registered", "False", reason="RegistrationTimeout"))


def resting(failures: int, until: str) -> InstanceType:
    """The type after machines of it have not become nodes."""
    return replace(TYPE, status=replace(TYPE.status, registration_failures=failures, registration_retry_after=until))


def test_a_machine_that_never_registers_is_counted_once_and_then_its_claim_goes() -> None:
    counted = next_step(situation(given_up(), kind=TYPE))
    assert isinstance(counted, ChangeType)
    assert (counted.failures, counted.retry_after) == (1, "2026-01-01T00:06:00Z")
    assert (counted.failure, told(counted)) == (Failure.REGISTRATION, ["RegistrationFailure"])

    after = next_step(situation(given_up(), now=LATE, kind=resting(1, counted.retry_after)))

    assert after == Delete()
    assert next_step(situation(given_up())) == Delete()


def test_a_failure_that_cannot_be_counted_keeps_no_claim_for_ever() -> None:
    assert next_step(situation(given_up(), now=LATE, kind=TYPE)) == Delete()


def test_a_node_that_comes_after_the_claim_was_given_up_changes_nothing() -> None:
    assert next_step(situation(given_up(), machine(labels={}))) == Delete()


def test_every_machine_in_a_row_that_never_registers_doubles_the_pause() -> None:
    step = next_step(situation(given_up(), kind=resting(2, time_of(600.0))))

    assert isinstance(step, ChangeType)
    assert (step.failures, step.retry_after) == (3, time_of(1_767_225_660 + 1200))


def test_a_node_that_registers_ends_the_row_of_those_that_did_not_whatever_its_devices_do() -> None:
    before, after = resting(1, "2026-01-01T00:05:19Z"), resting(1, "2026-01-01T00:05:20Z")

    ended = next_step(situation(registered(), machine(), kind=before))

    assert ended == ChangeType(name="t", failure=Failure.REGISTRATION, failures=0, retry_after="")
    assert not isinstance(next_step(situation(registered(), machine(), kind=after)), ChangeType)


def test_what_others_say_of_a_registration_is_no_failure() -> None:
    others = claim(condition("Registered", "False", reason="MultipleNodesFound"))

    assert not isinstance(next_step(situation(others, kind=TYPE)), ChangeType | Delete)


def test_two_nodes_of_one_machine_are_nobody() -> None:
    step = next_step(situation(claim(), machine(), replace(machine(), metadata=ObjectMeta(name="n2"))))

    assert said(step, "Registered") == ("Unknown", "MultipleNodesFound")


def test_a_node_is_registered_in_one_write() -> None:
    taint = Taint(key="example.com/mine", effect="NoSchedule")
    of = claim(spec={"taints": (taint,), "startup_taints": (STARTING,)})

    step = next_step(situation(of, machine(UNREGISTERED_TAINT, STARTING, labels={})))

    assert isinstance(step, ChangeNode)
    assert step.labels == {"zone": "a", "karpenter.sh/registered": "true"}
    assert step.owner is not None
    assert (step.added, step.removed) == ((taint,), (UNREGISTERED_TAINT,))


def test_a_startup_taint_that_somebody_took_off_stays_off() -> None:
    of = claim(spec={"startup_taints": (STARTING,)})
    half_done = replace(machine(), metadata=replace(machine().metadata, owner_references=()))

    step = next_step(situation(of, half_done))

    assert isinstance(step, ChangeNode)
    assert step.added == ()


@pytest.mark.parametrize(
    ("node", "spec", "expected"),
    [
        (machine(ready="Unknown"), {}, "NodeNotReady"),
        (replace(machine(), status=NodeStatus()), {}, "NodeNotReady"),
        (machine(STARTING), {"startup_taints": (STARTING,)}, "StartupTaintsExist"),
        (machine(STARTING), {}, "DRADriverPoolsNotPublished"),
        (
            machine(Taint(key="node.kubernetes.io/not-ready", effect="NoExecute")),
            {},
            "KnownEphemeralTaintsExist",
        ),
        (machine(Taint(key="readiness.k8s.io/net", effect="NoSchedule")), {}, "KnownEphemeralTaintsExist"),
        (machine(), {"resources": NodeClaimResources(quantities({"rdma/hca": "1"}))}, "ResourceNotRegistered"),
        (
            offering("rdma/hca", "0"),
            {"resources": NodeClaimResources(quantities({"rdma/hca": "1"}))},
            "ResourceNotRegistered",
        ),
        (machine(), {"resources": NodeClaimResources(quantities({"rdma/hca": "0"}))}, "DRADriverPoolsNotPublished"),
        (machine(STARTING, ready="False"), {"startup_taints": (STARTING,)}, "NodeNotReady"),
    ],
    ids=[
        "kubelet is silent",
        "kubelet never spoke",
        "a start-up taint",
        "a taint of somebody else",
        "not ready",
        "a readiness gate",
        "a device plugin is missing",
        "a device plugin has nothing",
        "none of a resource is needed",
        "the first that fails is told",
    ],
)
def test_the_first_check_that_fails_is_told(node: Node, spec: dict[str, object], expected: str) -> None:
    assert said(next_step(situation(registered(spec=spec), node))) == ("Unknown", expected)


def test_a_node_without_drivers_to_wait_for_is_opened() -> None:
    step = next_step(situation(registered(drivers=""), machine()))

    assert step == ChangeNode(name="n1", uid="uid-n1", labels={"karpenter.sh/initialized": "true"})


def test_where_nodes_do_not_wait_for_drivers_the_annotation_says_nothing() -> None:
    step = next_step(situation(registered(), machine(), gate=0))

    assert isinstance(step, ChangeNode)


def test_the_label_comes_before_the_condition() -> None:
    open_node = machine(labels=OPEN)
    slices = published("gpu-0", "gpu-1")

    assert isinstance(next_step(situation(registered(), machine(), slices=slices)), ChangeNode)
    step = next_step(situation(registered(), open_node, slices=slices, kind=TYPE))
    assert [said(step, kind)[0] for kind in ("Initialized", "Ready", "DevicesAsPromised")] == ["True"] * 3


def test_a_node_that_was_opened_stays_open_though_its_driver_restarts_before_that_is_said() -> None:
    step = next_step(situation(registered(), machine(labels=OPEN), now=LATE))

    assert said(step) == ("True", "Initialized")


def test_a_second_node_of_a_machine_takes_nothing_from_the_first() -> None:
    ready = registered(condition("Initialized"))

    assert (
        next_step(situation(ready, machine(labels=OPEN), replace(machine(), metadata=ObjectMeta(name="n2")))) == Wait()
    )


def test_the_drivers_own_taint_goes_when_they_have_published() -> None:
    taint = Taint(key=DRIVERS_TAINT, effect="NoSchedule")
    of = registered(spec={"startup_taints": (taint,)})

    assert said(next_step(situation(of, machine(taint)))) == ("Unknown", "DRADriverPoolsNotPublished")
    step = next_step(situation(of, machine(taint), slices=published("gpu-0")))
    assert isinstance(step, ChangeNode)
    assert step.removed == (taint,)


def test_a_driver_that_only_other_types_have_is_not_waited_for() -> None:
    of = registered(drivers=f"{GPU_DRIVER}, {NIC_DRIVER},")
    slices = published("gpu-0")

    assert said(next_step(situation(of, machine(), slices=slices)))[1] == "DRADriverPoolsNotPublished"
    assert isinstance(next_step(situation(of, machine(), slices=slices, kind=TYPE)), ChangeNode)


def test_pods_that_are_nominated_later_widen_the_gate() -> None:
    narrow, wide = registered(drivers=GPU_DRIVER), registered(drivers=f"{GPU_DRIVER},{NIC_DRIVER}")
    slices = published("gpu-0")

    assert isinstance(next_step(situation(narrow, machine(), slices=slices)), ChangeNode)
    assert said(next_step(situation(wide, machine(), slices=slices))) == ("Unknown", "DRADriverPoolsNotPublished")


def test_drivers_have_their_time_from_when_the_node_is_ready() -> None:
    of = registered(condition("Initialized", "Unknown"))
    step = next_step(situation(of, machine()))
    assert isinstance(step, ChangeStatus)
    shut = replace(of, status=step.status)
    assert next_step(situation(shut, machine())) == Wait(until="2026-01-01T00:15:20Z")

    late = next_step(situation(shut, machine(), now="2026-01-01T00:15:20Z"))

    assert said(late) == ("False", "DRADriverPoolsTimeout")
    assert said(late, "Ready") == ("False", "DRADriverPoolsTimeout")
    assert told(late) == ["DRADriverPoolsTimeout"]


def test_a_node_that_is_not_ready_costs_its_drivers_no_time() -> None:
    step = next_step(situation(registered(), machine(ready="False"), now=LATE))

    assert said(step) == ("Unknown", "NodeNotReady")


def test_a_failure_is_counted_once_and_then_the_claim_goes() -> None:
    gone = registered(condition("Initialized", "False", reason="DRADriverPoolsTimeout"))
    counted = next_step(situation(gone, machine(), kind=TYPE))
    assert isinstance(counted, ChangeType)
    assert (counted.failures, counted.retry_after) == (1, "2026-01-01T00:06:00Z")
    status = replace(TYPE.status, device_failures=counted.failures, retry_after=counted.retry_after)

    step = next_step(situation(gone, machine(), now=LATE, kind=replace(TYPE, status=status)))

    assert step == Delete()


@pytest.mark.parametrize(("failures", "pause"), [(0, 300), (1, 600), (2, 1200), (6, 19200), (7, 21600), (99, 21600)])
def test_every_failure_in_a_row_doubles_the_pause(failures: int, pause: int) -> None:
    long_ago = time_of(pause / 2) if failures else ""
    status = replace(TYPE.status, device_failures=failures, retry_after=long_ago)
    gone = registered(condition("Initialized", "False"))

    step = next_step(situation(gone, machine(), now=NOW, kind=replace(TYPE, status=status)))

    assert isinstance(step, ChangeType)
    assert step.failures == failures + 1
    assert step.retry_after == time_of(1_767_225_660 + pause)


def test_a_node_with_its_devices_ends_a_row_of_failures() -> None:
    ready = registered(condition("Initialized"), condition("DevicesAsPromised"))
    opened = machine(labels=OPEN)
    before, after = (
        replace(TYPE, status=replace(TYPE.status, device_failures=1, retry_after=time))
        for time in ("2026-01-01T00:05:30Z", "2026-01-01T00:06:30Z")
    )

    assert next_step(situation(ready, opened, kind=before)) == ChangeType(
        name="t", failure=Failure.DEVICES, failures=0, retry_after=""
    )
    assert next_step(situation(ready, opened, kind=after)) == Wait()


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("gpu-0",), "DevicesMissing"),
        (("gpu-0", "gpu-1", "gpu-2"), "DevicesUnexpected"),
        (("gpu-0", "other"), "DevicesMissing"),
    ],
    ids=["too few", "too many", "others"],
)
def test_devices_that_differ_from_the_promise_are_told(names: tuple[str, ...], reason: str) -> None:
    opened = machine(labels=OPEN)

    step = next_step(situation(registered(), opened, slices=published(*names), kind=TYPE))

    assert said(step, "DevicesAsPromised") == ("False", reason)
    assert said(step) == ("True", "Initialized")
    assert told(step) == ["Initialized", reason]


@pytest.mark.parametrize(
    ("ready", "expected"),
    [(("b", "a"), "DevicesAsPromised"), (("a",), "DevicesDiffer"), ((), "DevicesDiffer")],
    ids=["in another order", "other ones", "none"],
)
def test_devices_that_pods_wait_for_otherwise_than_promised_are_told(ready: tuple[str, ...], expected: str) -> None:
    (group,) = TYPE.spec.devices.groups
    waited = replace(group, binding_conditions=("a", "b"), binding_failure_conditions=("c",))
    kind = replace(TYPE, spec=replace(TYPE.spec, devices=InstanceDevices(groups=(waited,))))
    like = replace(PLAIN, binding_conditions=ready, binding_failure_conditions=("c",) if ready else ())
    slices = published("gpu-0", "gpu-1", like=like)

    step = next_step(situation(registered(), machine(labels=OPEN), slices=slices, kind=kind))

    assert said(step, "DevicesAsPromised")[1] == expected


def test_devices_that_come_later_make_good() -> None:
    lacking = registered(condition("Initialized"), condition("DevicesAsPromised", "False", reason="DevicesMissing"))
    opened = machine(labels=OPEN)
    status = replace(TYPE.status, device_failures=1, retry_after=LATE)
    kind = replace(TYPE, status=status)

    assert next_step(situation(lacking, opened, slices=published("gpu-0"), kind=kind)) == Wait()
    step = next_step(situation(lacking, opened, slices=published("gpu-0", "gpu-1"), kind=kind))
    assert said(step, "DevicesAsPromised") == ("True", "DevicesAsPromised")


def test_a_driver_that_restarts_changes_nothing() -> None:
    ready = registered(condition("Initialized"), condition("DevicesAsPromised"))
    opened = machine(labels=OPEN)

    assert next_step(situation(ready, opened, slices=NodeSlices(), kind=TYPE)) == Wait()


def test_a_claim_whose_node_has_gone_goes() -> None:
    ready = registered(condition("Initialized"))

    step = next_step(situation(replace(ready, status=replace(ready.status, node_name="n1"))))

    assert isinstance(step, Delete)


def test_a_node_that_was_deleted_and_came_back_begins_anew() -> None:
    ready = registered(condition("Initialized"), condition("DevicesAsPromised"))
    back = next_step(situation(ready, machine(UNREGISTERED_TAINT, labels={})))

    assert isinstance(back, ChangeNode)
    assert back.removed == (UNREGISTERED_TAINT,)
    assert next_step(situation(ready, machine())) == Wait()
    assert isinstance(next_step(situation(ready, machine(), slices=published("gpu-0"))), ChangeNode)


def test_of_foreign_claims_only_the_drivers_taint_is_taken_off() -> None:
    taint = Taint(key=DRIVERS_TAINT, effect="NoSchedule")

    assert gate_step(situation(registered(), machine())) == Wait()
    assert gate_step(situation(registered(), machine(taint))) == Wait(until="2026-01-01T00:15:20Z")
    assert told(gate_step(situation(registered(), machine(taint), now=LATE))) == ["DRADriverPoolsTimeout"]
    step = gate_step(situation(registered(), machine(taint), slices=published("gpu-0"), now=LATE))
    assert step == ChangeNode(name="n1", uid="uid-n1", removed=(taint,))
