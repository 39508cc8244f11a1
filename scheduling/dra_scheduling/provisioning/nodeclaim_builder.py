"""The NodeClaim that writes a planned node down."""

import hashlib
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from dra_scheduling.basics.requirements import Requirement
from dra_scheduling.basics.resources import BYTE_RESOURCES, CPU, HUGEPAGES_PREFIX
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.inventory import Nominee, PoolTemplate
from dra_scheduling.inventory.nominations import NOMINATED_PODS, REQUESTED_DRIVERS, nominees_of, nominees_text
from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.nodeclaims import NodeClaim, NodeClaimResources, NodeClaimSpec, NodeRequirement
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.model.pods import NODE_POOL_LABEL, Pod
from dra_scheduling.nodeclaims.lifecycle_steps import TERMINATION
from dra_scheduling.provisioning.planned_node import PlannedNode
from kube_cel.quantity import NANO_PER_MILLI, NANO_PER_UNIT, Family, Quantity

HASH = "karpenter.sh/nodepool-hash"
HASH_VERSION = "karpenter.sh/nodepool-hash-version"
CURRENT_HASH_VERSION = "v3"
MOST_TYPES = 60
"""So many instance types go into a NodeClaim, the cheapest first; minValues may ask for more."""
LONGEST_PREFIX = 52


def claim_name(pool: str, pod: Pod, number: int) -> str:
    """Return the name of a NodeClaim made for the pod: the same one if its creation has to be repeated."""
    digest = hashlib.sha256(f"{pod.metadata.uid}/{number}".encode()).hexdigest()[:8]
    return f"{pool[:LONGEST_PREFIX].rstrip('.-')}-{digest}"


def pool_hash(pool: NodePool) -> str:
    """Return what tells whether a NodeClaim was made from the pool as it is: all that drift looks at."""
    template = pool.spec.template
    spec = template.spec
    content = (
        template.metadata.labels,
        template.metadata.annotations,
        spec.node_class_ref,
        spec.taints,
        spec.startup_taints,
        spec.expire_after,
        spec.termination_grace_period,
    )
    return hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:16]


def written(node: PlannedNode, template: PoolTemplate, drivers: Iterable[str]) -> NodeClaim:
    """Return the NodeClaim of a new planned node."""
    pool = template.pool
    spec = pool.spec.template.spec
    labels = {**pool.spec.template.metadata.labels, NODE_POOL_LABEL: pool.name}
    owner = OwnerReference(
        api_version="karpenter.sh/v1", kind="NodePool", name=pool.name, uid=pool.metadata.uid, block_owner_deletion=True
    )
    meta = ObjectMeta(
        name=node.spec.name,
        labels=labels,
        annotations={
            **pool.spec.template.metadata.annotations,
            HASH: pool_hash(pool),
            HASH_VERSION: CURRENT_HASH_VERSION,
            **_notes(map(Nominee.of, node.pods), drivers),
        },
        owner_references=(owner,),
        finalizers=(TERMINATION,),
    )
    return NodeClaim(
        metadata=meta,
        spec=NodeClaimSpec(
            node_class_ref=spec.node_class_ref,
            requirements=_requirements(node),
            resources=NodeClaimResources(requests=quantities(node.used)),
            taints=spec.taints,
            startup_taints=spec.startup_taints,
            expire_after=spec.expire_after,
            termination_grace_period=spec.termination_grace_period,
        ),
    )


def extended(claim: NodeClaim, pods: Iterable[Pod], drivers: Iterable[str]) -> NodeClaim:
    """Return the NodeClaim with these pods nominated to it, too."""
    nominees = dict.fromkeys((*nominees_of(claim), *map(Nominee.of, pods)))
    annotations = {**claim.metadata.annotations, **_notes(nominees, drivers)}
    return replace(claim, metadata=replace(claim.metadata, annotations=annotations))


def quantities(amounts: dict[str, int]) -> dict[str, Quantity]:
    """Return amounts of base units as the API writes them."""
    return {name: _quantity(name, amounts[name]) for name in sorted(amounts) if amounts[name] > 0}


def _quantity(name: str, amount: int) -> Quantity:
    if name == CPU:
        return Quantity(amount * NANO_PER_MILLI)
    is_bytes = name in BYTE_RESOURCES or name.startswith(HUGEPAGES_PREFIX)
    return Quantity(amount * NANO_PER_UNIT, Family.BINARY) if is_bytes else Quantity(amount * NANO_PER_UNIT)


def _notes(nominees: Iterable[Nominee], drivers: Iterable[str]) -> dict[str, str]:
    listed = ",".join(sorted(drivers))
    return {NOMINATED_PODS: nominees_text(nominees)} | ({REQUESTED_DRIVERS: listed} if listed else {})


def _requirements(node: PlannedNode) -> tuple[NodeRequirement, ...]:
    least = dict(node.spec.min_values)
    cheapest = node.spec.table.by_price(node.types, node.requirements)
    most = max(MOST_TYPES, least.get(INSTANCE_TYPE_LABEL, 0))
    # With other minValues a cut could leave too few values of their labels.
    names = [machine.name for machine in (cheapest if set(least) - {INSTANCE_TYPE_LABEL} else cheapest[:most])]
    by_key = dict(node.requirements.by_key)
    by_key.pop(INSTANCE_TYPE_LABEL, None)
    found = [one for key in sorted(by_key) for one in _in_words(by_key[key], least.get(key))]
    types = NodeRequirement(
        key=INSTANCE_TYPE_LABEL, operator="In", values=tuple(names), min_values=least.get(INSTANCE_TYPE_LABEL)
    )
    return (*found, types)


def _in_words(requirement: Requirement, least: int | None) -> list[NodeRequirement]:
    """Return the set of values as conditions that a NodeClaim can have; more than one where bounds are in it."""
    key, values = requirement.key, tuple(sorted(requirement.values))
    if not requirement.excludes:
        if values:
            return [NodeRequirement(key=key, operator="In", values=values, min_values=least)]
        return [NodeRequirement(key=key, operator="DoesNotExist")]
    found = []
    if values:
        found.append(NodeRequirement(key=key, operator="NotIn", values=values, min_values=least))
    if requirement.above is not None:
        found.append(NodeRequirement(key=key, operator="Gt", values=(str(requirement.above),), min_values=least))
    if requirement.below is not None:
        found.append(NodeRequirement(key=key, operator="Lt", values=(str(requirement.below),), min_values=least))
    if not found and not requirement.may_be_absent:
        found.append(NodeRequirement(key=key, operator="Exists", min_values=least))
    return found
