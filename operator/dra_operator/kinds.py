"""The kinds of objects that are watched, and where the API server keeps them."""

from collections.abc import Mapping

from dra_kube.resources import Kind, Resource
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


def _resource(kind: Kind, group: str, version: str, plural: str) -> Resource:
    return Resource(kind=kind, group=group, version=version, plural=plural)


PODS = _resource(Pod, "", "v1", "pods")
NODES = _resource(Node, "", "v1", "nodes")
NAMESPACES = _resource(Namespace, "", "v1", "namespaces")
CLAIMS = _resource(ResourceClaim, "resource.k8s.io", "v1", "resourceclaims")
TEMPLATES = _resource(ResourceClaimTemplate, "resource.k8s.io", "v1", "resourceclaimtemplates")
SLICES = _resource(ResourceSlice, "resource.k8s.io", "v1", "resourceslices")
CLASSES = _resource(DeviceClass, "resource.k8s.io", "v1", "deviceclasses")
BIND_REQUESTS = _resource(BindRequest, "scheduling.run.ai", "v1alpha2", "bindrequests")

# Kubernetes 1.36 has them as a beta that is off, and 1.37 as v1.
TAINT_RULES = _resource(DeviceTaintRule, "resource.k8s.io", "v1", "devicetaintrules")
BETA_TAINT_RULES = _resource(DeviceTaintRule, "resource.k8s.io", "v1beta2", "devicetaintrules")

# Nodes that do not exist yet; the first three are CustomResourceDefinitions that a cluster may do without.
NODE_POOLS = _resource(NodePool, "karpenter.sh", "v1", "nodepools")
NODE_CLAIMS = _resource(NodeClaim, "karpenter.sh", "v1", "nodeclaims")
INSTANCE_TYPES = _resource(InstanceType, "dra-scheduler.dev", "v1alpha1", "instancetypes")
DAEMON_SETS = _resource(DaemonSet, "apps", "v1", "daemonsets")
DISRUPTION_BUDGETS = _resource(PodDisruptionBudget, "policy", "v1", "poddisruptionbudgets")

WATCHED = (NODES, NAMESPACES, CLASSES, SLICES, CLAIMS, TEMPLATES, BIND_REQUESTS, PODS)
"""What every cluster has to serve."""
OPTIONAL = (
    TAINT_RULES,
    BETA_TAINT_RULES,
    NODE_POOLS,
    INSTANCE_TYPES,
    NODE_CLAIMS,
    DAEMON_SETS,
    DISRUPTION_BUDGETS,
)
"""What is watched where the cluster serves it: of each kind the first version that is there."""
BY_KIND: Mapping[Kind, Resource] = {resource.kind: resource for resource in (*reversed(OPTIONAL), *WATCHED)}
"""Of each kind the version that is looked for first."""
BY_PATH: Mapping[str, Resource] = {resource.path: resource for resource in (*WATCHED, *OPTIONAL)}
