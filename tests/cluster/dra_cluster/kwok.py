"""What the role `kwok` has made of the NodeClaims of one test."""

from collections.abc import Mapping

from dra_cluster.machines import NODE_CLAIMS, Machines
from dra_cluster.world import NODES, SLICES
from dra_controlplane.client import ApiError, Json, path_of

PREFIX = "kwok.dra-scheduler.dev/"
LEASES = "coordination.k8s.io/v1/leases"
NOT_FOUND = 404


class Kwok:
    """Nodes, slices and Leases as the server has them."""

    def __init__(self, machines: Machines) -> None:
        self.machines = machines
        self.api = machines.api
        self.driver = machines.world.driver

    def node(self, name: str) -> Json:
        """A node; empty if there is none."""
        return self._find(NODES, name)

    def lease(self, name: str) -> Json:
        """The Lease of a node; empty if there is none."""
        return self._find(LEASES, name, "kube-node-lease")

    def slices(self, node: str) -> list[Json]:
        """The slices of a node, by name."""
        found = (one for one in self.api.items(SLICES) if one["spec"].get("nodeName") == node)
        return sorted(found, key=lambda one: str(one["metadata"]["name"]))

    def published(self, node: str) -> dict[int, list[int]]:
        """The numbers of devices in the slices of a node, by generation."""
        found: dict[int, list[int]] = {}
        for one in self.slices(node):
            found.setdefault(one["spec"]["pool"]["generation"], []).append(len(one["spec"].get("devices") or ()))
        return found

    def until_published(self, node: str, expected: Mapping[int, list[int]]) -> None:
        """Waits until the slices of a node are these."""
        self.machines.world.mirror.until(lambda: self.published(node) == expected, f"{node} to publish {expected}")

    def annotate(self, claim: str, **notes: str) -> None:
        """Gives a NodeClaim settings of the role; underscores stand for dashes."""
        written = {f"{PREFIX}{key.replace('_', '-')}": value for key, value in notes.items()}
        self.api.patch(path_of(NODE_CLAIMS, claim), {"metadata": {"annotations": written}})

    def _find(self, resource: str, name: str, namespace: str | None = None) -> Json:
        try:
            return self.api.get(resource, name, namespace=namespace)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
            return {}
