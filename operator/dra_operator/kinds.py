"""What is watched, of the registry of kinds (`dra_scheduling.model.kinds`), and by which roles."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dra_kube.resources import Kind, Resource
from dra_scheduling.model.bindrequests import BindRequest
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.device_taint_rules import DeviceTaintRule
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.kinds import KIND_OF, REGISTRY
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.model.slices import ResourceSlice

BY_KIND: Mapping[Kind, Resource] = {kind.model: Resource.of(kind.model) for kind in REGISTRY}
"""Of each kind the version that is looked for first."""

PODS = BY_KIND[Pod]
NODES = BY_KIND[Node]
CLAIMS = BY_KIND[ResourceClaim]
SLICES = BY_KIND[ResourceSlice]
BIND_REQUESTS = BY_KIND[BindRequest]
NODE_POOLS = BY_KIND[NodePool]
NODE_CLAIMS = BY_KIND[NodeClaim]
INSTANCE_TYPES = BY_KIND[InstanceType]
TAINT_RULES, BETA_TAINT_RULES = (Resource.of(DeviceTaintRule, one) for one in KIND_OF[DeviceTaintRule].versions)

WATCHED = tuple(BY_KIND[kind.model] for kind in REGISTRY if not kind.is_optional)
"""What every cluster has to serve."""
OPTIONAL = tuple(Resource.of(kind.model, version) for kind in REGISTRY if kind.is_optional for version in kind.versions)
"""What is watched where the cluster serves it: of each kind the first version that is there."""
BY_PATH: Mapping[str, Resource] = {resource.path: resource for resource in (*WATCHED, *OPTIONAL)}


class WatchedKinds(NamedTuple):
    """What some roles watch: what the cluster has to serve for them, and what it may do without."""

    required: tuple[Resource, ...] = WATCHED
    optional: tuple[Resource, ...] = OPTIONAL

    @classmethod
    def of(cls, roles: Iterable[str]) -> "WatchedKinds":
        """Return what a process with these roles keeps in memory."""
        played = frozenset(map(str, roles))
        return cls(*(tuple(one for one in some if KIND_OF[one.kind].roles & played) for some in (WATCHED, OPTIONAL)))


EVERY_KIND = WatchedKinds()
