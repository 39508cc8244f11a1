"""What a claim asks for, and why some claims fit on no node."""

import pytest
from msgspec.structs import replace

from dra_builders.values import GPU_CLASS, all_request, claim_spec, device_class, match_attribute, request
from dra_scheduling.allocation.claim_requests import (
    Alternative,
    ConstraintKind,
    ConstraintRule,
    ParsedClaim,
    parse_claim,
)
from dra_scheduling.basics.features import DEFAULT_FEATURES, ON_BY_DEFAULT, Features
from dra_scheduling.basics.reasons import ClusterEvent, Refusal, fold, one_line
from dra_scheduling.model.claims import (
    CapacityRequirements,
    DeviceAllocationConfiguration,
    DeviceClaimConfiguration,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
)
from dra_scheduling.model.node_selectors import Toleration
from dra_scheduling.model.slices import DeviceSelector, OpaqueDeviceConfiguration
from kube_cel.quantity import Quantity

OPAQUE_A = OpaqueDeviceConfiguration(driver="a.example", parameters={"kind": "a"})
OPAQUE_B = OpaqueDeviceConfiguration(driver="b.example", parameters={"kind": "b"})
CLASSES = {
    GPU_CLASS: device_class(GPU_CLASS, "true", config=[OPAQUE_A]),
    "plain": device_class("plain"),
    "broken": device_class("broken", "true", "device.nonsense"),
}


def parsed(spec: ResourceClaimSpec) -> ParsedClaim:
    result = parse_claim("train", spec, CLASSES)
    assert isinstance(result, ParsedClaim), result
    return result


def only(claim: ParsedClaim, number: int = 0) -> Alternative:
    (alternative,) = claim.requests[number].alternatives
    return alternative


def config_of(claim: ParsedClaim) -> tuple[DeviceAllocationConfiguration, ...]:
    return claim.config_of([only(claim, number) for number in range(len(claim.requests))])


def listed(*alternatives: DeviceSubRequest) -> DeviceRequest:
    return DeviceRequest(name="gpu", first_available=alternatives)


def refused(spec: ResourceClaimSpec, features: Features = DEFAULT_FEATURES) -> Refusal:
    result = parse_claim("train", spec, CLASSES, features)
    assert isinstance(result, Refusal), result
    return result


def exact(**fields: object) -> DeviceRequest:
    defaults = ExactDeviceRequest(device_class_name=GPU_CLASS)
    return DeviceRequest(name="gpu", exactly=replace(defaults, **fields))


def configured(opaque: OpaqueDeviceConfiguration, *requests: str) -> DeviceClaimConfiguration:
    return DeviceClaimConfiguration(requests=requests, opaque=opaque)


def test_selectors_of_the_class_come_before_those_of_the_request() -> None:
    claim = parsed(claim_spec(request("gpu", GPU_CLASS, "false")))
    assert only(claim).wish.selection.origins == (
        "selector 1 of class gpu.example.com",
        "selector 1 of the request",
    )


def test_requests_of_the_same_content_share_their_selection() -> None:
    one = parsed(claim_spec(request("a", GPU_CLASS, "false"), request("b", GPU_CLASS, "false")))
    other = parsed(claim_spec(request("c", GPU_CLASS, "false")))
    assert only(one).wish is only(one, 1).wish
    assert only(one).wish is only(other).wish


def test_counts_default_as_the_server_defaults_them() -> None:
    claim = parsed(claim_spec(exact(), all_request("rest")))
    assert [only(claim, number).wanted for number in (0, 1)] == [1, 0]
    assert only(claim, 1).wants_all


def test_a_rule_without_requests_binds_all_of_them() -> None:
    spec = claim_spec(request("a"), request("b"), constraints=[match_attribute("x/y"), match_attribute("x/z", "b")])
    assert parsed(spec).rules == (
        ConstraintRule(kind=ConstraintKind.MATCH, attribute="x/y", scope=frozenset({(0, 0), (1, 0)})),
        ConstraintRule(kind=ConstraintKind.MATCH, attribute="x/z", scope=frozenset({(1, 0)})),
    )


def test_tolerations_go_with_the_request() -> None:
    toleration = Toleration(key="x", operator="Exists")
    assert only(parsed(claim_spec(exact(tolerations=(toleration,))))).wish.tolerations == (toleration,)


def test_a_class_configures_once_for_the_requests_that_use_it_and_the_claim_follows() -> None:
    spec = claim_spec(
        request("a"), request("b"), request("c", "plain"), config=[configured(OPAQUE_B, "a", "c"), configured(OPAQUE_A)]
    )
    assert config_of(parsed(spec)) == (
        DeviceAllocationConfiguration(source="FromClass", requests=("a", "b"), opaque=OPAQUE_A),
        DeviceAllocationConfiguration(source="FromClaim", requests=("a", "c"), opaque=OPAQUE_B),
        DeviceAllocationConfiguration(source="FromClaim", requests=(), opaque=OPAQUE_A),
    )


@pytest.mark.parametrize("scope", [(), ("a",), ("gpu",), ("gpu/small",), ("gpu/large",), ("gpu/large", "a")])
@pytest.mark.parametrize("position", [0, 1])
def test_configurations_are_counted_as_an_allocation_carries_them(scope: tuple[str, ...], position: int) -> None:
    small, large = (DeviceSubRequest(name=name, device_class_name=GPU_CLASS) for name in ("small", "large"))
    claim = parsed(claim_spec(request("a"), listed(small, large), config=[configured(OPAQUE_B, *scope)]))
    chosen = [only(claim), claim.requests[1].alternatives[position]]
    assert claim.count_config(dict(enumerate(chosen))) == len(claim.config_of(chosen))


def test_configuration_that_covers_every_request_names_none() -> None:
    spec = claim_spec(request("a"), request("b"), config=[configured(OPAQUE_B, "b", "a")])
    assert [entry.requests for entry in config_of(parsed(spec))] == [(), ()]


def test_thirty_two_devices_are_not_too_many() -> None:
    claim = parsed(claim_spec(request("a", count=20), request("b", count=12)))
    assert sum(only(claim, number).wanted for number in (0, 1)) == 32


BAD_CLAIMS = {
    "33 devices": (
        claim_spec(request("a", count=20), request("b", count=13)),
        'claim "train": needs 33 devices, a claim holds at most 32',
    ),
    "missing class": (
        claim_spec(request("gpu", "gone")),
        'claim "train" request "gpu": there is no DeviceClass "gone"',
    ),
    "no class": (claim_spec(request("gpu", "")), 'claim "train" request "gpu": it names no DeviceClass'),
    "broken selector of the request": (
        claim_spec(request("gpu", GPU_CLASS, "true", "device.nonsense")),
        'claim "train" request "gpu": selector 2 of the request does not compile: ',
    ),
    "broken selector of the class": (
        claim_spec(request("gpu", "broken")),
        'claim "train" request "gpu": selector 2 of class broken does not compile: ',
    ),
    "selector of an unknown kind": (
        claim_spec(exact(selectors=(DeviceSelector(),))),
        'claim "train" request "gpu": selector 1 of the request does not compile: ',
    ),
    "unknown mode": (
        claim_spec(exact(allocation_mode="Some")),
        'claim "train" request "gpu": allocationMode is Some, expected ExactCount or All',
    ),
    "negative count": (
        claim_spec(exact(count=-1)),
        'claim "train" request "gpu": count is -1, expected at least 1',
    ),
    "two requests of one name": (
        claim_spec(request("gpu"), request("gpu")),
        'claim "train": two of its requests, or two alternatives of one, have the same name',
    ),
    "constraint on an unknown request": (
        claim_spec(request("gpu"), constraints=[match_attribute("x/y", "nic")]),
        'claim "train": a constraint names request "nic", which the claim does not have',
    ),
    "configuration for an unknown request": (
        claim_spec(request("gpu"), config=[configured(OPAQUE_A, "nic")]),
        'claim "train": a config names request "nic", which the claim does not have',
    ),
    "unknown constraint": (
        claim_spec(request("gpu"), constraints=[DeviceConstraint()]),
        'claim "train": a constraint is of an unknown kind, expected matchAttribute or distinctAttribute',
    ),
    "constraint of both kinds": (
        claim_spec(request("gpu"), constraints=[DeviceConstraint(match_attribute="x/y", distinct_attribute="x/z")]),
        'claim "train": a constraint is of an unknown kind, expected matchAttribute or distinctAttribute',
    ),
    "two alternatives of one name": (
        claim_spec(listed(DeviceSubRequest(GPU_CLASS, name="a"), DeviceSubRequest(GPU_CLASS, name="a"))),
        'claim "train": two of its requests, or two alternatives of one, have the same name',
    ),
    "no alternative has its class": (
        claim_spec(listed(DeviceSubRequest("gone", name="a"), DeviceSubRequest("lost", name="b"))),
        'claim "train" request "gpu/a": there is no DeviceClass "gone"',
    ),
    "an alternative of an unknown mode": (
        claim_spec(listed(DeviceSubRequest(GPU_CLASS, name="a", allocation_mode="Some"))),
        'claim "train" request "gpu/a": allocationMode is Some, expected ExactCount or All',
    ),
    "an alternative with a broken selector": (
        claim_spec(
            listed(
                DeviceSubRequest(GPU_CLASS, name="a", selectors=(DeviceSelector(),)),
                DeviceSubRequest(GPU_CLASS, name="b"),
            )
        ),
        'claim "train" request "gpu/a": selector 1 of the request does not compile: ',
    ),
    "every alternative too large": (
        claim_spec(
            listed(DeviceSubRequest(GPU_CLASS, name="a", count=33), DeviceSubRequest(GPU_CLASS, name="b", count=500))
        ),
        'claim "train" request "gpu/a": needs 33 devices, a claim holds at most 32',
    ),
}

SWITCHED_OFF = {
    "DRAPrioritizedList": (
        claim_spec(listed(DeviceSubRequest(GPU_CLASS, name="big"))),
        'claim "train" request "gpu": firstAvailable needs feature DRAPrioritizedList, which is off',
    ),
    "DRAAdminAccess": (
        claim_spec(exact(admin_access=True)),
        'claim "train" request "gpu": adminAccess needs feature DRAAdminAccess, which is off',
    ),
    "DRAConsumableCapacity": (
        claim_spec(exact(capacity=CapacityRequirements(requests={"memory": Quantity.parse("1Gi")}))),
        'claim "train" request "gpu": a capacity request needs feature DRAConsumableCapacity, which is off',
    ),
    "DRAConsumableCapacity for constraints": (
        claim_spec(request("gpu"), constraints=[DeviceConstraint(distinct_attribute="x/y")]),
        'claim "train": distinctAttribute needs feature DRAConsumableCapacity, which is off',
    ),
}


@pytest.mark.parametrize("case", BAD_CLAIMS.values(), ids=BAD_CLAIMS.keys())
def test_a_claim_that_fits_nowhere_is_refused_by_name(case: tuple[ResourceClaimSpec, str]) -> None:
    spec, message = case
    assert refused(spec).message.startswith(message)


@pytest.mark.parametrize("gate", SWITCHED_OFF)
def test_a_feature_that_is_off_is_refused_by_its_name(gate: str) -> None:
    spec, message = SWITCHED_OFF[gate]
    assert refused(spec, Features.of({gate.split(maxsplit=1)[0]: False})).message == message
    assert isinstance(parsed(spec), ParsedClaim)


def test_alternatives_that_no_node_can_serve_are_left_out_and_keep_their_rank() -> None:
    asked = listed(
        DeviceSubRequest("gone", name="a"),
        DeviceSubRequest(GPU_CLASS, name="b", count=33),
        DeviceSubRequest(GPU_CLASS, name="c"),
    )
    (request_,) = parsed(claim_spec(asked)).requests
    assert [(one.name, request_.score_of(one)) for one in request_.alternatives] == [("gpu/c", 6)]


def test_a_claim_whose_alternatives_no_node_can_serve_tells_all_of_them_and_what_could_help() -> None:
    refusal = refused(
        claim_spec(
            listed(
                DeviceSubRequest("gone", name="a"),
                DeviceSubRequest(GPU_CLASS, name="b", count=33),
                DeviceSubRequest("lost", name="c"),
            )
        )
    )
    assert one_line(fold([refusal]), 1) == (
        '0/1 nodes fit: on 1: claim "train" request "gpu/a": there is no DeviceClass "gone" '
        '(claim "train" request "gpu/b": needs 33 devices, a claim holds at most 32; '
        'claim "train" request "gpu/c": there is no DeviceClass "lost")'
    )
    assert refusal.wake == ClusterEvent.CLASSES | ClusterEvent.CLAIMS | ClusterEvent.SLICES


def test_gates_are_switched_by_name_only_where_there_is_something_to_switch() -> None:
    assert Features.of({"DRAListTypeAttributes": True}).gates == ON_BY_DEFAULT | {"DRAListTypeAttributes"}
    with pytest.raises(ValueError, match="unknown feature gate DRAMagic, expected one of DRAAdminAccess, "):
        Features.of({"DRAMagic": True})
    with pytest.raises(ValueError, match="DRAFractionalCapacityRange is always on here"):
        Features.of({"DRAFractionalCapacityRange": False})


def test_a_refusal_says_what_could_help() -> None:
    assert refused(claim_spec(request("gpu", "gone"))).wake == ClusterEvent.CLASSES
    assert refused(claim_spec(request("gpu", "broken"))).wake == ClusterEvent.CLASSES
    assert refused(claim_spec(request("gpu", GPU_CLASS, "nonsense"))).wake == ClusterEvent.CLAIMS


def test_messages_are_one_line() -> None:
    assert "\n" not in refused(claim_spec(request("gpu", "broken"))).message
