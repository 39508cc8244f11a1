"""What was decided, held against what a case expects; and what must be true of any decision."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from dra_cases.case import Expectation, ExpectedAssignment, ExpectedPending, full_name
from dra_scheduling.basics.reasons import FoldedReason
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import AllocationResult, ResourceClaim
from dra_scheduling.model.ids import DeviceID, ObjectKey
from dra_scheduling.model.pod_claim_names import claim_key
from dra_scheduling.model.pods import Pod
from dra_scheduling.wire import KubernetesObject, read_as, write

Plain = Mapping[str, object]


class Pending(msgspec.Struct, frozen=True):
    """A pod that stays. `reasons` is None where nobody can know them, as on an API server."""

    pod: str
    message: str
    reasons: tuple[FoldedReason, ...] | None = None


class Decisions(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one cycle, by `namespace/name` of the pod."""

    bind_requests: Mapping[str, BindRequest]
    pending: Mapping[str, Pending]
    steps: int = 0

    @staticmethod
    def of_result(result: Plain) -> "Decisions":
        """Return the decisions in the JSON that `dra simulate -o json` prints."""
        shape = msgspec.convert(result, _Result)
        requests = (read_as(BindRequest, request) for request in shape.bind_requests)
        return Decisions(
            bind_requests={str(_pod_key(request)): request for request in requests},
            pending={entry.pod: entry for entry in shape.pending},
            steps=shape.stats["searchSteps"],
        )


class _Result(msgspec.Struct, frozen=True, rename="camel"):
    bind_requests: list[dict[str, object]]
    pending: list[Pending]
    stats: dict[str, int]


def differences(expected: Expectation, decisions: Decisions) -> list[str]:
    """Return a line for each thing that is not as the case expects it."""
    return list(_differences(expected, decisions))


def faults(objects: Iterable[KubernetesObject], decisions: Decisions) -> list[str]:
    """Return what must be true of no decision about these objects.

    A device is in two claims, or the requests, results and mappings of a special claim do not name each other.
    """
    claims = _claims_with_devices(objects, decisions)
    holders: defaultdict[DeviceID, list[str]] = defaultdict(list)
    for claim, devices in sorted(claims.items()):
        for device in devices:
            holders[device].append(claim)
    twice = [f"{device} is in {' and '.join(names)}" for device, names in sorted(holders.items()) if len(names) > 1]
    return twice + [
        line for pod, request in sorted(decisions.bind_requests.items()) for line in _strangers(pod, request)
    ]


def _differences(expected: Expectation, decisions: Decisions) -> Iterator[str]:
    assignments = {full_name(pod): value for pod, value in expected.assignments.items()}
    pending = {full_name(pod): value for pod, value in expected.pending.items()}
    for pod in sorted(assignments.keys() | decisions.bind_requests.keys() | pending.keys() | decisions.pending.keys()):
        if pod in assignments and pod in decisions.bind_requests:
            yield from (f"{pod}: {line}" for line in _of_assignment(assignments[pod], decisions.bind_requests[pod]))
        elif pod in pending and pod in decisions.pending:
            yield from (f"{pod}: {line}" for line in _of_pending(pending[pod], decisions.pending[pod]))
        else:
            expectation = "assigned" if pod in assignments else "pending" if pod in pending else "left alone"
            yield f"{pod}: expected to be {expectation}, got {_got(pod, decisions)}"
    if decisions.steps > expected.most_steps:
        yield f"expected at most {expected.most_steps} search steps, got {decisions.steps}"


def _got(pod: str, decisions: Decisions) -> str:
    if pod in decisions.bind_requests:
        return f"node {decisions.bind_requests[pod].spec.selected_node}"
    return f"pending: {decisions.pending[pod].message}" if pod in decisions.pending else "nothing"


def _of_assignment(expected: ExpectedAssignment, request: BindRequest) -> Iterator[str]:
    spec = request.spec
    nodes = (expected.node,) if isinstance(expected.node, str) else expected.node
    if spec.selected_node not in nodes:
        yield f"expected node {' or '.join(nodes)}, got {spec.selected_node}"
    claims = {claim.name: _devices(claim.allocation) for claim in spec.resource_claim_allocations}
    for name in sorted(expected.devices.keys() | claims.keys()):
        yield from _of_devices(f"claim {name}", expected.devices.get(name, 0), claims.get(name, []))
    special = spec.extended_resource_claim_allocation
    yield from _of_devices("extended", expected.extended, [] if special is None else _devices(special.allocation))
    yield from _missing(expected.bind_request, write(request), "$")


def _of_devices(what: str, expected: int | tuple[str, ...], devices: list[DeviceID]) -> Iterator[str]:
    got = sorted(map(str, devices))
    if isinstance(expected, int):
        if len(got) != expected:
            yield f"{what}: expected {expected} devices, got {', '.join(got) or 'none'}"
    elif sorted(expected) != got:
        yield f"{what}: expected {', '.join(expected)}, got {', '.join(got) or 'none'}"


def _missing(expected: object, got: object, path: str) -> Iterator[str]:
    """Yield what of `expected` is not in `got`: mappings may hold more than expected, everything else must be equal."""
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        for key, value in expected.items():
            yield from _missing(value, got.get(key), f"{path}.{key}")
    elif isinstance(expected, Sequence) and isinstance(got, Sequence) and not isinstance(expected, str):
        if len(expected) != len(got):
            yield f"{path}: expected {len(expected)} entries, got {got}"
        for number, (one, other) in enumerate(zip(expected, got, strict=False)):
            yield from _missing(one, other, f"{path}[{number}]")
    elif expected != got:
        yield f"{path}: expected {expected!r}, got {got!r}"


def _of_pending(expected: ExpectedPending, got: Pending) -> Iterator[str]:
    for text in (expected.message,) if isinstance(expected.message, str) else expected.message:
        if text not in got.message:
            yield f"expected a message with {text!r}, got {got.message!r}"
    if "\n" in got.message:
        yield f"expected a message of one line, got {got.message!r}"
    if expected.reasons and got.reasons is not None:
        reasons: Counter[str] = Counter()
        for reason in got.reasons:
            reasons[reason.reason] += reason.nodes
        if dict(reasons) != expected.reasons:
            yield f"expected reasons {expected.reasons}, got {dict(reasons)}: {got.message!r}"


def _claims_with_devices(objects: Iterable[KubernetesObject], decisions: Decisions) -> dict[str, set[DeviceID]]:
    """Return what every claim has for itself: claims that there were, and those that the decisions give devices to."""
    claims: defaultdict[str, set[DeviceID]] = defaultdict(set)
    pods: dict[ObjectKey, Pod] = {}
    for value in objects:
        if isinstance(value, ResourceClaim):
            claims[str(value.key)].update(_exclusive(value.status.allocation))
        elif isinstance(value, Pod):
            pods[value.key] = value
    for request in decisions.bind_requests.values():
        pod = pods[_pod_key(request)]
        for entry in request.spec.resource_claim_allocations:
            claims[str(claim_key(pod, entry.name))].update(_exclusive(entry.allocation))
        special = request.spec.extended_resource_claim_allocation
        if special is not None:
            claims[f"the extended resources of {pod.key}"].update(_exclusive(special.allocation))
    return claims


def _exclusive(allocation: AllocationResult | None) -> list[DeviceID]:
    """Return the devices that nobody else may have: neither shares, nor what is only looked at with admin access."""
    results = allocation.devices.results if allocation is not None else ()
    return [result.device_id for result in results if not result.admin_access and result.share_id is None]


def _strangers(pod: str, request: BindRequest) -> Iterator[str]:
    special = request.spec.extended_resource_claim_allocation
    if special is None:
        return
    asked = {wanted.name for wanted in special.device_requests}
    served = {result.request for result in special.allocation.devices.results}
    mapped = {mapping.request_name for mapping in special.container_mappings}
    if not asked == served == mapped:
        yield f"{pod}: asks for {sorted(asked)}, is served {sorted(served)}, and maps {sorted(mapped)}"


def _devices(allocation: AllocationResult | None) -> list[DeviceID]:
    results = () if allocation is None else allocation.devices.results
    return [result.device_id for result in results]


def _pod_key(request: BindRequest) -> ObjectKey:
    return ObjectKey(request.metadata.namespace, request.spec.pod_name)
