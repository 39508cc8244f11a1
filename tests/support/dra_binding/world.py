"""One node, one pod that wants a template claim and two extended resource devices, one BindRequest; and restarts."""

import msgspec
import structlog

from dra_binder.allocations import devices_of
from dra_binder.binder import Binder, Ending
from dra_binder.settings import BinderSettings
from dra_binder.sweep import sweep
from dra_binding.fake_ports import InMemoryReport, InMemoryView, in_memory_ports
from dra_binding.faults import Crash, FaultRule
from dra_binding.server import InMemoryServer
from dra_builders.values import claim, node, on_node, pod, request, reserved_for, templated_pod
from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.bindrequests import (
    BindRequest,
    BindRequestSpec,
    ExtendedResourceClaimAllocation,
    ResourceClaimAllocation,
)
from dra_scheduling.model.claims import (
    CLAIM_FINALIZER,
    EXTENDED_CLAIM_ANNOTATION,
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
)
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.pods import ContainerExtendedResourceRequest, Pod, PodExtendedResourceClaimStatus

NAMESPACE = "default"
DRIVER = "gpu.example.com"
NODE = "n1"
POD = "trainer-0"
GENERATED = "trainer-0-gpu-x7k2p"
SPECIAL_REQUEST = "container-0-request-0"
LOG = structlog.get_logger()


def device(name: str, pool: str = NODE) -> DeviceID:
    return DeviceID(DRIVER, pool, name)


def allocation(*names: str, request_name: str = "gpu", node_name: str = NODE) -> AllocationResult:
    """The named devices of the node's pool, for one request."""
    results = tuple(
        DeviceRequestAllocationResult(request=request_name, driver=DRIVER, pool=node_name, device=name)
        for name in names
    )
    return AllocationResult(devices=DeviceAllocationResult(results=results), node_selector=on_node(node_name))


def special(*names: str) -> ExtendedResourceClaimAllocation:
    """The devices of an extended resource claim, and that container `main` gets them."""
    mapping = ContainerExtendedResourceRequest(
        container_name="main", resource_name="example.com/gpu", request_name=SPECIAL_REQUEST
    )
    return ExtendedResourceClaimAllocation(
        allocation=allocation(*names, request_name=SPECIAL_REQUEST),
        device_requests=(request(SPECIAL_REQUEST, count=len(names)),),
        container_mappings=(mapping,),
    )


def bind_request(
    owner: Pod,
    *,
    claims: dict[str, AllocationResult] | None = None,
    extended: ExtendedResourceClaimAllocation | None = None,
    node_name: str = NODE,
    backoff_limit: int | None = None,
) -> BindRequest:
    """A BindRequest called like its pod and owned by it, as the scheduler writes it."""
    meta = owner.metadata
    return BindRequest(
        metadata=ObjectMeta(
            name=meta.name,
            namespace=meta.namespace,
            generation=1,
            owner_references=(OwnerReference(api_version="v1", kind="Pod", name=meta.name, uid=meta.uid),),
        ),
        spec=BindRequestSpec(
            pod_name=meta.name,
            selected_node=node_name,
            pod_uid=meta.uid,
            resource_claim_allocations=tuple(
                ResourceClaimAllocation(name=name, allocation=value) for name, value in (claims or {}).items()
            ),
            extended_resource_claim_allocation=extended,
            backoff_limit=backoff_limit,
        ),
    )


class World:
    """An API server in memory and the binder process that runs against it."""

    def __init__(self, *rules: FaultRule, lag: float = 0.0) -> None:
        self.server = InMemoryServer(*rules)
        self.report = InMemoryReport()
        self.settings = BinderSettings()
        self.server.put(node(NODE))
        self.lag = lag
        self.start()

    def start(self) -> None:
        """Start a process: all that is left of an earlier one is on the server."""
        self.view = InMemoryView(self.server, self.lag)
        self.ports = in_memory_ports(self.server, self.view, self.report)
        self.binder = Binder(self.ports, self.settings)

    def add_both_kinds(self, name: str = POD) -> BindRequest:
        """Add a pod that wants a template claim (`gpu-0`) and two extended devices (`gpu-1`, `gpu-2`)."""
        owner = self.server.put(templated_pod(name, claims={"gpu": GENERATED}))
        self.server.put(claim(GENERATED, request(), owner=owner))
        return self.server.put(
            bind_request(owner, claims={"gpu": allocation("gpu-0")}, extended=special("gpu-1", "gpu-2"))
        )

    def add_extended(self, name: str = POD, *devices: str) -> BindRequest:
        """Add a pod that wants extended devices only."""
        owner = self.server.put(pod(name))
        return self.server.put(bind_request(owner, extended=special(*(devices or ("gpu-1",)))))

    def add_shared(self, name: str, claim_name: str = "shared") -> BindRequest:
        """Add a pod that uses a named claim (`gpu-0`)."""
        owner = self.server.put(pod(name, claims={"gpu": claim_name}))
        return self.server.put(bind_request(owner, claims={"gpu": allocation("gpu-0")}))

    def add_neighbour(self, name: str, claim_name: str = "shared") -> None:
        """Add a pod that runs already and a named claim (`gpu-0`) that it uses."""
        neighbour = self.server.put(pod(name, claims={"gpu": claim_name}, node_name=NODE))
        bare = claim(claim_name, request())
        status = ResourceClaimStatus(allocation=allocation("gpu-0"), reserved_for=(reserved_for(neighbour),))
        self.server.put(msgspec.structs.replace(bare, status=status))

    async def run(self, value: BindRequest) -> Ending:
        """Let the running process carry the BindRequest out."""
        return await self.binder.run(self.request(value), LOG)

    async def run_with_restarts(self, value: BindRequest) -> None:
        """Run the BindRequest in a new process, and after a crash let another one finish what it finds."""
        self.start()
        try:
            await self.binder.run(value, LOG)
        except Crash:
            await self.restart()

    async def restart(self) -> None:
        """Start a process and let it finish everything, through as many crashes as there are."""
        self.start()
        remains = sweep(
            self.server.all(BindRequest),
            self.server.all(ResourceClaim),
            {one.key: one for one in self.server.all(Pod)},
            self.settings.scheduler_name,
        )
        try:
            for leftover in remains.leftovers:
                await self.binder.clean(leftover, LOG)
            for value in remains.bind_requests:
                await self.binder.run(value, LOG)
        except Crash:
            await self.restart()

    def pod(self, name: str = POD) -> Pod:
        found = self.server.find(Pod, ObjectKey(NAMESPACE, name))
        assert found is not None
        return found

    def claim(self, name: str) -> ResourceClaim:
        found = self.server.find(ResourceClaim, ObjectKey(NAMESPACE, name))
        assert found is not None
        return found

    def request(self, value: BindRequest) -> BindRequest:
        return self.server.find(BindRequest, value.key) or value

    def special_claims(self, name: str = POD) -> tuple[ResourceClaim, ...]:
        uid = self.pod(name).metadata.uid
        return tuple(one for one in self.server.all(ResourceClaim) if one.is_special_claim_of(name, uid))

    def held(self) -> list[DeviceID]:
        """Every device of every claim, as often as it is held."""
        return sorted(one for value in self.server.all(ResourceClaim) for one in devices_of(value.status.allocation))

    def consumers(self, name: str) -> list[str]:
        return [consumer.name for consumer in self.claim(name).status.reserved_for]

    def verbs(self) -> list[str]:
        """The writes so far without the objects' names."""
        return [action.rpartition(" ")[0] for action in self.server.writes]

    def delete_pod(self, name: str = POD) -> None:
        self.server.remove(Pod, ObjectKey(NAMESPACE, name))

    def bind_pod(self, name: str = POD, node_name: str = NODE) -> None:
        """Let somebody else bind the pod."""
        spec = msgspec.structs.replace(self.pod(name).spec, node_name=node_name)
        self.server.put(msgspec.structs.replace(self.pod(name), spec=spec))

    def name_in_status(self, claim_name: str, name: str = POD) -> None:
        """Let the pod's status name a special claim, as an earlier attempt leaves it for good."""
        before = self.pod(name)
        extended = PodExtendedResourceClaimStatus(resource_claim_name=claim_name)
        status = msgspec.structs.replace(before.status, extended_resource_claim_status=extended)
        self.server.put(msgspec.structs.replace(before, status=status))

    def add_stale(self, name: str, *, held: AllocationResult | None = None, uid: str = "") -> ResourceClaim:
        """Add a special claim of the pod (or of one of its name with another UID) that an earlier attempt left."""
        owner = self.pod()
        former = msgspec.structs.replace(owner, metadata=msgspec.structs.replace(owner.metadata, uid=uid))
        bare = claim(name, request(SPECIAL_REQUEST, count=2), owner=former if uid else owner)
        metadata = msgspec.structs.replace(
            bare.metadata, annotations={EXTENDED_CLAIM_ANNOTATION: "true"}, finalizers=(CLAIM_FINALIZER,)
        )
        consumers = (reserved_for(owner),) if held else ()
        status = ResourceClaimStatus(allocation=held, reserved_for=consumers)
        return self.server.put(msgspec.structs.replace(bare, metadata=metadata, status=status))
