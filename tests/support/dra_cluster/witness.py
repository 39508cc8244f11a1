"""What must be true of any cluster: at every moment, and once everything has come to rest."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator

from dra_cluster.mirror import BIND_REQUESTS, CLAIMS, PODS, Mirror
from dra_controlplane.client import Json

Device = tuple[str, str, str]

SPECIAL = "resource.kubernetes.io/extended-resource-claim"
ENDED = ("Succeeded", "Failed")
# How claims of pods begin that are another scheduler's.
THEIRS = "theirs"


class Witness:
    """Sees every change of every claim, and remembers each time that a device was in two of them."""

    def __init__(self, mirror: Mirror) -> None:
        self._devices: dict[str, frozenset[Device]] = {}
        self._names: dict[str, str] = {}
        self._holders: defaultdict[Device, set[str]] = defaultdict(set)
        self._seen: list[tuple[Device, str]] = []
        mirror.listen(CLAIMS, self._observe)

    def violations(self, driver: str) -> list[str]:
        """A line for each time that a device of the driver came to be in a second claim."""
        return [line for device, line in self._seen if device[0] == driver]

    def shared_now(self, driver: str) -> list[str]:
        """A line for each device of the driver that is in two claims at present, one of them ours.

        Where one of two claims lets go of a device, kube-scheduler takes it for free and may give it out again.
        """
        return [
            f"{'/'.join(device)} is in {self._named(uids)}"
            for device, uids in sorted(self._holders.items())
            if device[0] == driver and len(uids) > 1 and not all(map(self._is_theirs, uids))
        ]

    def held_now(self, driver: str) -> int:
        """How many devices of the driver are in claims at present."""
        return sum(bool(uids) for device, uids in list(self._holders.items()) if device[0] == driver)

    def _observe(self, event: str, claim: Json) -> None:
        uid = claim["metadata"]["uid"]
        after = frozenset() if event == "DELETED" else frozenset(exclusive_devices(claim))
        before = self._devices.get(uid, frozenset())
        self._names[uid] = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
        self._devices[uid] = after
        for device in before - after:
            self._holders[device].discard(uid)
        for device in after - before:
            self._holders[device].add(uid)
            if len(self._holders[device]) > 1:
                self._seen.append((device, f"{'/'.join(device)} was in {self._named(self._holders[device])}"))

    def _is_theirs(self, uid: str) -> bool:
        return self._names[uid].partition("/")[2].startswith(THEIRS)

    def _named(self, uids: Iterable[str]) -> str:
        return " and ".join(sorted(self._names[uid] for uid in uids))


def exclusive_devices(claim: Json) -> Iterator[Device]:
    """The devices that nobody else may have while this claim is allocated."""
    for result in _results((claim.get("status") or {}).get("allocation")):
        if not result.get("shareID"):
            yield _device(result)


def devices_taken(mirror: Mirror) -> int:
    """How many devices claims and unfinished BindRequests hold, counted from nothing but the API."""
    allocations = ((claim.get("status") or {}).get("allocation") for claim in mirror.items(CLAIMS))
    taken = {_device(result) for allocation in allocations for result in _results(allocation)}
    pods = {pod["metadata"]["uid"] for pod in mirror.items(PODS)}
    for request in mirror.items(BIND_REQUESTS):
        if is_open(request, pods):
            taken.update(promised_devices(request))
    return len(taken)


def is_open(request: Json, pods: Container[str]) -> bool:
    """Whether somebody has to act on a BindRequest: without its pod it is garbage, which Kubernetes collects."""
    return phase_of(request) not in ENDED and request["spec"].get("podUID") in pods


def promised_devices(request: Json) -> Iterator[Device]:
    """The devices that a BindRequest gives out."""
    spec = request["spec"]
    for entry in spec.get("resourceClaimAllocations") or ():
        yield from map(_device, _results(entry.get("allocation")))
    yield from map(_device, _results((spec.get("extendedResourceClaimAllocation") or {}).get("allocation")))


def phase_of(request: Json) -> str:
    """How a BindRequest ended, empty while it has not."""
    return str((request.get("status") or {}).get("phase") or "")


def leftovers(mirror: Mirror, namespace: str) -> list[str]:
    """A line for whatever no bind may leave behind in a namespace.

    That is: a BindRequest that has not ended, a special claim that no bound pod names, a reservation for a pod that is
    not bound, an allocation without a consumer.
    """
    pods = {pod["metadata"]["uid"]: pod for pod in mirror.items(PODS, namespace)}
    bound = {uid: pod for uid, pod in pods.items() if pod["spec"].get("nodeName")}
    lines = [
        f"BindRequest {request['metadata']['name']} has not ended: {request.get('status')}"
        for request in mirror.items(BIND_REQUESTS, namespace)
        if is_open(request, pods)
    ]
    for claim in mirror.items(CLAIMS, namespace):
        lines.extend(_of_claim(claim, bound))
    return lines


def _of_claim(claim: Json, bound: dict[str, Json]) -> Iterator[str]:
    metadata, status = claim["metadata"], claim.get("status") or {}
    name, consumers = metadata["name"], status.get("reservedFor") or []
    for consumer in consumers:
        if consumer["uid"] not in bound:
            yield f"claim {name} is reserved for {consumer['name']}, which is not bound"
    if status.get("allocation") and not consumers:
        yield f"claim {name} is allocated, and nobody consumes it"
    if (metadata.get("annotations") or {}).get(SPECIAL) == "true":
        owners = [owner["uid"] for owner in metadata.get("ownerReferences") or ()]
        named = [named_special_claim(bound[uid]) for uid in owners if uid in bound]
        if named != [name]:
            yield f"special claim {name} is not the one that its pod names: {named}"


def named_special_claim(pod: Json) -> str:
    """The special claim that a pod's status names."""
    status = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    return str(status.get("resourceClaimName") or "")


def _results(allocation: Json | None) -> Iterator[Json]:
    for result in ((allocation or {}).get("devices") or {}).get("results") or ():
        if not result.get("adminAccess"):
            yield result


def _device(result: Json) -> Device:
    return result["driver"], result["pool"], result["device"]
