"""Plans over candidates, written as short YAML: see `tests/scheduling/template_devices/README.md` for the words."""

from collections.abc import Mapping
from typing import Any

from dra_scheduling.basics.features import Features
from dra_scheduling.basics.requirements import Requirement, Requirements
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger, Source
from dra_scheduling.devices.ledger_entries import held_by, holder_of
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.node_selectors import NodeSelectorRequirement
from dra_scheduling.model.slices import DeviceClass, ResourceSlice
from dra_scheduling.template_devices import (
    Allotment,
    AttributeBindings,
    CandidateAnswer,
    DeviceHost,
    DeviceHostType,
    PodClaims,
    Published,
    Replanning,
    Scope,
    SearchBudget,
    TemplateAllocator,
    TemplateDevices,
)
from dra_scheduling.wire.objects import read_as

Json = dict[str, Any]
Written = Json | str
CLASSES: Mapping[str, Json] = {
    "a": {"selectors": [{"cel": {"expression": 'device.driver == "a"'}}]},
    "b": {"selectors": [{"cel": {"expression": 'device.driver == "b"'}}]},
    "any": {},
}
SCALARS = {bool: "bool", int: "int", str: "string"}
LABELS = {
    "zone": "topology.kubernetes.io/zone",
    "arch": "kubernetes.io/arch",
    "capacity": "karpenter.sh/capacity-type",
}


class Plan:
    """The world of a case, and the plan that is made in it."""

    def __init__(self, case: Json) -> None:
        self.features = Features.of(case.get("features", {}))
        self.classes = {
            name: read_as(DeviceClass, {"metadata": {"name": name}, "spec": spec})
            for name, spec in {**CLASSES, **case.get("classes", {})}.items()
        }
        self.claims = {key: claim_of(key, each) for key, each in case.get("claims", {"c": ["r"]}).items()}
        index = self.index = PoolIndex(self.features)
        for number, written in enumerate(case.get("slices", [])):
            index.apply(slice_of(number, written))
        ledger = self.ledger = ledger_of([*self.claims.values(), *held_claims(case.get("taken", []))])
        for pool in {device.pool_key for held in ledger.held.values() for device in held.everything}:
            index.teach(pool, ledger)
        initialized = case.get("initialized")
        self.types = {
            name: self.type_of(name, written, case.get("offerings", {}).get(name, []))
            for name, written in case.get("types", {"t": []}).items()
        }
        self.candidates = {
            name: self.candidate_of(name, written or {}) for name, written in case.get("candidates", {"nc": {}}).items()
        }
        self.allocator = TemplateAllocator(
            Published(index, None if initialized is None else frozenset(initialized)),
            ledger,
            bindings_of(case.get("bindings", [])),
            Replanning.of(case.get("deleting", []), self.claims.values()),
        )

    def type_of(self, name: str, templates: list[Json], offerings: list[Json]) -> DeviceHostType:
        slices = [slice_of(number, {"node": "all", "pool": "t", **each}) for number, each in enumerate(templates)]
        return DeviceHostType(
            name=name,
            devices=TemplateDevices(slices, self.features),
            offerings=tuple(requirements_of(each) for each in offerings),
        )

    def candidate_of(self, name: str, written: Json) -> DeviceHost:
        types = tuple(self.types[each] for each in written.get("types", self.types))
        if "labels" not in written:
            required = Requirements.of_new_node(*requirements_of(written.get("needs", {})))
            return DeviceHost.of_node_claim(name, required, types, written.get("node_pool", ""))
        place = NodePlace(name, {LABELS.get(key, key): value for key, value in written["labels"].items()})
        if written.get("setup"):
            return DeviceHost.of_node_being_set_up(place, types[0], written.get("node_pool", ""))
        return DeviceHost.of_node(place, types[0].name)

    def pod(self, *names: str) -> PodClaims:
        return PodClaims([self.claims[name] for name in names], self.classes, self.features)

    def ask(self, candidate: str, names: list[str], budget: SearchBudget | None = None) -> CandidateAnswer:
        return self.allocator.allocate(self.pod(*names), self.candidates[candidate], budget or SearchBudget())


def given(answer: Allotment) -> dict[str, list[str]]:
    """The devices of every type: `pool/device`, with `~` before those of a template."""
    return {
        one.name: [
            f"{'~' if use.is_template else ''}{use.device.pool}/{use.device.device}"
            for claim in one.claims
            for use in claim.uses
        ]
        for one in answer.served
    }


def needs_of(requirements: tuple[Requirement, ...]) -> dict[str, list[str]]:
    """Requirements as the cases write them; `!` marks a value that is excluded."""
    short = {name: key for key, name in LABELS.items()}
    return {
        short.get(wanted.key, wanted.key): [
            f"{'!' if wanted.excludes else ''}{value}" for value in sorted(wanted.values)
        ]
        for wanted in requirements
    }


def requirements_of(written: Json) -> tuple[Requirement, ...]:
    return tuple(Requirement.of(read_as(NodeSelectorRequirement, each)) for each in expressions(written))


def expressions(written: Json) -> list[Json]:
    """`zone: [a, b]` means one of these, `zone: [!a]` none of these, `zone: {operator: ...}` what it says."""
    found = []
    for key, values in written.items():
        entry: Json = {"key": LABELS.get(key, key)}
        if isinstance(values, dict):
            entry |= values
        else:
            listed = values if isinstance(values, list) else [values]
            is_negative = bool(listed) and str(listed[0]).startswith("!")
            entry |= {
                "operator": "NotIn" if is_negative else "In",
                "values": [str(each).lstrip("!") for each in listed],
            }
        found.append(entry)
    return found


def selector_of(where: list[Json] | Json) -> Json:
    if isinstance(where, dict) and "nodeSelectorTerms" in where:
        return where
    terms = where if isinstance(where, list) else [where]
    return {"nodeSelectorTerms": [{"matchExpressions": expressions(term)} for term in terms]}


def reach(where: list[Json] | Written) -> Json:
    if not isinstance(where, str):
        return {"nodeSelector": selector_of(where)}
    flags = {"all": "allNodes", "each": "perDeviceNodeSelection"}
    return {flags[where]: True} if where in flags else {"nodeName": where}


def attribute(value: Json | list[str] | str | int) -> Json:
    if isinstance(value, dict):
        return value
    return {"strings": value} if isinstance(value, list) else {SCALARS[type(value)]: value}


def device(written: Written) -> Json:
    said: Json = {"name": written} if isinstance(written, str) else written
    policies = said.get("policy", {})
    return {
        "name": said["name"],
        "attributes": {key: attribute(value) for key, value in said.get("is", {}).items()},
        "capacity": {
            key: {"value": str(value), **({"requestPolicy": policies[key]} if key in policies else {})}
            for key, value in said.get("has", {}).items()
        },
        "consumesCounters": [
            {
                "counterSet": name,
                "counters": {key: {"value": str(amount)} for key, amount in counters.items()},
                "compatibilityGroups": said.get("groups", {}).get(name, []),
            }
            for name, counters in said.get("draws", {}).items()
        ],
        "allowMultipleAllocations": said.get("shared", False),
        "bindsToNode": said.get("binds", False),
        "bindingConditions": said.get("ready", []),
        "bindingFailureConditions": said.get("failed", []),
        "nodeAllocatableResources": said.get("of_node", {}),
        **(reach(said["node"]) if "node" in said else {}),
    }


def slice_of(number: int, written: Json) -> ResourceSlice:
    name = written.get("name", f"s{number}")
    owners = [{"apiVersion": "v1", "kind": "Node", "name": each, "uid": each} for each in written.get("owner", [])]
    pool = {
        "name": written.get("pool", "p"),
        "generation": written.get("generation", 1),
        "resourceSliceCount": written.get("count", 1),
    }
    counters = [
        {"name": key, "counters": {each: {"value": str(value)} for each, value in amounts.items()}}
        for key, amounts in written.get("counters", [])
    ]
    spec = {
        "driver": written.get("driver", "a"),
        "pool": pool,
        **reach(written.get("node", "all")),
        "devices": [device(each) for each in written.get("devices", [])],
        "sharedCounters": counters,
    }
    return read_as(ResourceSlice, {"metadata": {"name": name, "ownerReferences": owners}, "spec": spec})


def wish(written: Json) -> Json:
    count = written.get("count", 1)
    selectors = [{"cel": {"expression": text}} if isinstance(text, str) else text for text in written.get("where", [])]
    amounts = {key: str(value) for key, value in written.get("takes", {}).items()}
    return {
        "deviceClassName": written.get("class", "a"),
        "selectors": selectors,
        **({"allocationMode": "All"} if count == "all" else {"count": count}),
        "tolerations": [{"key": key, "operator": "Exists"} for key in written.get("tolerates", [])],
        **({"adminAccess": True} if written.get("admin") else {}),
        **({"capacity": {"requests": amounts}} if amounts else {}),
        "derivedAttributes": [{"name": name, "expression": text} for name, text in written.get("derives", {}).items()],
    }


def request(written: Written) -> Json:
    said: Json = {"name": written} if isinstance(written, str) else written
    if "first" in said:
        return {"name": said["name"], "firstAvailable": [{"name": sub["name"], **wish(sub)} for sub in said["first"]]}
    return {"name": said["name"], "exactly": wish(said)}


def claim_of(name: str, written: list[Written] | Json) -> ResourceClaim:
    """A claim; `namespace/name` puts it in another namespace than `default`."""
    said: Json = {"requests": written} if isinstance(written, list) else written
    namespace, _, short = name.rpartition("/")
    constraints = [
        {f"{kind}Attribute": key, "requests": requests}
        for kind in ("match", "distinct")
        for key, requests in said.get(kind, [])
    ] + said.get("constraints", [])
    asked = {"requests": [request(each) for each in said.get("requests", ["r"])], "constraints": constraints}
    metadata = {"name": short, "namespace": namespace or "default", "uid": f"uid-{name}"}
    return read_as(ResourceClaim, {"metadata": metadata, "spec": {"devices": asked}, "status": status_of(said)})


def status_of(said: Json) -> Json:
    if "has" not in said:
        return {}
    allocation: Json = {"devices": {"results": [result_of(number, each) for number, each in enumerate(said["has"])]}}
    if "at" in said:
        allocation["nodeSelector"] = selector_of(said["at"])
    users = [
        {"resource": "pods", "name": each, "uid": each} if isinstance(each, str) else each
        for each in said.get("users", [])
    ]
    return {"allocation": allocation, "reservedFor": users}


def result_of(number: int, written: Written) -> Json:
    text, amounts = (written, None) if isinstance(written, str) else (written["device"], written.get("takes", {}))
    id_ = device_id(text)
    found: Json = {"request": "r", "driver": id_.driver, "pool": id_.pool, "device": id_.device}
    if amounts is not None:
        found |= {"shareID": f"share-{number}", "consumedCapacity": {key: str(value) for key, value in amounts.items()}}
    if isinstance(written, dict) and written.get("admin"):
        found["adminAccess"] = True
    return found


def device_id(text: str) -> DeviceID:
    """`pool/device`, of driver `a` unless there is a driver in front."""
    *driver, pool, name = text.split("/")
    return DeviceID(driver[0] if driver else "a", pool, name)


def held_claims(taken: list[Written]) -> list[ResourceClaim]:
    return [claim_of(f"held-{number}", {"has": [each]}) for number, each in enumerate(taken)]


def ledger_of(claims: list[ResourceClaim]) -> Ledger:
    ledger = Ledger()
    for claim in claims:
        held = held_by(holder_of(claim), claim.status.allocation)
        ledger.hold(Source("claim", claim.metadata.uid), held.holder, held.devices, held.shares)
    return ledger


def bindings_of(written: list[Json]) -> AttributeBindings:
    declared = {
        Scope(each["attribute"], each.get("node_pool", ""), each.get("type", "t")): [
            [device_id(text) for text in group] for group in each["groups"]
        ]
        for each in written
    }
    return AttributeBindings(declared)
