"""Random classes, claims, and what others hold already."""

from dra_oracle.parts import Dice, Part
from dra_oracle.publishing import DRIVERS, ROOT
from dra_oracle.world import Json

GPU, NIC = DRIVERS
MATCHED = (ROOT, ROOT, ROOT, f"{GPU}/model", f"{GPU}/numa", f"{NIC}/model", "example.com/unknown")
GUARDED = (
    f'device.attributes["{GPU}"].?model.orValue("") == "a"',
    f'has(device.attributes["{GPU}"].numa) && device.attributes["{GPU}"].numa == 0',
    f'"memory" in device.capacity["{GPU}"] && device.capacity["{GPU}"].memory.compareTo(quantity("40Gi")) >= 0',
    f'"model" in device.attributes["{NIC}"] && device.attributes["{NIC}"].model in ["a", "b"]',
    f'device.driver != "{GPU}" || device.attributes["{GPU}"].?healthy.orValue(true)',
    'device.attributes["resource.kubernetes.io"].?pcieRoot.orValue("") != "pci1"',
    "!device.allowMultipleAllocations",
)
FAILING = (
    f'device.attributes["{GPU}"].model == "a"',
    f'device.attributes["{GPU}"].numa < 1',
    f'device.capacity["{GPU}"].memory.isGreaterThan(quantity("10Gi"))',
    f'device.attributes["{GPU}"].driverVersion.isGreaterThan(semver("1.9.0"))',
    f'device.attributes["{NIC}"].model.startsWith("a")',
)
DERIVED = (
    f'device.attributes["{GPU}"].?model.orValue("none")',
    f'device.attributes["{GPU}"].?numa.orValue(7)',
    '"memory" in device.capacity[device.driver] ? "some" : "none"',
    "device.driver",
    "device.allowMultipleAllocations",
    f'device.attributes["{GPU}"].model',
)
UNCOMPILABLE = ("device.driver ==", "device.unknown", '"a"')
TOLERATIONS: tuple[Json, ...] = (
    {"operator": "Exists"},
    {"key": "broken", "operator": "Exists"},
    {"key": "broken", "operator": "Equal", "value": "yes"},
    {"key": "busy", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "busy", "operator": "Equal", "value": "maybe", "effect": "NoExecute"},
)


def classes(dice: Dice) -> list[Json]:
    """A class for each driver, one for all devices, one with an opinion."""
    selectors = {
        "gpu": [f'device.driver == "{GPU}"'],
        "nic": [f'device.driver == "{NIC}"'],
        "any": [],
        "gpu-a": [f'device.driver == "{GPU}"', f'device.attributes["{GPU}"].?model.orValue("a") == "a"'],
    }
    if dice.has(Part.RUNTIME_ERRORS, 0.05):
        selectors["gpu"].append(dice.one_of(FAILING))
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name, "uid": f"uid-{name}"},
            "spec": {"selectors": [_cel(text) for text in texts], **_class_config(dice, name)},
        }
        for name, texts in selectors.items()
    ]


def claims(dice: Dice) -> list[Json]:
    """The unallocated claims of one pod."""
    return [_claim(dice, number) for number in range(1 + dice.count((16, 4, 1)))]


def held(dice: Dice, slices: list[Json]) -> list[Json]:
    """Results of other claims' allocations over devices that are, or once were, published."""
    if not dice.has(Part.HELD, 0.7):
        return []
    results = []
    for piece in slices:
        for device in piece["spec"].get("devices", ()):
            if dice.luck(0.12):
                results += _holders(dice, piece["spec"], device)
    return results


def _holders(dice: Dice, spec: Json, device: Json) -> list[Json]:
    result: Json = {"request": "r", "driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
    if dice.has(Part.ADMIN, 0.15):
        return [{**result, "adminAccess": True}]
    if not device.get("allowMultipleAllocations") or dice.luck(0.1):
        return [result]
    shares = []
    for _ in range(dice.one_of((1, 1, 2))):
        share = {**result, "shareID": f"00000000-0000-4000-8000-{dice.random.randrange(10**12):012d}"}
        if dice.luck(0.9):
            share["consumedCapacity"] = {name: {"memory": "5Gi", "cores": "250m"}[name] for name in device["capacity"]}
        shares.append(share)
    return shares


def _cel(text: str) -> Json:
    return {"cel": {"expression": text}}


def _class_config(dice: Dice, name: str) -> Json:
    if not dice.has(Part.CONFIG, 0.3):
        return {}
    return {"config": [_opaque(f"class-{name}-{number}") for number in range(dice.one_of((1, 1, 2)))]}


def _opaque(text: str) -> Json:
    return {"opaque": {"driver": GPU, "parameters": {"kind": "Settings", "of": text}}}


def _claim(dice: Dice, number: int) -> Json:
    requests = [_request(dice, f"r{position}") for position in range(1 + dice.count((12, 5, 1)))]
    names = [request["name"] for request in requests]
    nested = [f"{request['name']}/{sub['name']}" for request in requests for sub in request.get("firstAvailable", ())]
    constraints = _constraints(dice, names + nested)
    config = []
    if dice.has(Part.CONFIG, 0.3):
        for position in range(dice.one_of((1, 1, 2))):
            scope = {"requests": dice.shuffled(dice.some_of(names + nested, 3))} if dice.luck(0.6) else {}
            config.append({**scope, **_opaque(f"claim-{number}-{position}")})
    devices: Json = {"requests": requests}
    devices |= {"constraints": constraints} if constraints else {}
    devices |= {"config": config} if config else {}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": f"c{number}", "namespace": "default", "uid": f"uid-c{number}"},
        "spec": {"devices": devices},
    }


def _constraints(dice: Dice, names: list[str]) -> list[Json]:
    constraints = []
    for part, field, chance in (
        (Part.MATCH, "matchAttribute", 0.25),
        (Part.MATCH, "matchAttribute", 0.1),
        (Part.DISTINCT, "distinctAttribute", 0.15),
    ):
        if dice.has(part, chance):
            scope = {"requests": dice.some_of(names, 3)} if dice.luck(0.5) else {}
            matched = (*MATCHED, f"{GPU}/links") if Part.LISTS in dice.parts else MATCHED
            matched = (*matched, "example.com/derived") if Part.DERIVED in dice.parts else matched
            constraints.append({**scope, field: dice.one_of(matched)})
    return constraints


def _request(dice: Dice, name: str) -> Json:
    if dice.has(Part.ALTERNATIVES, 0.3):
        alternatives = [{"name": f"s{number}", **_wish(dice)} for number in range(dice.one_of((1, 2, 2, 3)))]
        return {"name": name, "firstAvailable": alternatives}
    wish = _wish(dice)
    if dice.has(Part.ADMIN, 0.12):
        wish["adminAccess"] = True
    return {"name": name, "exactly": wish}


def _wish(dice: Dice) -> Json:
    name = dice.one_of(("gpu", "gpu", "gpu", "nic", "nic", "any", "any", "gpu-a"))
    if dice.has(Part.MISSING_CLASSES, 0.02):
        name = "missing"
    wish: Json = {"deviceClassName": name}
    selectors = _selectors(dice)
    wish |= {"selectors": selectors} if selectors else {}
    if dice.has(Part.ALL_MODE, 0.15):
        wish["allocationMode"] = "All"
    else:
        count = _count(dice)
        wish |= {"allocationMode": "ExactCount", "count": count}
    if dice.has(Part.TAINTS, 0.5):
        wish["tolerations"] = dice.some_of(TOLERATIONS, 2)
    if dice.has(Part.CAPACITY, 0.3):
        none = ("0",) if Part.ZEROS in dice.parts else ()
        amounts = {
            "memory": ("1Gi", "5Gi", "7Gi", "9Gi", "20Gi", "41Gi", *none),
            "cores": ("100m", "300m", "1", "1001m", *none),
        }
        asked = ["memory"] if dice.luck(0.85) else ["memory", "cores"]
        wish["capacity"] = {"requests": {name: dice.one_of(amounts[name]) for name in asked}}
    if dice.has(Part.DERIVED, 0.3):
        names = dice.one_of((["example.com/derived"], [f"{GPU}/model"], ["example.com/derived", ROOT]))
        wish["derivedAttributes"] = [{"name": each, "expression": dice.one_of(DERIVED)} for each in names]
    return wish


def _count(dice: Dice) -> int:
    if dice.has(Part.LARGE_COUNTS, 0.01):
        return 33
    if dice.has(Part.CROWDED, 0.2):
        return dice.one_of((2, 3, 4, 6, 9, 16, 17, 31))
    return 1 + dice.count((80, 15, 4, 1))


def _selectors(dice: Dice) -> list[Json]:
    texts = dice.some_of(GUARDED, 2) if dice.has(Part.SELECTORS, 0.25) else []
    if dice.has(Part.RUNTIME_ERRORS, 0.04):
        texts.append(dice.one_of(FAILING))
    if dice.has(Part.COMPILE_ERRORS, 0.01):
        texts.append(dice.one_of(UNCOMPILABLE))
    return [_cel(text) for text in dice.shuffled(texts)]
