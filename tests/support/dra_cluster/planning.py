"""NodePools and instance types of one test, and the NodeClaims that the scheduler makes of them."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from dra_builders import manifests
from dra_cluster.machines import DRIVERS, NODE_CLAIMS, OWN, POOLS, TYPE_LABEL, TYPES
from dra_cluster.mirror import PODS
from dra_cluster.world import World
from dra_controlplane.client import ApiError, Json, path_of

NOMINATED = "dra-scheduler.dev/nominated-pods"
POOL_LABEL = "karpenter.sh/nodepool"
NOT_FOUND = 404


@contextmanager
def if_there() -> Iterator[None]:
    """Ends the block without an error where an object is gone that a request in it is about."""
    try:
        yield
    except ApiError as error:
        if error.code != NOT_FOUND:
            raise


class Planning:
    """One NodePool, of which nobody launches anything unless a test does."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.api = world.api
        self.pool = world.named("pool")
        self._types: list[str] = []

    def instance_type(self, stem: str, *, cpu: int = 16, price: int = 1, **devices: int) -> str:
        """Creates a type with so many devices of each driver (`gpu` and `nic` are the test's), and returns its name."""
        groups = [
            {"driver": self.driver(kind), "name": f"{kind}-{{index}}", "count": count}
            for kind, count in devices.items()
        ]
        name = self.world.named(stem)
        body: Json = {
            "apiVersion": "dra-scheduler.dev/v1alpha1",
            "kind": "InstanceType",
            "metadata": {"name": name, "labels": {"dra-scheduler.dev/node-class": self.pool}},
            "spec": {
                "offerings": [{"zone": "a", "price": str(price)}],
                "capacity": {"cpu": str(cpu), "memory": "64Gi"},
                "devices": {"groups": groups},
            },
        }
        self.api.create(body)
        self._types.append(name)
        return name

    def driver(self, kind: str) -> str:
        """The name of a driver, which is also that of its class."""
        return f"{kind}-{self.world.id}.example.com"

    def node_pool(self) -> str:
        """Creates the pool and the classes of both drivers, and returns the pool's name."""
        for kind in ("gpu", "nic"):
            name = self.driver(kind)
            self.world.create(manifests.device_class(name, f"device.driver == '{name}'"))
        reference = {"group": OWN, "kind": "InstanceType", "name": self.pool}
        spec = {
            "template": {"spec": {"nodeClassRef": reference, "requirements": []}},
            "disruption": {"consolidateAfter": "Never"},
        }
        body = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": self.pool}, "spec": spec}
        self.api.create(body)
        return self.pool

    def claims(self) -> list[Json]:
        """The NodeClaims of the pool as the server has them, by name."""
        found = (one for one in self.api.items(NODE_CLAIMS) if self._is_ours(one))
        return sorted(found, key=lambda one: str(one["metadata"]["name"]))

    def claim_of(self, *pods: str) -> Json:
        """Waits for a NodeClaim that names all of these pods, and returns it."""

        def found() -> Json | None:
            return next((one for one in self.claims() if set(pods) <= set(nominated(one))), None)

        return self.world.mirror.until(found, f"a NodeClaim for {pods}")

    def waits(self, pod: str) -> str:
        """Waits until a pod says that it waits for a NodeClaim, and returns that one's name."""
        return self.world.pending(pod, "waits for NodeClaim ").split()[3]

    def empty(self) -> None:
        """Takes pool and pods away, so that nothing is made anew, and lets the NodeClaims go in their own way."""
        self._delete(POOLS, self.pool)
        for pod in self.api.items(PODS, namespace=self.world.namespace):
            self.world.remove(PODS, pod["metadata"]["name"])
        for claim in self.claims():
            self._end(NODE_CLAIMS, claim["metadata"]["name"])

    def leave(self) -> None:
        """Takes everything away, whatever it waits for."""
        self.empty()
        for claim in self.claims():
            self._delete(NODE_CLAIMS, claim["metadata"]["name"])
        for name in self._types:
            self._delete(TYPES, name)

    def _end(self, resource: str, name: str) -> None:
        """Deletes an object; the roles may have been faster."""
        with if_there():
            self.api.delete(resource, name)

    def _delete(self, resource: str, name: str) -> None:
        with if_there():
            self.api.delete(resource, name)
            self.api.patch(path_of(resource, name), {"metadata": {"finalizers": None}})

    def _is_ours(self, claim: Json) -> bool:
        labels: Mapping[str, str] = claim["metadata"].get("labels") or {}
        return labels.get(POOL_LABEL) == self.pool


def nominated(claim: Json) -> list[str]:
    """The names of the pods that a NodeClaim names."""
    entries = json.loads((claim["metadata"].get("annotations") or {}).get(NOMINATED) or "[]")
    return [str(entry).split("/")[1] for entry in entries]


def types_of(claim: Json) -> list[str]:
    """The instance types that a NodeClaim may become."""
    return [value for one in claim["spec"]["requirements"] if one["key"] == TYPE_LABEL for value in one["values"]]


def drivers_of(claim: Json) -> str:
    """The drivers that have to publish on its node."""
    return str((claim["metadata"].get("annotations") or {}).get(DRIVERS) or "")
