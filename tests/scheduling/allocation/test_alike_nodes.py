"""What may pass for the same: nodes, and devices, that differ in what an answer depends on are asked apart."""

import pytest
from msgspec.structs import replace

from dra_builders.values import cel, claim, claim_spec, device, driver_class, node, pod, resource_slice
from dra_scheduling.allocation.pod_claims import ResolvedClaims
from dra_scheduling.basics.features import Features
from dra_scheduling.cluster import Cluster
from dra_scheduling.cluster.pod_refusals import shape_of, usable_claims
from dra_scheduling.fit.evaluate import ClaimDevices, Evaluator
from dra_scheduling.fit.pod_class import PodClass
from dra_scheduling.fit.ranking import Fit, Refused
from dra_scheduling.model.claims import (
    DeviceClaim,
    DeviceConstraint,
    DeviceDerivedAttribute,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
)
from dra_scheduling.model.slices import Device

DRIVER = "gpu.example.com"


def one_sided(side: str, attribute: str) -> DeviceRequest:
    """A request for a device with the attribute, of which it derives the side that it is on."""
    read = f'device.attributes["{DRIVER}"].{attribute}'
    exactly = ExactDeviceRequest(
        device_class_name=DRIVER,
        selectors=cel(f'"{attribute}" in device.attributes["{DRIVER}"]'),
        derived_attributes=(DeviceDerivedAttribute("derived/side", f'"side" + string({read})'),),
    )
    return DeviceRequest(name=side, exactly=exactly)


def looks(cluster: Cluster, asked: ResourceClaimSpec) -> dict[str, bool]:
    """Return whether each node takes a pod with such a claim; one evaluation asks all of them, one after the other."""
    cluster.apply(replace(claim("c"), spec=asked))
    wanted = pod("p", claims={"c": "c"})
    cluster.apply(wanted)
    resolved = usable_claims(cluster, wanted)
    assert isinstance(resolved, ResolvedClaims)
    shape = shape_of(cluster, wanted, resolved)
    assert isinstance(shape, PodClass)
    evaluator = Evaluator(shape, cluster.nodes, ClaimDevices(cluster.pools, cluster.ledger, cluster.classes))
    found = {name: evaluator.look(name) for name in sorted(cluster.nodes)}
    assert all(isinstance(one, Fit | Refused) for one in found.values())
    return {name: isinstance(one, Fit) for name, one in found.items()}


@pytest.mark.parametrize("sides", [(1, 2), (2, 1)])
def test_nodes_whose_devices_agree_otherwise_across_derived_attributes_are_asked_apart(sides: tuple[int, int]) -> None:
    """One pool a node, two attributes: only the values of one beside those of the other tell the nodes apart."""
    cluster = Cluster(features=Features.of({"DRADerivedAttributes": True}))
    cluster.apply(driver_class())
    for number, side in enumerate(sides):
        name = f"n{number}"
        cluster.apply(node(name))
        pair = (device("a", attributes={"left": 1}), device("b", attributes={"right": side}))
        cluster.apply(resource_slice(name, pair, driver=DRIVER, node=name))
    spec = ResourceClaimSpec(
        devices=DeviceClaim(
            requests=(one_sided("l", "left"), one_sided("r", "right")),
            constraints=(DeviceConstraint(match_attribute="derived/side"),),
        )
    )

    assert looks(cluster, spec) == {f"n{number}": side == 1 for number, side in enumerate(sides)}


@pytest.mark.parametrize("is_shared_first", [True, False])
def test_devices_that_only_differ_in_being_shareable_are_asked_apart(is_shared_first: bool) -> None:  # noqa: FBT001
    shared, own = (Device(name=name, allow_multiple_allocations=name == "shared") for name in ("shared", "own"))
    cluster = Cluster()
    cluster.apply(driver_class())
    cluster.apply(node("n"))
    devices = (shared, own) if is_shared_first else (own, shared)
    cluster.apply(resource_slice("n", devices, driver=DRIVER, node="n"))
    request = DeviceRequest(
        name="r",
        exactly=ExactDeviceRequest(
            device_class_name=DRIVER, selectors=cel("!device.allowMultipleAllocations"), count=2
        ),
    )

    assert looks(cluster, claim_spec(request)) == {"n": False}
