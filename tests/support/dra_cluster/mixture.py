"""A part of the cluster with devices of every kind, and kinds of pods that use every feature on them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from dra_builders import manifests
from dra_builders.manifests import from_template
from dra_cluster.world import World
from dra_controlplane.client import Json

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
ADMIN_LABEL = "resource.kubernetes.io/admin-access"
WORN = {"key": "example.com/worn", "operator": "Exists"}
LEAVING = {"key": "example.com/leaving", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3600}

MIX: Mapping[str, int] = MappingProxyType(
    {
        "alternatives": 4,
        "half": 2,
        "quarter": 2,
        "whole": 1,
        "share": 6,
        "near": 2,
        "apart": 2,
        "worn": 1,
        "leaving": 1,
        "monitor": 2,
        "everything": 1,
        "link": 3,
        "extended-part": 2,
        "extended-share": 2,
    }
)
"""How many pods of each kind are a handful: more of some than there is room for at once."""


class Mixture:
    """Two nodes with whole devices, partitions, shareable devices and network cards, and links between them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._network = f"nic-{world.id}.example.com"
        self.slices: list[Json] = []

    def set_up(self) -> None:
        """Creates nodes, slices, classes and templates; the namespace gets the label of admin access."""
        self._world.label_namespace(**{ADMIN_LABEL: "true"})
        nodes = [self._world.node(stem) for stem in ("n1", "n2")]
        for node in nodes:
            self._publish(node, "whole", _whole_devices(), nodeName=node)
            self._publish(node, "shared", _shareable_devices(), nodeName=node)
            self._publish(node, "parts", _partitions(), sets=_counters(memory="80Gi"), nodeName=node)
            self._publish(node, "nics", _network_cards(), driver=self._network, nodeName=node)
        self._publish(
            self._world.named("rack"), "links", _links(nodes), sets=_counters(links="4"), reach={"allNodes": True}
        )
        self._classes()
        for name, (requests, constraints) in self._templates().items():
            self._world.create(manifests.template(name, *requests, constraints=list(constraints)))

    def pod(self, kind: str, name: str) -> None:
        """Creates a pod of a kind in `MIX`."""
        if kind.startswith("extended-"):
            self._world.pod(name, limits={self._resource(kind): 1})
        else:
            self._world.pod(name, from_template("gpu", kind))

    def _publish(
        self,
        owner: str,
        stem: str,
        devices: Sequence[Json],
        *,
        driver: str = "",
        sets: Sequence[Json] = (),
        reach: Mapping[str, object] | None = None,
        **own: object,
    ) -> None:
        """Publishes one pool; counters are in a slice of their own, which `reach` is for if devices say theirs."""
        pool = manifests.pool(f"{owner}-{stem}", count=2 if sets else 1)
        own = own or {"perDeviceNodeSelection": True}
        driver = driver or self._world.driver
        body = manifests.resource_slice(f"{owner}-{stem}", driver=driver, pool=pool, devices=devices, **own)
        self.slices.append(self._world.create(body))
        if sets:
            body = manifests.resource_slice(
                f"{owner}-{stem}-sets", driver=driver, pool=pool, devices=(), **(reach or own)
            )
            del body["spec"]["devices"]
            body["spec"]["sharedCounters"] = list(sets)
            self.slices.append(self._world.create(body))

    def _classes(self) -> None:
        driver = self._world.driver
        for kind in ("whole", "shared", "half", "quarter", "full", "link"):
            extended = {"quarter": self._resource("extended-part"), "shared": self._resource("extended-share")}.get(
                kind, ""
            )
            expressions = f"device.driver == '{driver}'", f"device.attributes['{driver}'].kind == '{kind}'"
            self._world.create(manifests.device_class(self._class(kind), *expressions, extended=extended))
        self._world.create(manifests.device_class(self._class("nic"), f"device.driver == '{self._network}'"))

    def _class(self, kind: str) -> str:
        return f"{self._world.named(kind)}.example.com"

    def _resource(self, kind: str) -> str:
        return f"{self._world.id}.example.com/{kind}"

    def _templates(self) -> dict[str, tuple[Sequence[Json], Sequence[Json]]]:
        """Requests and constraints of the claims of each kind of pod."""
        is_big = f"device.attributes['{self._world.driver}'].size == 'big'"
        big = {"name": "big", "deviceClassName": self._class("whole"), "selectors": [{"cel": {"expression": is_big}}]}
        quarter = {"name": "quarter", "deviceClassName": self._class("quarter")}
        nic = self._class("nic")
        pair = self._ask("gpu", "whole"), manifests.request("nic", nic, capacity=_amount(bandwidth="10G"))
        ports = manifests.request("a", nic), manifests.request("b", nic)
        return {
            "alternatives": ([{"name": "gpu", "firstAvailable": [big, quarter]}], ()),
            "half": ([self._ask("gpu", "half")], ()),
            "quarter": ([self._ask("gpu", "quarter")], ()),
            "whole": ([self._ask("gpu", "full")], ()),
            "share": ([self._ask("gpu", "shared", capacity=_amount(memory="13Gi"))], ()),
            "near": (pair, [{"matchAttribute": PCIE_ROOT}]),
            "apart": (ports, [{"distinctAttribute": f"{self._network}/port"}]),
            "worn": ([self._ask("gpu", "whole", tolerations=[WORN])], ()),
            "leaving": ([self._ask("gpu", "whole", tolerations=[LEAVING])], ()),
            "monitor": (
                [self._ask("gpu", "whole", allocationMode="All", adminAccess=True, tolerations=[WORN, LEAVING])],
                (),
            ),
            "everything": (
                [manifests.request("nics", nic, allocationMode="All", capacity=_amount(bandwidth="5G"))],
                (),
            ),
            "link": ([self._ask("gpu", "link")], ()),
        }

    def _ask(self, name: str, kind: str, **rest: object) -> Json:
        return manifests.request(name, self._class(kind), **rest)


def _amount(**amounts: str) -> Json:
    return {"requests": amounts}


def _whole_devices() -> list[Json]:
    """Four devices: two sizes, two PCIe roots, one worn out and one about to leave."""
    found = [
        manifests.device(
            f"gpu-{number}", kind="whole", size="big" if number < 2 else "small", **{PCIE_ROOT: f"root{number % 2}"}
        )
        for number in range(4)
    ]
    found[2]["taints"] = [{"key": WORN["key"], "effect": "NoSchedule"}]
    found[3]["taints"] = [{"key": LEAVING["key"], "effect": "NoExecute"}]
    return found


def _shareable_devices() -> list[Json]:
    memory = {"value": "40Gi", "requestPolicy": {"default": "5Gi", "validRange": {"min": "5Gi", "step": "5Gi"}}}
    return [_shareable(manifests.device("shared-0", kind="shared"), memory=memory)]


def _network_cards() -> list[Json]:
    bandwidth = {"value": "40G", "requestPolicy": {"default": "10G"}}
    cards = [manifests.device(f"nic-{port}", port=port, **{PCIE_ROOT: f"root{port}"}) for port in range(2)]
    return [_shareable(card, bandwidth=bandwidth) for card in cards]


def _shareable(device: Json, **capacity: Json) -> Json:
    return {**device, "allowMultipleAllocations": True, "capacity": capacity}


def _partitions() -> list[Json]:
    sizes = [("full", 1, "80Gi"), ("half", 2, "40Gi"), ("quarter", 4, "20Gi")]
    return [
        {**manifests.device(f"{kind}-{number}", kind=kind), "consumesCounters": _draws(memory=memory)}
        for kind, count, memory in sizes
        for number in range(count)
    ]


def _links(nodes: Sequence[str]) -> list[Json]:
    """Links that draw from one counter, of each node and of all nodes."""
    owns: list[tuple[str, Json]] = [(f"own-{number}", {"nodeName": node}) for number, node in enumerate(nodes)]
    return [
        {**manifests.device(name, kind="link"), "consumesCounters": _draws(links="2"), **reach}
        for name, reach in [*owns, ("any", {"allNodes": True})]
    ]


def _counters(**totals: str) -> list[Json]:
    return [{"name": "all", "counters": {name: {"value": value} for name, value in totals.items()}}]


def _draws(**amounts: str) -> list[Json]:
    return [{"counterSet": "all", "counters": {name: {"value": value} for name, value in amounts.items()}}]
