from collections.abc import Callable, Collection

import msgspec
import pytest

from dra_builders.values import allocated, claim, labelled, on_node, pod, request, reserved_for, templated_pod
from dra_scheduling.allocation.pod_claims import ResolvedClaims, reach_refusal, resolve
from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.fit.rules import BareNode
from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.claims import (
    MAX_CONSUMERS_PER_CLAIM,
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.node_selectors import NodeSelectorTerm
from dra_scheduling.model.pod_claim_names import claim_key
from dra_scheduling.model.pods import Node, Pod, PodResourceClaim, PodResourceClaimStatus, PodSpec, PodStatus

GPU = DeviceID("gpu.example.com", "n1", "gpu-0")
SHARED = pod("p", claims={"gpu": "shared"})


def resolved(
    value: Pod,
    *claims: ResourceClaim,
    on_its_way: AllocationResult | None = None,
    coming: Collection[str] = (),
) -> ResolvedClaims | Refusal:
    known = {item.key: item for item in claims}
    return resolve(value, known.get, lambda _: on_its_way, lambda _: coming)


def usable(outcome: ResolvedClaims | Refusal) -> ResolvedClaims:
    assert isinstance(outcome, ResolvedClaims)
    return outcome


def refused(outcome: ResolvedClaims | Refusal) -> Refusal:
    assert isinstance(outcome, Refusal)
    return outcome


def node_meeting(name: str, labels: dict[str, str]) -> Callable[[NodeSelectorTerm], bool]:
    return BareNode(Node(metadata=ObjectMeta(name=name, labels=labels))).meets


def deleting(value: ResourceClaim) -> ResourceClaim:
    metadata = msgspec.structs.replace(value.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(value, metadata=metadata)


def with_consumers(value: ResourceClaim, count: int, *more: ResourceClaimConsumerReference) -> ResourceClaim:
    others = (ResourceClaimConsumerReference(resource="pods", name=f"p{n}", uid=f"u{n}") for n in range(count))
    return msgspec.structs.replace(value, status=ResourceClaimStatus(reserved_for=(*others, *more)))


def test_a_pod_without_claims_waits_for_nothing() -> None:
    assert resolved(pod("p")) == ResolvedClaims()


@pytest.mark.parametrize("annotation", ["gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"])
def test_a_pod_that_asks_for_a_fraction_is_told_the_way_that_exists(annotation: str) -> None:
    value = pod("p")
    metadata = msgspec.structs.replace(value.metadata, annotations={annotation: "1"})

    refusal = refused(resolved(msgspec.structs.replace(value, metadata=metadata)))

    assert refusal.reason == "FractionNotSupported"
    assert annotation in refusal.message
    assert "consumable capacity" in refusal.message
    assert "partition" in refusal.message


def test_a_claim_named_by_the_pod_is_to_be_allocated() -> None:
    shared = claim("shared", request())
    (item,) = usable(resolved(SHARED, shared)).unallocated

    assert (item.name, item.claim) == ("gpu", shared)


def test_an_allocated_claim_is_taken_as_it_is() -> None:
    shared = allocated(claim("shared", request()), GPU, selector=on_node("n1"))
    outcome = usable(resolved(SHARED, shared))

    assert outcome.unallocated == ()
    assert outcome.claims[0].allocation == shared.status.allocation


def test_an_allocation_on_its_way_counts_with_its_node_selector() -> None:
    planned = AllocationResult(node_selector=labelled(zone="a"))
    outcome = usable(resolved(SHARED, claim("shared", request()), on_its_way=planned))

    assert outcome.unallocated == ()
    assert reach_refusal(outcome, node_meeting("n1", {"zone": "a"})) is None
    assert reach_refusal(outcome, node_meeting("n2", {"zone": "b"})) is not None


def test_a_claim_that_the_pod_names_twice_is_allocated_once() -> None:
    value = pod("p", claims={"one": "shared", "two": "shared"})
    outcome = usable(resolved(value, claim("shared", request())))

    assert [item.name for item in outcome.claims] == ["one", "two"]
    assert [item.name for item in outcome.unallocated] == ["one"]


def test_a_missing_claim_is_waited_for_by_name() -> None:
    refusal = refused(resolved(SHARED))

    assert refusal.message == "ResourceClaim default/shared does not exist"
    assert refusal.wake == ClusterEvent.POD | ClusterEvent.CLAIMS


def test_a_claim_being_deleted_cannot_take_a_new_consumer() -> None:
    held = allocated(claim("shared", request()), GPU)

    assert refused(resolved(SHARED, deleting(held))).message == "ResourceClaim default/shared is being deleted"


def test_a_template_claim_that_nobody_has_made_yet_is_waited_for() -> None:
    refusal = refused(resolved(templated_pod("p", claims={"gpu": None})))

    assert refusal.reason == "ClaimNotCreated"
    assert refusal.message == (
        "claim gpu is not yet made from ResourceClaimTemplate default/gpu: "
        "does that exist, and does kube-controller-manager run?"
    )


def test_a_template_claim_is_found_under_the_name_in_the_status() -> None:
    value = templated_pod("p", claims={"gpu": "p-gpu-x7k"})
    made = claim("p-gpu-x7k", request(), owner=value)

    assert usable(resolved(value, made)).claims[0].claim == made


def test_a_template_entry_with_a_null_claim_name_needs_no_claim() -> None:
    value = templated_pod("p", claims={"gpu": None})
    status = PodStatus(resource_claim_statuses=(PodResourceClaimStatus(name="gpu"),))

    assert resolved(msgspec.structs.replace(value, status=status)) == ResolvedClaims()


@pytest.mark.parametrize("owner", [None, pod("other")])
def test_a_template_claim_of_somebody_else_is_not_used(owner: Pod | None) -> None:
    value = templated_pod("p", claims={"gpu": "p-gpu-x7k"})

    assert refused(resolved(value, claim("p-gpu-x7k", request(), owner=owner))).reason == "ClaimOfAnotherPod"


def test_a_named_claim_may_belong_to_anybody() -> None:
    assert usable(resolved(SHARED, claim("shared", request(), owner=pod("other")))).claims


def test_an_entry_without_claim_and_template_is_said_to_be_so() -> None:
    spec = PodSpec(resource_claims=(PodResourceClaim(name="gpu"),))
    refusal = refused(resolved(msgspec.structs.replace(pod("p"), spec=spec)))

    assert refusal.message == "spec.resourceClaims, gpu: expected a claim or a template"


def test_one_more_than_256_consumers_have_to_wait() -> None:
    full = with_consumers(claim("shared", request()), MAX_CONSUMERS_PER_CLAIM)
    refusal = refused(resolved(SHARED, full))

    assert refusal.message == "too many consumers: ResourceClaim default/shared has 256, 256 at most"
    assert ClusterEvent.CLAIMS in refusal.wake


def test_one_of_the_256_consumers_may_use_the_claim() -> None:
    full = with_consumers(claim("shared", request()), MAX_CONSUMERS_PER_CLAIM - 1, reserved_for(SHARED))

    assert usable(resolved(SHARED, full)).claims


def test_consumers_on_their_way_fill_a_claim_as_well() -> None:
    almost = with_consumers(claim("shared", request()), MAX_CONSUMERS_PER_CLAIM - 1)

    assert usable(resolved(SHARED, almost, coming={"u0"})).claims
    assert refused(resolved(SHARED, almost, coming={"planned"})).reason == "ClaimConsumersFull"


def test_a_node_out_of_reach_of_an_allocated_device_is_refused_with_the_claim() -> None:
    outcome = usable(resolved(SHARED, allocated(claim("shared", request()), GPU, selector=on_node("n1"))))
    refusal = reach_refusal(outcome, node_meeting("n2", {}))

    assert reach_refusal(outcome, node_meeting("n1", {})) is None
    assert refusal is not None
    assert refusal.message == "out of reach of the devices that ResourceClaim default/shared has"


def test_devices_without_a_node_selector_are_in_reach_everywhere() -> None:
    outcome = usable(resolved(SHARED, allocated(claim("shared", request()), GPU)))

    assert reach_refusal(outcome, node_meeting("n2", {})) is None


def test_the_claim_behind_an_entry_has_a_key_once_it_is_known() -> None:
    value = templated_pod("p", claims={"gpu": "p-gpu-x7k", "nic": None})

    assert claim_key(SHARED, "gpu") == ObjectKey("default", "shared")
    assert claim_key(value, "gpu") == ObjectKey("default", "p-gpu-x7k")
    assert claim_key(value, "nic") is None
    assert claim_key(value, "unknown") is None


def test_a_claim_of_a_pod_group_names_the_feature_that_is_not_supported() -> None:
    owner = OwnerReference(kind="PodGroup", name="workers", uid="g", controller=True)
    made = claim("p-gpu-x7k", request())
    made = msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, owner_references=(owner,)))

    refusal = refused(resolved(templated_pod("p", claims={"gpu": "p-gpu-x7k"}), made))

    assert refusal.reason == "ClaimOfAnotherPod"
    assert refusal.message.endswith("it belongs to PodGroup workers, and DRAWorkloadResourceClaims is not supported")
