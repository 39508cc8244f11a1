"""NodeClaims of one test, and the provider of their machines, which the test plays itself."""

import datetime as dt
from collections.abc import Mapping, Sequence

from dra_builders import manifests
from dra_cluster.world import NODES, World
from dra_controlplane.client import ApiError, Json, path_of

POOLS = "karpenter.sh/v1/nodepools"
NODE_CLAIMS = "karpenter.sh/v1/nodeclaims"
TYPES = "dra-scheduler.dev/v1alpha1/instancetypes"
OWN = "dra-scheduler.dev"
TYPE_LABEL = "node.kubernetes.io/instance-type"
DRIVERS = "karpenter.sh/requested-dra-drivers"
UNREGISTERED = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
DRIVERS_TAINT = {"key": "dra-scheduler.dev/drivers-not-ready", "effect": "NoSchedule"}
NOT_FOUND = 404


class Machines:
    """One pool and one instance type with devices of the world's driver, and NodeClaims of that pool."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.api = world.api
        self.pool = world.named("pool")
        self.type = world.named("type")
        self._made: dict[tuple[str, str], None] = {}

    def create(self, resource: str, body: Json) -> Json:
        """Creates an object that is taken away in the end."""
        made = self.api.create(body)
        self._made[resource, body["metadata"]["name"]] = None
        return made

    def instance_type(self, *, count: int = 2, **spec: object) -> str:
        """Creates the instance type and returns its name."""
        group = {"driver": self.world.driver, "name": "gpu-{index}", "count": count}
        whole = {
            "offerings": [{"zone": "a", "price": 1}],
            "capacity": {"cpu": 16, "memory": "64Gi"},
            "devices": {"groups": [group]},
            **spec,
        }
        meta = {"name": self.type}
        body = {"apiVersion": "dra-scheduler.dev/v1alpha1", "kind": "InstanceType", "metadata": meta, "spec": whole}
        self.create(TYPES, body)
        return self.type

    def node_pool(self, *requirements: Json, **disruption: object) -> str:
        """Creates the pool and returns its name."""
        template = {"spec": {"nodeClassRef": _reference(OWN), "requirements": list(requirements)}}
        spec = {"template": template, "disruption": {"consolidateAfter": "Never", **disruption}}
        body = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": self.pool}, "spec": spec}
        self.create(POOLS, body)
        return self.pool

    def claim(self, stem: str, *drivers: str, group: str = OWN, **spec: object) -> str:
        """Creates a NodeClaim that waits for these drivers, as a planner would, and returns its name."""
        name = self.world.named(stem)
        meta: Json = {"name": name, "labels": {"karpenter.sh/nodepool": self.pool}}
        if drivers:
            meta["annotations"] = {DRIVERS: ",".join(drivers)}
        if group == OWN:
            meta["finalizers"] = ["karpenter.sh/termination"]
        whole = {"nodeClassRef": _reference(group), "requirements": [], **spec}
        body = {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": meta, "spec": whole}
        self.create(NODE_CLAIMS, body)
        return name

    def launch(self, claim: str, *, machine: str = "") -> None:
        """Says that a machine is there for the NodeClaim: one of its own, or that of another NodeClaim."""
        labels = {TYPE_LABEL: self.type, "topology.kubernetes.io/zone": "a"}
        self.api.patch(path_of(NODE_CLAIMS, claim), {"metadata": {"labels": labels}})
        launched = {
            "type": "Launched",
            "status": "True",
            "reason": "Launched",
            "message": "",
            "lastTransitionTime": _now(),
        }
        status = {"providerID": f"test://{machine or claim}", "conditions": [launched]}
        self.api.patch(path_of(NODE_CLAIMS, claim, subresource="status"), {"status": status})

    def node(self, claim: str, *, taints: Sequence[Json] = (), **resources: str) -> str:
        """Creates the node of the NodeClaim, not registered yet, and returns its name: that of the NodeClaim."""
        labels = self.get(claim)["metadata"]["labels"]
        body = manifests.node(claim, labels=labels, resources=resources)
        body["spec"] = {"providerID": f"test://{claim}", "taints": [UNREGISTERED, *taints]}
        self.world.create(body)
        return claim

    def up(self, stem: str, *drivers: str, group: str = OWN, taints: Sequence[Json] = (), **spec: object) -> str:
        """Creates a NodeClaim with a machine and a node with these taints, and returns the name that both have."""
        name = self.claim(stem, *drivers, group=group, **spec)
        self.launch(name)
        return self.node(name, taints=taints)

    def get(self, claim: str) -> Json:
        """The NodeClaim as it is; empty if there is none."""
        try:
            return self.api.get(NODE_CLAIMS, claim)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
            return {}

    def condition(self, claim: str, kind: str = "Initialized", *, resource: str = NODE_CLAIMS) -> Mapping[str, str]:
        """A condition of an object; empty if it has none."""
        try:
            found = self.api.get(resource, claim)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
            return {}
        conditions = (found.get("status") or {}).get("conditions") or ()
        return next((one for one in conditions if one["type"] == kind), {})

    def until(
        self, claim: str, kind: str, status: str, reason: str = "", text: str = "", *, resource: str = NODE_CLAIMS
    ) -> Mapping[str, str]:
        """Waits until a condition has a status, and perhaps a reason and a text in its message."""

        def found() -> Mapping[str, str] | None:
            one = self.condition(claim, kind, resource=resource)
            is_it = one.get("status") == status and reason in {"", one["reason"]} and text in one["message"]
            return one if is_it else None

        try:
            return self.world.mirror.until(found, f"{claim} to be {kind}={status} {reason}")
        except TimeoutError as error:
            raise TimeoutError(f"{error}; it is {self.condition(claim, kind, resource=resource)}") from None

    def gone(self, claim: str) -> None:
        """Waits until there is no such NodeClaim any more."""
        self.world.mirror.until(lambda: not self.get(claim), f"{claim} to be gone")

    def taints(self, node: str) -> list[str]:
        """The keys of a node's taints."""
        return [one["key"] for one in (self.api.get(NODES, node).get("spec") or {}).get("taints") or ()]

    def is_open(self, node: str) -> bool:
        """Whether the node is labelled as initialized."""
        return (self.api.get(NODES, node)["metadata"].get("labels") or {}).get("karpenter.sh/initialized") == "true"

    def leave(self) -> None:
        """Takes everything away, whatever it waits for."""
        for resource, name in reversed(self._made):
            try:
                self.api.delete(resource, name)
                self.api.patch(path_of(resource, name), {"metadata": {"finalizers": None}})
            except ApiError as error:
                if error.code != NOT_FOUND:
                    raise


def _reference(group: str) -> Json:
    return {"group": group, "kind": "InstanceType" if group == OWN else "TestNodeClass", "name": "default"}


def _now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
