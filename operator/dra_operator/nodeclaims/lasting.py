"""Steps that cannot be taken back: they are taken only when everything has been seen that may speak against them."""

from collections.abc import Iterable

from dra_kube.api import Json
from dra_operator.kinds import INSTANCE_TYPES, NODES, PODS, SLICES
from dra_operator.sight import Sight, on_node
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node
from dra_scheduling.nodeclaims import ChangeStatus, ChangeType, Delete, Release, Step
from dra_scheduling.nodeclaims.lifecycle_names import DEVICES_AS_PROMISED, DRAINED, INITIALIZED, REGISTERED

LASTING = frozenset({(REGISTERED, "False"), (INITIALIZED, "False"), (DEVICES_AS_PROMISED, "False"), (DRAINED, "True")})
"""What a NodeClaim says before its node is given up or its machine is taken away."""


def is_lasting(claim: NodeClaim, step: Step) -> bool:
    """Whether nothing makes up for the step where it was taken too early."""
    match step:
        case Delete() | Release():
            return True
        case ChangeType(failures=failures):
            return failures > 0
        case ChangeStatus(status=status):
            said = {(one.type, one.status) for one in claim.status.conditions}
            return any((one.type, one.status) in LASTING - said for one in status.conditions)
        case _:
            return False


async def is_all_seen(sight: Sight, claim: NodeClaim, nodes: Iterable[Node]) -> bool:
    """Whether all has been seen that belongs to a NodeClaim with these nodes, as it is now. Raises `ApiError`."""
    provider = claim.status.provider_id
    if not provider:
        return True
    if claim.status.node_name:
        is_seen = await sight.has(NODES, claim.status.node_name)
    else:
        is_seen = await sight.has_all(NODES, is_meant=lambda node: _provider_of(node) == provider)
    if not claim.metadata.is_deleting:
        is_seen = is_seen and await sight.has_all(INSTANCE_TYPES)
    on_nodes = PODS if claim.metadata.is_deleting else SLICES
    for node in nodes:
        is_seen = is_seen and await sight.has_all(on_nodes, on_node(node.name))
    return is_seen


def _provider_of(node: Json) -> str:
    return str((node.get("spec") or {}).get("providerID") or "")
