"""Other schedulers whose pods wait for devices: before long they may give out the same ones as this scheduler."""

from collections.abc import Iterator

from dra_binder.allocations import classes_of
from dra_operator.watch.cache import Cache
from dra_operator.watch.inverted_index import InvertedIndex
from dra_scheduling.extended_resources.resource_names import implicit_name, is_extended_name
from dra_scheduling.model.claims import ResourceClaim, ResourceClaimTemplate
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pod_claim_names import claim_keys
from dra_scheduling.model.pods import Pod
from dra_scheduling.model.slices import DeviceClass
from dra_scheduling.wire import KubernetesObject, key_of


class Rivals:
    """Knows which DeviceClasses unbound pods of other schedulers want devices of."""

    def __init__(self, cache: Cache, scheduler_name: str) -> None:
        self._cache = cache
        self._scheduler_name = scheduler_name
        self._pods_by_claim: InvertedIndex[ObjectKey] = InvertedIndex()
        self._pods_by_template: InvertedIndex[ObjectKey] = InvertedIndex()
        self._pods_by_resource: InvertedIndex[str] = InvertedIndex()
        self._claims_by_class: InvertedIndex[str] = InvertedIndex()
        self._templates_by_class: InvertedIndex[str] = InvertedIndex()

    def changed(self, value: KubernetesObject) -> None:
        """Take note of an object that is in the cache."""
        match value:
            case Pod():
                self._pod_changed(value)
            case ResourceClaim():
                is_open = value.status.allocation is None
                self._claims_by_class.set(value.key, classes_of(value.spec.devices.requests) if is_open else ())
            case ResourceClaimTemplate():
                self._templates_by_class.set(key_of(value), classes_of(value.spec.spec.devices.requests))
            case _:
                pass

    def removed(self, value: KubernetesObject) -> None:
        """Take note of an object that has left the cache."""
        match value:
            case Pod():
                self._forget(value.key)
            case ResourceClaim():
                self._claims_by_class.set(value.key, ())
            case ResourceClaimTemplate():
                self._templates_by_class.set(key_of(value), ())
            case _:
                pass

    def want(self, class_name: str) -> bool:
        """Whether a pod of another scheduler waits for devices of the class."""
        found = self._cache.get(DeviceClass, ObjectKey("", class_name))
        names = (implicit_name(class_name), found.spec.extended_resource_name if found is not None else "")
        if any(map(self._pods_by_resource.has, names)):
            return True
        if any(map(self._pods_by_template.has, self._templates_by_class.keys_with(class_name))):
            return True
        # Where there is no other scheduler, its claims need not be looked for among thousands of ours.
        return len(self._pods_by_claim) > 0 and any(
            map(self._pods_by_claim.has, self._claims_by_class.keys_with(class_name))
        )

    def _pod_changed(self, pod: Pod) -> None:
        is_ours = pod.spec.scheduler_name == self._scheduler_name
        if is_ours or pod.spec.node_name or pod.is_finished or pod.metadata.is_deleting:
            self._forget(pod.key)
            return
        self._pods_by_claim.set(pod.key, claim_keys(pod).values())
        self._pods_by_template.set(pod.key, _templates(pod))
        self._pods_by_resource.set(pod.key, _extended_names(pod))

    def _forget(self, key: ObjectKey) -> None:
        self._pods_by_claim.set(key, ())
        self._pods_by_template.set(key, ())
        self._pods_by_resource.set(key, ())


def _templates(pod: Pod) -> Iterator[ObjectKey]:
    for reference in pod.spec.resource_claims:
        if reference.resource_claim_template_name:
            yield ObjectKey(pod.metadata.namespace, reference.resource_claim_template_name)


def _extended_names(pod: Pod) -> Iterator[str]:
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        yield from filter(is_extended_name, container.resources.limits)
