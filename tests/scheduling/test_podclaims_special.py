import msgspec
import pytest

from dra_scheduling.model.base import OwnerReference
from dra_scheduling.model.bindrequests import ExtendedResourceClaimAllocation
from dra_scheduling.model.claims import EXTENDED_CLAIM_ANNOTATION, DeviceRequest, ExactDeviceRequest, ResourceClaim
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.podclaims import SpecialClaims, special_claims
from dra_scheduling.model.pods import Pod, PodExtendedResourceClaimStatus, PodStatus
from dra_scheduling.podclaims import leftover_refusal
from dra_scheduling.reasons import Wake
from dra_scheduling.testing import allocated, claim, pod, request

TRAINER = pod("trainer-0")
GPU, OTHER_GPU = DeviceID("gpu.example.com", "n1", "gpu-0"), DeviceID("gpu.example.com", "n1", "gpu-1")


def special(name: str, *, owner: Pod = TRAINER, created: str = "", deleted: str = "") -> ResourceClaim:
    plain = claim(name, request("container-0-request-0"), owner=owner)
    metadata = msgspec.structs.replace(
        plain.metadata,
        annotations={EXTENDED_CLAIM_ANNOTATION: "true"},
        creation_timestamp=created,
        deletion_timestamp=deleted,
    )
    return msgspec.structs.replace(plain, metadata=metadata)


def decision(*held: DeviceID, count: int = 1) -> ExtendedResourceClaimAllocation:
    allocation = allocated(special("x"), *held).status.allocation
    assert allocation is not None
    requests = (request("container-0-request-0", count=count),)
    return ExtendedResourceClaimAllocation(allocation=allocation, device_requests=requests)


def naming(value: Pod, claim_name: str) -> Pod:
    status = PodExtendedResourceClaimStatus(resource_claim_name=claim_name)
    return msgspec.structs.replace(value, status=PodStatus(extended_resource_claim_status=status))


def owned(value: ResourceClaim, owner: OwnerReference) -> ResourceClaim:
    metadata = msgspec.structs.replace(value.metadata, owner_references=(owner,))
    return msgspec.structs.replace(value, metadata=metadata)


def test_a_pod_without_special_claims_has_none() -> None:
    assert special_claims(TRAINER, (), None) == SpecialClaims()


OTHERS = [
    pytest.param(claim("c", request(), owner=TRAINER), id="no annotation"),
    pytest.param(special("c", owner=pod("other")), id="another pod"),
    pytest.param(special("c", owner=pod("trainer-0", namespace="other")), id="an earlier pod of that name"),
    pytest.param(
        owned(special("c"), OwnerReference(api_version="v1", kind="Pod", name="trainer-0", uid=TRAINER.metadata.uid)),
        id="the pod owns it without controlling it",
    ),
    pytest.param(
        owned(
            special("c"),
            OwnerReference(
                api_version="batch/v1", kind="Job", name="trainer-0", uid=TRAINER.metadata.uid, controller=True
            ),
        ),
        id="a Job of that name and uid controls it",
    ),
    pytest.param(
        msgspec.structs.replace(
            special("c"), metadata=msgspec.structs.replace(special("c").metadata, namespace="other")
        ),
        id="another namespace",
    ),
]


@pytest.mark.parametrize("other", OTHERS)
def test_a_claim_that_only_looks_like_it_is_passed_over(other: ResourceClaim) -> None:
    assert special_claims(TRAINER, [other], None) == SpecialClaims()


@pytest.mark.parametrize(
    "left", [special("c"), allocated(special("c"), GPU), allocated(special("c"), GPU, consumers=[TRAINER])]
)
def test_without_a_bind_request_every_special_claim_is_left_over(left: ResourceClaim) -> None:
    found = special_claims(naming(TRAINER, "c"), [left], None)

    assert found == SpecialClaims(stale=(left,))
    assert not found.is_conflicting


def test_a_claim_in_deletion_is_left_over_until_it_is_gone() -> None:
    left = special("c", deleted="2026-01-01T00:00:00Z")

    assert special_claims(TRAINER, [left], decision(GPU)) == SpecialClaims(stale=(left,))


@pytest.mark.parametrize("made", [special("c"), allocated(special("c"), GPU)])
def test_the_claim_made_for_the_living_bind_request_is_gone_on_with(made: ResourceClaim) -> None:
    assert special_claims(TRAINER, [made], decision(GPU)) == SpecialClaims(living=made)


def test_requests_are_the_same_whether_or_not_the_server_filled_in_defaults() -> None:
    bare = DeviceRequest(
        name="container-0-request-0", exactly=ExactDeviceRequest(device_class_name="gpu.example.com", count=1)
    )
    wanted = msgspec.structs.replace(decision(GPU), device_requests=(bare,))

    assert special_claims(TRAINER, [special("c")], wanted).living is not None


@pytest.mark.parametrize("other", [decision(OTHER_GPU), decision(GPU, count=2)])
def test_a_claim_for_another_decision_is_left_over(other: ExtendedResourceClaimAllocation) -> None:
    left = allocated(special("c"), GPU)

    assert special_claims(TRAINER, [left], other) == SpecialClaims(stale=(left,))


def test_of_two_usable_claims_the_one_in_the_pod_status_serves() -> None:
    old, new = special("a", created="2026-01-01T00:00:00Z"), special("b", created="2026-02-01T00:00:00Z")
    found = special_claims(naming(TRAINER, "b"), [old, new], decision(GPU))

    assert found == SpecialClaims(living=new, stale=(old,))
    assert found.is_conflicting


def test_of_two_usable_claims_that_no_status_names_the_older_serves() -> None:
    old, new = special("b", created="2026-01-01T00:00:00Z"), special("a", created="2026-02-01T00:00:00Z")

    assert special_claims(TRAINER, [new, old], decision(GPU)) == SpecialClaims(living=old, stale=(new,))


def test_a_bound_pod_keeps_the_claim_that_its_status_names() -> None:
    bound = naming(pod("trainer-0", node_name="n1"), "b")
    other, named = special("a"), allocated(special("b"), GPU)

    assert special_claims(bound, [other, named], None) == SpecialClaims(living=named, stale=(other,))


def test_no_claim_of_a_bound_pod_is_stale_while_its_status_names_none_of_them() -> None:
    bound = pod("trainer-0", node_name="n1")

    assert special_claims(bound, [special("a"), special("b")], None) == SpecialClaims(living=special("a"))


def test_an_unbound_pod_waits_for_what_is_left_over() -> None:
    refusal = leftover_refusal(SpecialClaims(stale=(special("c"),)))

    assert leftover_refusal(SpecialClaims()) is None
    assert refusal is not None
    assert refusal.message == "waits until ResourceClaim c, left over from an earlier attempt, is gone"
    assert refusal.wake == Wake.CLAIMS


def test_conflicting_claims_are_reported_together() -> None:
    refusal = leftover_refusal(SpecialClaims(stale=(special("a"), special("b"))))

    assert refusal is not None
    assert refusal.message == "waits until several ResourceClaims left over from earlier attempts are gone: a, b"
