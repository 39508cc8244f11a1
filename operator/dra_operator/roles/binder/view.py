"""What the binder wants to know about the cluster at a glance (`dra_binder.ports.View`), kept up to date by events."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator

from dra_binder.allocations import consumer_keys, devices_of
from dra_binder.ports import Account, Draw, Presence
from dra_operator.roles.binder.accounts import Accounts
from dra_operator.roles.binder.rivals import Rivals
from dra_operator.watch.cache import Cache
from dra_operator.watch.inverted_index import InvertedIndex, T
from dra_scheduling.basics.features import DEFAULT_FEATURES, Features
from dra_scheduling.basics.requirements import matches
from dra_scheduling.devices import INCOMPLETE, NodePlace, PoolIndex, PoolProblem
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import AllocationResult, ResourceClaim
from dra_scheduling.model.ids import DeviceID, ObjectKey, PoolKey
from dra_scheduling.model.node_selectors import NodeSelector
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.wire import KubernetesObject

CONTENDED_SECONDS = 600.0
MAX_REMEMBERED = 10_000


class ClusterView:
    """Implements `dra_binder.ports.View` over the cache. `progress` returns how far the watch of claims got."""

    def __init__(
        self,
        cache: Cache,
        *,
        scheduler_name: str,
        progress: Callable[[], int],
        clock: Callable[[], float],
        features: Features = DEFAULT_FEATURES,
    ) -> None:
        self._cache = cache
        self.scheduler_name = scheduler_name
        self._progress = progress
        self._clock = clock
        self._pools = PoolIndex(features)
        self._accounts = Accounts(self._pools)
        self._claims_by_device: InvertedIndex[DeviceID] = InvertedIndex()
        self._claims_by_pod: InvertedIndex[str] = InvertedIndex()
        self._requests_by_device: InvertedIndex[DeviceID] = InvertedIndex()
        self._requests_by_pod: InvertedIndex[str] = InvertedIndex()
        self._unjudged: dict[ObjectKey, float] = {}
        self._contended: dict[PoolKey, float] = {}
        # Pods of ours that went: their claims outlive them for a while, and are no sign of another scheduler.
        self._gone: OrderedDict[str, None] = OrderedDict()
        self._rivals = Rivals(cache, scheduler_name)

    def changed(self, value: KubernetesObject) -> None:
        """Take note of an object that is in the cache."""
        self._rivals.changed(value)
        match value:
            case ResourceClaim():
                self._claim_changed(value)
            case BindRequest():
                self._requests_by_device.set(value.key, _asked_for(value))
                self._requests_by_pod.set(value.key, (value.pod_uid,))
            case ResourceSlice():
                self._pools.apply(value)
            case Node():
                self._pools.forget_node(value.name)
            case _:
                pass

    def removed(self, value: KubernetesObject) -> None:
        """Take note of an object that has left the cache."""
        self._rivals.removed(value)
        match value:
            case ResourceClaim():
                self._claims_by_device.set(value.key, ())
                self._claims_by_pod.set(value.key, ())
            case BindRequest():
                self._requests_by_device.set(value.key, ())
                self._requests_by_pod.set(value.key, ())
            case ResourceSlice():
                self._pools.remove(value.metadata.name)
            case Node():
                self._pools.forget_node(value.name)
            case Pod() if value.spec.scheduler_name == self.scheduler_name:
                self._remember(value.metadata.uid)
            case _:
                pass

    def devices_taken(self) -> int:
        """Return how many devices are in claims."""
        return len(self._claims_by_device)

    def bind_request(self, key: ObjectKey) -> BindRequest | None:
        """Return the BindRequest."""
        return self._cache.get(BindRequest, key)

    def bind_requests_holding(self, device: DeviceID) -> Iterator[BindRequest]:
        """Yield the BindRequests that name the device and have neither succeeded nor failed."""
        return self._requests_in(self._requests_by_device, device)

    def bind_requests(self) -> Iterator[BindRequest]:
        """Yield all BindRequests."""
        return self._cache.of_kind(BindRequest)

    def claims(self) -> Iterator[ResourceClaim]:
        """Yield all claims."""
        return self._cache.of_kind(ResourceClaim)

    def bind_requests_of_pod(self, uid: str) -> Iterator[BindRequest]:
        """Yield the BindRequests that mean this pod, whatever became of them."""
        return self._requests_in(self._requests_by_pod, uid)

    def claim(self, key: ObjectKey) -> ResourceClaim | None:
        """Return the claim."""
        return self._cache.get(ResourceClaim, key)

    def claims_holding(self, device: DeviceID) -> Iterator[ResourceClaim]:
        """Yield the claims whose allocation names the device."""
        return self._claims_in(self._claims_by_device, device)

    def draws(self, allocation: AllocationResult) -> Iterator[Draw]:
        """Yield what the allocation draws from amounts that claims share, as far as its devices are published."""
        return self._accounts.draws(allocation)

    def limit(self, account: Account) -> int | None:
        """Return how much there is to be drawn; None where that is not published."""
        return self._accounts.limit(account)

    def claims_drawing(self, account: Account) -> Iterator[ResourceClaim]:
        """Yield the claims that may draw from the account, one of several devices more than once."""
        for device in self._accounts.drawers(account):
            yield from self.claims_holding(device)

    def claims_of_pod(self, uid: str) -> Iterator[ResourceClaim]:
        """Yield the claims that this pod controls or is in reservedFor of."""
        return self._claims_in(self._claims_by_pod, uid)

    def pods_of_claim(self, key: ObjectKey) -> frozenset[str]:
        """Return the UIDs of the pods that control the claim or are in its reservedFor."""
        return self._claims_by_pod.terms(key)

    def pod(self, key: ObjectKey) -> Pod | None:
        """Return the pod of that name, whatever its UID."""
        return self._cache.get(Pod, key)

    def node(self, name: str) -> Node | None:
        """Return the node."""
        return self._cache.get(Node, ObjectKey("", name))

    def matches(self, selector: NodeSelector, node: str) -> bool:
        """Whether the node is known and the selector of an allocation takes it in."""
        known = self.node(node)
        return known is not None and matches(selector, known.name, known.metadata.labels)

    def presence(self, device: DeviceID, node: str) -> Presence:
        """Return whether the device is published and reachable from the node."""
        if self._pools.device(device) is None:
            problem = self.pool_problem(device.pool_key)
            is_updating = problem is not None and problem.reason == INCOMPLETE
            return Presence.UPDATING if is_updating else Presence.ABSENT
        place = self.node(node)
        if place is None or not self._pools.is_reachable(device, NodePlace(place.name, place.metadata.labels)):
            return Presence.ELSEWHERE
        return Presence.REACHABLE

    def pool_problem(self, key: PoolKey) -> PoolProblem | None:
        """Return why a pool hands out no devices, None where it does."""
        return self._pools.problem(key)

    def progress(self) -> int:
        """Return the resourceVersion up to which ResourceClaims were seen."""
        return self._progress()

    def is_contended(self, pools: Iterable[PoolKey], classes: Iterable[str]) -> bool:
        """Whether another scheduler has lately taken devices of one of the pools, or waits for some of the classes."""
        # Only now, because a claim may be seen before its pod is.
        while self._unjudged:
            self._judge(*self._unjudged.popitem())
        since = self._clock() - CONTENDED_SECONDS
        return any(self._contended.get(pool, since) > since for pool in pools) or any(map(self._rivals.want, classes))

    def _requests_in(self, index: InvertedIndex[T], term: T) -> Iterator[BindRequest]:
        for key in index.keys_with(term):
            if (value := self._cache.get(BindRequest, key)) is not None:
                yield value

    def _claims_in(self, index: InvertedIndex[T], term: T) -> Iterator[ResourceClaim]:
        for key in index.keys_with(term):
            if (value := self._cache.get(ResourceClaim, key)) is not None:
                yield value

    def _claim_changed(self, claim: ResourceClaim) -> None:
        devices = devices_of(claim.status.allocation)
        if self._claims_by_device.set(claim.key, devices) and devices:
            self._unjudged[claim.key] = self._clock()
        self._claims_by_pod.set(claim.key, (uid for _, uid in consumer_keys(claim)))

    def _judge(self, key: ObjectKey, taken: float) -> None:
        claim = self.claim(key)
        if claim is not None and not all(self._is_ours(pod, uid) for pod, uid in consumer_keys(claim)):
            self._contended.update((device.pool_key, taken) for device in devices_of(claim.status.allocation))

    def _remember(self, uid: str) -> None:
        self._gone[uid] = None
        if len(self._gone) > MAX_REMEMBERED:
            self._gone.popitem(last=False)

    def _is_ours(self, key: ObjectKey, uid: str) -> bool:
        if uid in self._gone:
            return True
        pod = self.pod(key)
        return pod is not None and pod.metadata.uid == uid and pod.spec.scheduler_name == self.scheduler_name


def _asked_for(request: BindRequest) -> Iterator[DeviceID]:
    if request.has_ended:
        return
    for claim in request.spec.resource_claim_allocations:
        yield from devices_of(claim.allocation)
    extended = request.spec.extended_resource_claim_allocation
    if extended is not None:
        yield from devices_of(extended.allocation)
