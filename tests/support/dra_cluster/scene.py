"""A pool of machines that are made when pods need them, and what the server shows of their lives."""

from collections.abc import Mapping, Sequence

from dra_builders import manifests
from dra_cluster.kwok import LEASES, PREFIX
from dra_cluster.machines import NODE_CLAIMS, OWN, POOLS, TYPES
from dra_cluster.mirror import PODS
from dra_cluster.planning import POOL_LABEL, Planning, if_there
from dra_cluster.world import NODES, SLICES
from dra_controlplane.client import Json, path_of

ROOT = "resource.kubernetes.io/pcieRoot"

DRIVER_FAULTS = ("unpublished", "incomplete", "empty", "contradicting-counts", "duplicate-names")


class Scene(Planning):
    """What is made here goes as it would in a cluster: pods first, then machines, then what they were made from."""

    def machine(
        self,
        stem: str,
        *groups: Json,
        price: int = 1,
        bindings: Sequence[Json] = (),
        capacity: Mapping[str, str | int] | None = None,
    ) -> str:
        """Creates a type with these groups of devices, and returns its name."""
        name = self.world.named(stem)
        room = {"cpu": "16", "memory": "64Gi", **{key: str(value) for key, value in (capacity or {}).items()}}
        meta = {"name": name, "labels": {"dra-scheduler.dev/node-class": self.pool}}
        spec = {
            "offerings": [{"zone": "a", "price": str(price)}],
            "capacity": room,
            "devices": {"groups": list(groups), "bindings": list(bindings)},
        }
        self.api.create(
            {"apiVersion": "dra-scheduler.dev/v1alpha1", "kind": "InstanceType", "metadata": meta, "spec": spec}
        )
        self._types.append(name)
        return name

    def group(self, kind: str, count: int, stem: str = "", **rest: object) -> Json:
        """A group of equal devices, for a type."""
        return {"driver": self.driver(kind), "name": f"{stem or kind}-{{index}}", "count": count, **rest}

    def together(self, *devices: tuple[str, str], value: str = "") -> Json:
        """A binding: these devices, each by kind and name, will be behind one PCIe root."""
        named = [{"driver": self.driver(kind), "name": name} for kind, name in devices]
        return {"attribute": ROOT, "devices": named, **({"publishedValue": {"string": value}} if value else {})}

    def open_pool(self, *, faults: Mapping[str, str] | None = None, **spec: object) -> None:
        """Creates the pool, the machines of which have faults, and the classes of the drivers `gpu` and `nic`."""
        for kind in ("gpu", "nic"):
            name = self.driver(kind)
            self.world.create(manifests.device_class(name, f"device.driver == '{name}'"))
        reference = {"group": OWN, "kind": "InstanceType", "name": self.pool}
        notes = {f"{PREFIX}{key}": value for key, value in (faults or {}).items()}
        template = {
            "metadata": {"annotations": notes},
            "spec": {"nodeClassRef": reference, "requirements": [], "expireAfter": "Never"},
        }
        whole = {"template": template, "disruption": {"consolidateAfter": "Never"}, **spec}
        self.api.create(
            {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": self.pool}, "spec": whole}
        )

    def wants(self, kind: str, count: int = 1, *expressions: str, name: str = "", **rest: object) -> Json:
        """A request for devices of a driver, named like the driver's kind unless another name is given."""
        return manifests.request(name or kind, self.driver(kind), *expressions, count=count, **rest)

    def pod(self, name: str, *requests: Json, limits: Mapping[str, str | int] | None = None, **devices: object) -> None:
        """Creates a pod with one claim of its own for all of the requests."""
        if requests:
            self.world.create(manifests.template(name, *requests, **devices))
        entries = (manifests.from_template("devices", name),) if requests else ()
        self.world.pod(name, *entries, limits=limits)

    def runs(self, *pods: str, seconds: float = 120.0) -> list[str]:
        """Waits until all of the pods run and whatever was written before is seen, and returns their nodes."""

        def phases() -> dict[str, str]:
            return {name: str((self.world.find_pod(name).get("status") or {}).get("phase")) for name in pods}

        def late() -> list[str]:
            return [name for name, phase in phases().items() if phase != "Running"]

        try:
            self.world.mirror.until(lambda: not late(), f"{len(pods)} pods to run", seconds=seconds)
        except TimeoutError as error:
            said = {name: self.world.message(name) for name in late()}
            raise TimeoutError(f"{error}; {said}; {self.story()}") from None
        self.world.mirror.catch_up(self.world.namespace)
        return [self.world.node_of(name) for name in pods]

    def devices(self, pod: str) -> list[Json]:
        """The results of the claim that was made for a pod."""
        claim = self.world.claim_of(pod, "devices")
        return list(claim["status"]["allocation"]["devices"]["results"])

    def published(self, node: str) -> dict[tuple[str, str], Json]:
        """The devices of a node that drivers have published, by driver and name."""
        return {
            (one["spec"]["driver"], device["name"]): device
            for one in self.api.items(SLICES)
            if one["spec"].get("nodeName") == node
            for device in one["spec"].get("devices") or ()
        }

    def condition(self, claim: str, kind: str = "Initialized") -> Mapping[str, str]:
        """A condition of a NodeClaim; empty if it has none, or there is none."""
        found = next((one for one in self.claims() if one["metadata"]["name"] == claim), {})
        conditions = (found.get("status") or {}).get("conditions") or ()
        return next((one for one in conditions if one["type"] == kind), {})

    def until(self, claim: str, kind: str, status: str, *texts: str) -> None:
        """Waits until a condition of a NodeClaim has a status, and texts in its reason or message."""

        def is_so() -> bool:
            one = self.condition(claim, kind)
            said = f"{one.get('reason')} {one.get('message')}"
            return one.get("status") == status and all(text in said for text in texts)

        try:
            self.world.mirror.until(is_so, f"{claim} to be {kind}={status} {texts}")
        except TimeoutError as error:
            raise TimeoutError(f"{error}; {self.story()}") from None

    def mend(self, claim: str, *faults: str) -> None:
        """Takes faults away from a machine."""
        self._annotate(claim, dict.fromkeys(faults))

    def play(self, claim: str, **faults: str) -> None:
        """Gives faults to a machine."""
        self._annotate(claim, faults)

    def spoil(self, claim: str, *, fault: str) -> None:
        """Lets every driver of a machine have this fault and no other."""
        self._annotate(claim, {**dict.fromkeys(DRIVER_FAULTS), fault: "*"})

    def type_status(self, name: str) -> Json:
        """The status of a type."""
        return self.api.get(TYPES, name).get("status") or {}

    def nodes(self) -> list[str]:
        """The names of the pool's nodes."""
        found = self.api.items(NODES, selectors={"labelSelector": f"{POOL_LABEL}={self.pool}"})
        return sorted(str(one["metadata"]["name"]) for one in found)

    def story(self) -> dict[str, list[str]]:
        """The conditions of the pool's NodeClaims, for people."""
        return {
            one["metadata"]["name"]: [
                f"{each['type']}={each['status']} {each['reason']} {each['message']}"
                for each in (one.get("status") or {}).get("conditions") or ()
            ]
            for one in self.claims()
        }

    def remove_pods(self) -> None:
        """Deletes every pod of the test, and waits until all are gone."""
        within = self.world.namespace
        for pod in self.world.mirror.items(PODS, within):
            if pod["metadata"].get("finalizers"):
                path = path_of(PODS, pod["metadata"]["name"], namespace=within)
                with if_there():
                    self.api.patch(path, {"metadata": {"finalizers": None}})
        self.api.request("DELETE", path_of(PODS, namespace=within), {"gracePeriodSeconds": 0})
        self.world.mirror.until(lambda: not self.world.mirror.items(PODS, within), "the pods to be gone", seconds=120)

    def remains(self) -> list[str]:
        """What is left of the machines that were made: NodeClaims, nodes, slices, Leases."""
        claims = [f"NodeClaim {one['metadata']['name']}" for one in self.claims()]
        nodes = [f"Node {name}" for name in self.nodes()]
        slices = [
            f"ResourceSlice {one['metadata']['name']}"
            for one in self.api.items(SLICES)
            if (one["spec"].get("nodeName") or "").startswith(self.pool)
        ]
        leases = [
            f"Lease {one['metadata']['name']}"
            for one in self.api.items(LEASES, namespace="kube-node-lease")
            if one["metadata"]["name"].startswith(self.pool)
        ]
        return [*claims, *nodes, *slices, *leases]

    def until_nothing_remains(self) -> None:
        """Waits until no machine is left, and nothing of one."""
        try:
            self.world.mirror.until(lambda: not self.remains(), "the machines to be gone", seconds=120)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; {self.remains()}; {self.story()}") from None

    def end_machines(self) -> None:
        """Deletes every NodeClaim of the pool, and waits until nothing is left of any."""
        for claim in self.claims():
            self._end(NODE_CLAIMS, claim["metadata"]["name"])
        self.until_nothing_remains()

    def leave(self) -> None:
        """Lets everything end, and waits for it."""
        self.remove_pods()
        self._end(POOLS, self.pool)
        self.end_machines()
        for name in self._types:
            self._end(TYPES, name)

    def _annotate(self, claim: str, faults: Mapping[str, str | None]) -> None:
        notes = {f"{PREFIX}{fault}": value for fault, value in faults.items()}
        self.api.patch(path_of(NODE_CLAIMS, claim), {"metadata": {"annotations": notes}})
