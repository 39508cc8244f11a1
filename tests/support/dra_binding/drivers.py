"""What a driver does that has to make devices ready (KEP-5007), and binds of such devices."""

from collections.abc import Callable

import msgspec

from dra_binder.allocations import devices_of
from dra_binding.server import InMemoryServer
from dra_binding.world import POD, SPECIAL_REQUEST, World, allocation, bind_request, special
from dra_builders.values import claim, pod, request
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import AllocatedDeviceStatus, AllocationResult, DeviceCondition, ResourceClaim

ATTACHED, BROKEN = "example.com/attached", "example.com/broken"


def prepared(value: AllocationResult) -> AllocationResult:
    """The allocation, of devices that have to be attached first."""
    results = tuple(
        msgspec.structs.replace(one, binding_conditions=(ATTACHED,), binding_failure_conditions=(BROKEN,))
        for one in value.devices.results
    )
    return msgspec.structs.replace(value, devices=msgspec.structs.replace(value.devices, results=results))


def add_waiting(world: World, name: str = POD, claim_name: str = "prepared") -> BindRequest:
    """Add a pod that uses a named claim; its device (`gpu-0`) has to be attached."""
    if not any(one.metadata.name == claim_name for one in world.server.all(ResourceClaim)):
        world.server.put(claim(claim_name, request()))
    owner = world.server.put(pod(name, claims={"gpu": claim_name}))
    return world.server.put(bind_request(owner, claims={"gpu": prepared(allocation("gpu-0"))}))


def add_waiting_special(world: World, name: str = POD) -> BindRequest:
    """Add a pod with an extended resource, whose device (`gpu-1`) has to be attached."""
    extended = special("gpu-1")
    extended = msgspec.structs.replace(extended, allocation=prepared(allocation("gpu-1", request_name=SPECIAL_REQUEST)))
    owner = world.server.put(pod(name))
    return world.server.put(bind_request(owner, extended=extended))


def say(server: InMemoryServer, condition: str, status: str = "True") -> None:
    """Let the driver say this of every device that is allocated, as often as it is asked."""
    for value in server.all(ResourceClaim):
        said = tuple(
            AllocatedDeviceStatus(
                driver=device.driver,
                pool=device.pool,
                device=device.device,
                conditions=(DeviceCondition(type=condition, status=status, reason="Said", message="by the test"),),
            )
            for device in devices_of(value.status.allocation)
        )
        if said and said != value.status.devices:
            server.put(msgspec.structs.replace(value, status=msgspec.structs.replace(value.status, devices=said)))


def later(world: World, seconds: float, action: Callable[[], None]) -> None:
    """Let something happen at that second, or as soon as a bind waits after it."""
    world.server.later.append((seconds, action))
    world.server.later.sort(key=lambda one: one[0])


def attach_later(world: World, seconds: float = 30.0) -> None:
    """Let the driver attach everything at that second."""
    later(world, seconds, lambda: say(world.server, ATTACHED))
