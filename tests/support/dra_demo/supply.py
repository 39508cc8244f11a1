"""What the server says about nodes that are made for pods, at one moment."""

from collections.abc import Iterable, Mapping

import msgspec

from dra_controlplane.client import ApiClient, Json
from dra_demo.objects import GROUP, NAMESPACE
from dra_demo.state import devices_of

POOLS = "karpenter.sh/v1/nodepools"
NODE_CLAIMS = "karpenter.sh/v1/nodeclaims"
TYPES = "dra-scheduler.dev/v1alpha1/instancetypes"
SLICES = f"{GROUP}/resourceslices"
TYPE_LABEL = "node.kubernetes.io/instance-type"
INITIALIZED_LABEL = "karpenter.sh/initialized"


class Supply(msgspec.Struct, frozen=True, kw_only=True):
    """NodePools, InstanceTypes, NodeClaims, nodes and ResourceSlices, and one pod that waits for all this."""

    pools: tuple[Json, ...]
    types: tuple[Json, ...]
    node_claims: tuple[Json, ...]
    nodes: Mapping[str, Json]
    slices: tuple[Json, ...]
    pod: Json
    claims: tuple[Json, ...]

    @property
    def node_claim(self) -> Json:
        """The NodeClaim; empty if there is not exactly one."""
        return self.node_claims[0] if len(self.node_claims) == 1 else {}

    @property
    def name(self) -> str:
        """The name of the NodeClaim."""
        return str(self.node_claim.get("metadata", {}).get("name", ""))

    @property
    def node(self) -> Json:
        """The node of the NodeClaim; empty if there is none."""
        return self.nodes.get(self.node_claim.get("status", {}).get("nodeName", ""), {})

    def published(self) -> dict[str, list[str]]:
        """Return the devices that are published on that node, by driver."""
        found: dict[str, list[str]] = {}
        for piece in self._own_slices():
            found.setdefault(piece["driver"], []).extend(device["name"] for device in piece.get("devices") or ())
        return found

    def slices_of(self, driver: str) -> int:
        """Return how many slices the driver has there."""
        return sum(piece["driver"] == driver for piece in self._own_slices())

    def devices(self) -> tuple[tuple[str, str, str], ...]:
        """Return driver, pool and name of every device that the pod has."""
        return tuple(device for claim in self.claims for device in devices_of(claim))

    def _own_slices(self) -> Iterable[Json]:
        return (one["spec"] for one in self.slices if self.name and one["spec"].get("nodeName") == self.name)


def load(api: ApiClient, pod: str) -> Supply:
    """Return the present state; `pod` is the name of the pod that waits."""
    found = api.find("v1/pods", pod, namespace=NAMESPACE) or {}
    uid = found.get("metadata", {}).get("uid")
    claims = api.items(f"{GROUP}/resourceclaims", namespace=NAMESPACE)
    return Supply(
        pools=api.items(POOLS),
        types=api.items(TYPES),
        node_claims=api.items(NODE_CLAIMS),
        nodes={one["metadata"]["name"]: one for one in api.items("v1/nodes")},
        slices=api.items(SLICES),
        pod=found,
        claims=tuple(one for one in claims if uid in _owners(one)),
    )


def condition_of(item: Json, kind: str) -> Json:
    """Return a condition of an object, empty if it has none."""
    conditions = (item.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == kind), {})


def _owners(item: Json) -> set[str]:
    return {owner["uid"] for owner in item["metadata"].get("ownerReferences") or ()}
