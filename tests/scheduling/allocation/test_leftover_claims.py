import msgspec
import pytest

from dra_builders.values import allocated, claim, pod, request
from dra_scheduling.allocation.pod_claims import leftover_refusal
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.model.base import OwnerReference
from dra_scheduling.model.claims import EXTENDED_CLAIM_ANNOTATION, ResourceClaim
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.pods import Pod

TRAINER = pod("trainer-0")
UID = TRAINER.metadata.uid
GPU = DeviceID("gpu.example.com", "n1", "gpu-0")


def special(name: str, *, owner: Pod = TRAINER, namespace: str = "default", deleted: str = "") -> ResourceClaim:
    plain = claim(name, request("container-0-request-0"), owner=owner, namespace=namespace)
    annotations = {EXTENDED_CLAIM_ANNOTATION: "true"}
    metadata = msgspec.structs.replace(plain.metadata, annotations=annotations, deletion_timestamp=deleted)
    return msgspec.structs.replace(plain, metadata=metadata)


def owned_by(owner: OwnerReference) -> ResourceClaim:
    value = special("c")
    metadata = msgspec.structs.replace(value.metadata, owner_references=(owner,))
    return msgspec.structs.replace(value, metadata=metadata)


LEFT = [
    pytest.param(special("c"), id="not yet allocated"),
    pytest.param(allocated(special("c"), GPU), id="allocated"),
    pytest.param(allocated(special("c"), GPU, consumers=[TRAINER]), id="reserved for the pod"),
    pytest.param(special("c", deleted="2026-01-01T00:00:00Z"), id="being deleted"),
]
OTHERS = [
    pytest.param(claim("c", request(), owner=TRAINER), id="no annotation"),
    pytest.param(special("c", owner=pod("other")), id="another pod"),
    pytest.param(special("c", owner=pod("trainer-0", namespace="other")), id="an earlier pod of that name"),
    pytest.param(special("c", namespace="other"), id="another namespace"),
    pytest.param(
        owned_by(OwnerReference(api_version="v1", kind="Pod", name="trainer-0", uid=UID)),
        id="the pod owns it without controlling it",
    ),
    pytest.param(
        owned_by(OwnerReference(api_version="batch/v1", kind="Job", name="trainer-0", uid=UID, controller=True)),
        id="a Job of that name and uid controls it",
    ),
]


@pytest.mark.parametrize("left", LEFT)
def test_a_pod_waits_until_its_old_special_claim_is_gone(left: ResourceClaim) -> None:
    refusal = leftover_refusal(TRAINER, [left])

    assert refusal is not None
    assert refusal.message == "waits until ResourceClaim c, left over from an earlier attempt, is gone"
    assert refusal.wake == ClusterEvent.CLAIMS


@pytest.mark.parametrize("other", OTHERS)
def test_a_claim_that_only_looks_like_the_pods_is_passed_over(other: ResourceClaim) -> None:
    assert leftover_refusal(TRAINER, [other]) is None


def test_several_claims_are_reported_together_in_order_of_name() -> None:
    refusal = leftover_refusal(TRAINER, [special("b"), special("a")])

    assert refusal is not None
    assert refusal.message == "waits until several ResourceClaims left over from earlier attempts are gone: a, b"
