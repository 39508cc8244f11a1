"""What the role `kwok` has made of the NodeClaims of one test."""

from collections.abc import Mapping

from dra_cluster.machines import DRIVERS, NODE_CLAIMS, OWN, TYPE_LABEL, TYPES, Machines
from dra_cluster.planning import if_there
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
        self._claims: list[str] = []

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

    def phase(self, pod: str) -> str:
        """The phase of a pod."""
        return str((self.machines.world.find_pod(pod).get("status") or {}).get("phase") or "")

    def claim(self, stem: str, **notes: str) -> str:
        """Creates a NodeClaim that waits for the driver, with settings of the role, and returns its name."""
        name = self.machines.world.named(stem)
        self._claims.append(name)
        reference = {"group": OWN, "kind": "InstanceType", "name": "default"}
        of_type = {"key": TYPE_LABEL, "operator": "In", "values": [self.machines.type]}
        body = {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {
                "name": name,
                "annotations": {DRIVERS: self.driver, **_settings(notes)},
                "finalizers": ["karpenter.sh/termination"],
            },
            "spec": {"nodeClassRef": reference, "requirements": [of_type]},
        }
        self.machines.create(NODE_CLAIMS, body)
        return name

    def annotate(self, claim: str, **notes: str | None) -> None:
        """Changes settings of the role, and takes those away that are None; underscores stand for dashes."""
        self.api.patch(path_of(NODE_CLAIMS, claim), {"metadata": {"annotations": _settings(notes)}})

    def change_type(self, *, count: int) -> None:
        """Lets the machines of the type have another number of devices."""
        group = {"driver": self.driver, "name": "gpu-{index}", "count": count}
        self.api.patch(path_of(TYPES, self.machines.type), {"spec": {"devices": {"groups": [group]}}})

    def end(self, claim: str) -> None:
        """Deletes a NodeClaim."""
        self.api.delete(NODE_CLAIMS, claim)

    def leave(self) -> None:
        """Lets every machine of the test be removed."""
        for name in self._claims:
            with if_there():
                self.end(name)
        for name in self._claims:
            self.machines.gone(name)

    def _find(self, resource: str, name: str, namespace: str | None = None) -> Json:
        try:
            return self.api.get(resource, name, namespace=namespace)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
            return {}


def _settings(notes: Mapping[str, str | None]) -> dict[str, str | None]:
    return {f"{PREFIX}{key.replace('_', '-')}": value for key, value in notes.items()}
