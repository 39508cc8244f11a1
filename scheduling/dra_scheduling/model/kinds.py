"""The registry of kinds: what objects decisions read, where the API server keeps them, and which roles watch them.

A new kind is one entry here, its model, and the rights of the roles that watch it (`manifests/base/access`). Whoever
reads objects, be it from a file, a watch or a live cluster, goes by this.
"""

from collections.abc import Iterable, Mapping

from dra_scheduling.model.base import Value
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import ResourceClaim, ResourceClaimTemplate
from dra_scheduling.model.daemonsets import DaemonSet
from dra_scheduling.model.device_taint_rules import DeviceTaintRule
from dra_scheduling.model.evictions import PodDisruptionBudget
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.namespaces import Namespace
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.model.slices import DeviceClass, ResourceSlice

KubernetesObject = (
    Node
    | Namespace
    | Pod
    | ResourceClaim
    | ResourceClaimTemplate
    | ResourceSlice
    | DeviceClass
    | DeviceTaintRule
    | BindRequest
    | NodePool
    | NodeClaim
    | InstanceType
    | DaemonSet
    | PodDisruptionBudget
)

SCHEDULER, BINDER, NODECLAIMS, KWOK = "scheduler", "binder", "nodeclaims", "kwok"
"""The roles of the operator."""


class ApiKind(Value, frozen=True, kw_only=True):
    """One kind: `versions` are those that are read, the one that is written first.

    An object of a namespaced kind has a namespace. An optional kind is one that a cluster may do without: then it is as
    if there were no objects of it. The `roles` are those whose processes keep it in memory.
    """

    model: type[KubernetesObject]
    group: str
    versions: tuple[str, ...]
    plural: str
    roles: frozenset[str]
    is_namespaced: bool = False
    is_optional: bool = False

    @property
    def name(self) -> str:
        """What objects say in their `kind`."""
        return self.model.__name__

    @property
    def api_versions(self) -> tuple[str, ...]:
        """What objects may say in their `apiVersion`."""
        return tuple(f"{self.group}/{version}" if self.group else version for version in self.versions)


def _kind(
    model: type[KubernetesObject], api_versions: str, plural: str, roles: Iterable[str], said: str = ""
) -> ApiKind:
    """Return an entry; `api_versions` are as in `group/v1,v1beta1`, `said` names what is true of the kind."""
    group, _, versions = api_versions.rpartition("/")
    return ApiKind(
        model=model,
        group=group,
        versions=tuple(versions.split(",")),
        plural=plural,
        roles=frozenset(roles),
        is_namespaced="namespaced" in said,
        is_optional="optional" in said,
    )


EVERY_ROLE = (SCHEDULER, BINDER, NODECLAIMS, KWOK)
PLANNERS = (SCHEDULER, NODECLAIMS, KWOK)

REGISTRY: tuple[ApiKind, ...] = (
    _kind(Node, "v1", "nodes", EVERY_ROLE),
    _kind(Namespace, "v1", "namespaces", (SCHEDULER,)),
    _kind(DeviceClass, "resource.k8s.io/v1", "deviceclasses", (SCHEDULER, BINDER)),
    _kind(ResourceSlice, "resource.k8s.io/v1", "resourceslices", EVERY_ROLE),
    _kind(ResourceClaim, "resource.k8s.io/v1", "resourceclaims", (SCHEDULER, BINDER), "namespaced"),
    _kind(ResourceClaimTemplate, "resource.k8s.io/v1", "resourceclaimtemplates", (SCHEDULER, BINDER), "namespaced"),
    _kind(BindRequest, "scheduling.run.ai/v1alpha2", "bindrequests", (SCHEDULER, BINDER), "namespaced"),
    _kind(Pod, "v1", "pods", EVERY_ROLE, "namespaced"),
    # Kubernetes 1.36 has them as a beta that is off, and 1.37 as v1.
    _kind(DeviceTaintRule, "resource.k8s.io/v1,v1beta2", "devicetaintrules", (SCHEDULER,), "optional"),
    _kind(NodePool, "karpenter.sh/v1", "nodepools", (SCHEDULER, NODECLAIMS), "optional"),
    _kind(InstanceType, "dra-scheduler.dev/v1alpha1", "instancetypes", PLANNERS, "optional"),
    _kind(NodeClaim, "karpenter.sh/v1", "nodeclaims", PLANNERS, "optional"),
    _kind(DaemonSet, "apps/v1", "daemonsets", (SCHEDULER,), "optional namespaced"),
    _kind(PodDisruptionBudget, "policy/v1", "poddisruptionbudgets", (SCHEDULER,), "optional namespaced"),
)
"""All kinds, in the order in which a live cluster is read."""
KIND_OF: Mapping[type[KubernetesObject], ApiKind] = {one.model: one for one in REGISTRY}
