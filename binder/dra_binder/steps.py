"""The writes of a bind, one function each. Every one finds out what is there already and adds only what is missing."""

from collections.abc import Callable, Iterable

from dra_binder.allocations import classes_of, devices_of, has_binding_conditions, is_reserved_for, reserved
from dra_binder.conflicts import find_conflict
from dra_binder.plan import Bound, Plan, RegularClaim, special_claim, special_names, standing
from dra_binder.ports import Ports
from dra_binder.prechecks import is_reusable, special_claims, unusable
from dra_binder.settings import BinderSettings
from dra_binder.stops import GiveUp, Retry, Stop
from dra_binder.undo import discard
from dra_kube.errors import ConflictError, MissingError, UnclearError
from dra_kube.retry import Backoff
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import CLAIM_FINALIZER, AllocationResult, ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod

MAX_CONFLICTS = 5
POLLS = Backoff(0.01, 0.32)


async def read_claims(ports: Ports, plan: Plan) -> dict[ObjectKey, ResourceClaim] | GiveUp:
    """Return the regular claims of the plan by key, from the cache where that has them."""
    claims: dict[ObjectKey, ResourceClaim] = {}
    for regular in plan.regular:
        try:
            claims[regular.key] = ports.view.claim(regular.key) or await ports.claims.get(regular.key)
        except MissingError:
            return GiveUp(f"claim {regular.key} does not exist")
    return claims


async def reserve_special(ports: Ports, plan: Plan) -> ResourceClaim | Stop | None:
    """Return the pod's special claim, allocated and reserved; None if the plan has none.

    Special claims that an earlier attempt left and that do not fit this decision are deleted.
    """
    fitting: ResourceClaim | None = None
    for claim in special_claims(plan, ports.view):
        if fitting is None and is_reusable(claim, plan):
            fitting = claim
        else:
            await discard(ports.claims, claim)
    if plan.extended is None:
        return None
    created = fitting or await _create(ports, plan)
    if not isinstance(created, ResourceClaim):
        return created

    def changed(claim: ResourceClaim) -> Retry | None:
        return None if is_reusable(claim, plan) else Retry(f"special claim {claim.key} was changed by somebody else")

    try:
        return await _reserve(ports, created, plan.pod, plan.extended.allocation, changed)
    except MissingError as error:
        return Retry(str(error))


async def reserve_regular(
    ports: Ports, plan: Plan, regular: RegularClaim, claim: ResourceClaim
) -> ResourceClaim | Stop:
    """Return the claim, allocated and with the pod among its consumers; entries of others stay as they are."""
    try:
        return await _reserve(
            ports, claim, plan.pod, regular.allocation, lambda current: unusable(regular, current, plan)
        )
    except MissingError:
        return GiveUp(f"claim {regular.key} does not exist any more")


async def show_in_pod(ports: Ports, request: BindRequest, plan: Plan, claim: ResourceClaim) -> Bound | Stop | None:
    """Name the special claim in the pod's status, if it is not named there already.

    This has to come before the Binding: kubelet may read only claims that the pod names.
    """
    wanted = plan.pod_status(claim)
    if plan.pod.status.extended_resource_claim_status == wanted:
        return None
    try:
        await ports.pods.patch_status(plan.pod, wanted)
    except (MissingError, ConflictError) as error:
        return await _look(ports, request, Retry(str(error)))
    return None


async def show_taken_of_node(
    ports: Ports, request: BindRequest, plan: Plan, special: ResourceClaim | None
) -> Bound | Stop | None:
    """Tell in the pod's status what its devices take of the node, if that is not told there already.

    Like the name of the special claim this is for kubelet, and a former decision's word would mislead it.
    """
    wanted = plan.taken_of_node(special)
    if plan.pod.status.node_allocatable_resource_claim_statuses == wanted:
        return None
    try:
        await ports.pods.patch_taken_of_node(plan.pod, wanted)
    except (MissingError, ConflictError) as error:
        return await _look(ports, request, Retry(str(error)))
    return None


async def settle(ports: Ports, claims: Iterable[ResourceClaim], settings: BinderSettings) -> GiveUp | Retry | None:
    """Return None once the cache shows the claims as written and no other claim holds one of their devices."""
    written = tuple(claims)
    pools = {device.pool_key for claim in written for device in devices_of(claim.status.allocation)}
    if not pools:
        return None
    classes = {name for claim in written for name in classes_of(claim.spec.devices.requests)}
    if ports.view.is_contended(pools, classes):
        await ports.clock.sleep(settings.settle_seconds)
    newest = max(int(claim.metadata.resource_version) for claim in written)
    deadline = ports.clock.elapsed() + settings.patience_seconds
    polls = 0
    while True:
        waited_for = f"the watch of ResourceClaims has not got to resourceVersion {newest} yet"
        if ports.view.progress() >= newest:
            conflict = find_conflict(written, ports.view, settings.scheduler_name)
            if conflict is None:
                return None
            if conflict.is_lost:
                return GiveUp(f"{conflict}, which has precedence")
            waited_for = f"{conflict}, which has to give it back first"
        if ports.clock.elapsed() >= deadline:
            return Retry(waited_for)
        polls += 1
        await ports.clock.sleep(POLLS.pause(polls))


async def bind(ports: Ports, request: BindRequest, plan: Plan) -> Bound | Stop:
    """Bind the pod; after an unclear answer the pod itself says whether it is bound."""
    try:
        await ports.pods.bind(plan.pod, plan.node)
    except (MissingError, ConflictError, UnclearError) as error:
        return await _look(ports, request, Retry(str(error)))
    return Bound(plan.node)


async def read_pod(ports: Ports, key: ObjectKey) -> Pod | None:
    """Return the pod as the server holds it now, None if there is none."""
    try:
        return await ports.pods.get(key)
    except MissingError:
        return None


async def _look(ports: Ports, request: BindRequest, otherwise: Retry) -> Bound | Stop:
    """Return where the pod has got to according to the server, `otherwise` if it still waits."""
    pod = await read_pod(ports, request.pod_key)
    return standing(request, pod) or otherwise


async def _create(ports: Ports, plan: Plan) -> ResourceClaim | Retry:
    pod = plan.pod
    status = pod.status.extended_resource_claim_status
    for name in special_names(pod.metadata.name, pod.metadata.uid, status.resource_claim_name if status else ""):
        claim = await _create_as(ports, plan, name)
        if claim is not None:
            return claim
    return Retry(f"every name for the special claim of pod {pod.key} is taken by another claim")


async def _create_as(ports: Ports, plan: Plan, name: str) -> ResourceClaim | Retry | None:
    """Return the claim of that name, created or found; None if the name is somebody else's."""
    key = ObjectKey(plan.pod.metadata.namespace, name)
    for _ in range(2):
        try:
            return await ports.claims.create(special_claim(plan, name))
        except ConflictError as conflict:
            try:
                found = await ports.claims.get(key)
            except MissingError:
                return Retry(str(conflict))
        if not found.is_special_claim_of(plan.pod.metadata.name, plan.pod.metadata.uid):
            return None
        if is_reusable(found, plan):
            return found
        await discard(ports.claims, found)
    return Retry(f"claim {key} of an earlier attempt is still being deleted")


async def _reserve(
    ports: Ports,
    claim: ResourceClaim,
    pod: Pod,
    allocation: AllocationResult | None,
    check: Callable[[ResourceClaim], Stop | None],
) -> ResourceClaim | Stop:
    """Add finalizer, allocation and consumer as far as they are missing, in this order; look again after a conflict.

    Without its finalizer the claim controller would never take the allocation back.
    """
    current = claim
    for _ in range(MAX_CONFLICTS):
        stop = check(current)
        if stop is not None:
            return stop
        try:
            if CLAIM_FINALIZER not in current.metadata.finalizers:
                finalizers = (*current.metadata.finalizers, CLAIM_FINALIZER)
                current = await ports.claims.replace_finalizers(current, finalizers)
            if not is_reserved_for(current, pod.metadata.uid):
                status = reserved(current, pod, allocation, ports.clock.now())
                current = await ports.claims.replace_status(current, status)
        except ConflictError:
            current = await ports.claims.get(claim.key)
        else:
            return _kept(current, allocation)
    return Retry(f"claim {claim.key} was changed by others {MAX_CONFLICTS} times in a row")


def _kept(claim: ResourceClaim, decided: AllocationResult | None) -> ResourceClaim | GiveUp:
    """Return the claim unless the server has dropped what its pod would have to wait for."""
    if has_binding_conditions(decided) and not has_binding_conditions(claim.status.allocation):
        return GiveUp(
            f"claim {claim.key} is allocated without the binding conditions of its devices, "
            "as where the feature gate DRADeviceBindingConditions is off"
        )
    return claim
