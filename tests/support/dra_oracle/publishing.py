"""Random pools: what drivers publish."""

import copy

from dra_oracle.parts import Dice, Part
from dra_oracle.world import Json

NODE = "node-1"
ELSEWHERE = "node-2"
LABELS = {"zone": "a", "rack": "7"}
DRIVERS = ("gpu.example.com", "nic.example.com")
ROOT = "resource.kubernetes.io/pcieRoot"
COUNTERS = ("memory", "slots")


def slices(dice: Dice) -> list[Json]:
    """The slices of one to four pools, in any order."""
    keys = [(driver, name) for driver in DRIVERS for name in ("p", "q")]
    published = [piece for driver, name in dice.some_of(keys, 4) for piece in _pool(dice, driver, name)]
    return dice.shuffled(published)


def rules(dice: Dice, slices: list[Json]) -> list[Json]:
    """Taint rules for some of what is published, or for nothing there is."""
    if not dice.has(Part.RULES, 0.4):
        return []
    places = [{"driver": "other.example.com", "pool": "p", "device": "d0"}]
    for piece in slices:
        spec = piece["spec"]
        place = {"driver": spec["driver"], "pool": spec["pool"]["name"]}
        places += [{**place, "device": device["name"]} for device in spec.get("devices", ())]
    return [_rule(dice, f"rule-{number}", dice.one_of(places)) for number in range(dice.one_of((1, 1, 2, 3)))]


def _rule(dice: Dice, name: str, place: Json) -> Json:
    fields = dice.one_of((["device", "pool", "driver"], ["pool", "driver"], ["pool"], ["device"], ["driver"], []))
    selector = {} if dice.luck(0.1) else {"deviceSelector": {field: place[field] for field in fields}}
    return {"metadata": {"name": name}, "spec": {**selector, "taint": _taint(dice)}}


def _pool(dice: Dice, driver: str, name: str) -> list[Json]:
    generation = 2
    devices = _devices(dice, driver)
    sets = _counter_sets(dice, devices)
    if dice.has(Part.DUPLICATES, 0.06) and devices:
        devices.append(dict(dice.one_of(devices)))
    spread = dice.count((0, 6, 2, 1)) if Part.SEVERAL_SLICES in dice.parts else 1
    parts: list[Json] = [{"devices": devices[number::spread]} for number in range(spread)]
    parts += [{"sharedCounters": sets}] if sets else []
    place = _place(dice)
    names = dice.shuffled([f"{driver[:3]}-{name}-{letter}" for letter in "abcde"[: len(parts)]])
    pieces = [
        _slice(piece_name, driver, _pool_of(name, generation, len(parts)), _placed(dice, part, place))
        for piece_name, part in zip(names, parts, strict=True)
    ]
    return [*_damaged(dice, pieces), *_other_generation(dice, driver, name, generation)]


def _pool_of(name: str, generation: int, count: int) -> Json:
    return {"name": name, "generation": generation, "resourceSliceCount": count}


def _slice(name: str, driver: str, pool: Json, content: Json) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"driver": driver, "pool": pool, **content},
    }


def _damaged(dice: Dice, pieces: list[Json]) -> list[Json]:
    """The slices, sometimes as a driver or a watch leaves them half-way."""
    if dice.has(Part.INCOMPLETE, 0.05):
        if len(pieces) > 1 and dice.luck(0.5):
            return pieces[1:]
        for piece in pieces:
            piece["spec"]["pool"]["resourceSliceCount"] += 1
    elif dice.has(Part.DISAGREEING, 0.04) and len(pieces) > 1:
        dice.one_of(pieces)["spec"]["pool"]["resourceSliceCount"] += dice.one_of((1, -1))
    return pieces


def _other_generation(dice: Dice, driver: str, name: str, generation: int) -> list[Json]:
    """Sometimes a slice of an older or a newer generation of the same pool."""
    if not dice.has(Part.GENERATIONS, 0.12):
        return []
    other = dice.one_of((generation - 1, generation - 1, generation + 1))
    devices = [_device(dice, driver, number) for number in range(dice.count((1, 2, 2)))]
    content = _placed(dice, {"devices": devices}, _place(dice))
    return [_slice(f"{driver[:3]}-{name}-g{other}", driver, _pool_of(name, other, dice.one_of((1, 1, 2))), content)]


def _place(dice: Dice) -> Json:
    options: list[tuple[float, Json]] = [(8, {"nodeName": NODE})]
    if Part.ELSEWHERE in dice.parts:
        options.append((0.7, {"nodeName": ELSEWHERE}))
    if Part.NODE_SELECTORS in dice.parts:
        options.append((1, {"nodeSelector": _selector(dice)}))
    if Part.ALL_NODES in dice.parts:
        options.append((1, {"allNodes": True}))
    return dice.random.choices([place for _, place in options], [weight for weight, _ in options])[0]


def _placed(dice: Dice, part: Json, place: Json) -> Json:
    """The part of a pool, where the pool is, or where it says itself."""
    if dice.has(Part.PER_DEVICE, 0.12):
        devices = [{**device, **_place(dice)} for device in part.get("devices", ())]
        return {**part, "perDeviceNodeSelection": True, **({"devices": devices} if devices else {})}
    return {**part, **(_place(dice) if dice.luck(0.1) else place)}


def _selector(dice: Dice) -> Json:
    expressions = [
        {"key": "zone", "operator": "In", "values": ["a", "c"]},
        {"key": "zone", "operator": "In", "values": ["a"]},
        {"key": "zone", "operator": "NotIn", "values": ["b"]},
        {"key": "rack", "operator": "Gt", "values": ["5"]},
        {"key": "rack", "operator": "Exists"},
        {"key": "zone", "operator": "In", "values": ["b"]},
        {"key": "fast", "operator": "DoesNotExist"},
    ]
    if dice.luck(0.05):
        return {"nodeSelectorTerms": [{}]}
    term: Json = {"matchExpressions": dice.some_of(expressions, 2)}
    if dice.luck(0.2):
        term["matchFields"] = [{"key": "metadata.name", "operator": "In", "values": [NODE]}]
    return {"nodeSelectorTerms": [term]}


def _devices(dice: Dice, driver: str) -> list[Json]:
    if not dice.has(Part.CROWDED, 0.35):
        return [_device(dice, driver, number) for number in range(dice.count((1, 2, 4, 5, 6, 6, 4, 2)))]
    models = [_device(dice, driver, 0) for _ in range(dice.one_of((1, 2, 3)))]
    count = dice.one_of((9, 12, 20, 34))
    return [{**copy.deepcopy(dice.one_of(models)), "name": f"d{number:02}"} for number in range(count)]


def _device(dice: Dice, driver: str, number: int) -> Json:
    device: Json = {"name": f"d{number}"}
    attributes = _attributes(dice, driver)
    if attributes:
        device["attributes"] = attributes
    if dice.luck(0.8):
        device["capacity"] = {"memory": {"value": dice.one_of(("10Gi", "40Gi", "80Gi"))}}
    if dice.has(Part.CAPACITY, 0.35):
        _make_shareable(dice, device)
    if dice.has(Part.TAINTS, 0.15):
        device["taints"] = [_taint(dice) for _ in range(dice.one_of((1, 1, 2)))]
    if dice.has(Part.BINDS_TO_NODE, 0.1):
        device["bindsToNode"] = True
    if dice.has(Part.BINDING, 0.12):
        device["bindingConditions"] = dice.one_of((["example.com/attached"], ["example.com/attached", "ready"]))
        if dice.luck(0.6):
            device["bindingFailureConditions"] = ["example.com/failed"]
    return device


def _attributes(dice: Dice, driver: str) -> Json:
    attributes: Json = {}
    if dice.luck(0.9):
        name = dice.one_of(("model", "model", f"{driver}/model"))
        attributes[name] = {"string": dice.one_of(("a", "a", "b", "c"))}
    if dice.luck(0.85):
        attributes[ROOT] = {"string": dice.one_of(("pci0", "pci0", "pci1"))} if dice.luck(0.95) else {"int": 0}
    if dice.luck(0.7):
        attributes["numa"] = {"int": dice.one_of((0, 0, 1))}
    if dice.luck(0.4):
        attributes["driverVersion"] = {"version": dice.one_of(("1.2.3", "2.0.0", "2.0.0-rc.1"))}
    if dice.luck(0.3):
        attributes["healthy"] = {"bool": dice.luck(0.7)}
    if dice.has(Part.LISTS, 0.6):
        attributes["links"] = dice.one_of(
            (
                {"strings": dice.some_of(("x", "y", "z"), 2)},
                {"strings": dice.some_of(("x", "y", "z"), 3)},
                {"string": dice.one_of(("x", "y"))},
                {"ints": dice.some_of((0, 1, 2), 2)},
                {"versions": ["1.0.0", "2.0.0"]},
                {"bools": [dice.luck(0.5)]},
            )
        )
    return attributes


def _make_shareable(dice: Dice, device: Json) -> None:
    device["allowMultipleAllocations"] = True
    capacity = device.setdefault("capacity", {})
    policies: tuple[Json | None, ...] = (
        None,
        {"default": "10Gi"},
        {"default": "5Gi", "validValues": ["5Gi", "10Gi", "20Gi"]},
        {"default": "4Gi", "validRange": {"min": "4Gi", "max": "32Gi", "step": "4Gi"}},
        {"default": "2Gi", "validRange": {"min": "2Gi", "step": "3Gi"}},
        {"default": "2Gi", "validRange": {"min": "2Gi"}},
    )
    policy = dice.one_of(policies)
    sizes = ("10Gi", "40Gi", "0") if Part.ZEROS in dice.parts else ("10Gi", "40Gi")
    capacity["memory"] = {"value": dice.one_of(sizes), **({"requestPolicy": policy} if policy else {})}
    if dice.luck(0.4):
        cores = {"default": "250m", "validRange": {"min": "250m", "max": "2", "step": "250m"}}
        capacity["cores"] = {"value": dice.one_of(("1", "2500m")), "requestPolicy": cores}


def _taint(dice: Dice) -> Json:
    taint: Json = {
        "key": dice.one_of(("broken", "busy")),
        "effect": dice.one_of(("NoSchedule", "NoExecute", "None", "Later")),
    }
    if dice.luck(0.6):
        taint["value"] = dice.one_of(("yes", "maybe"))
    return {**taint, "timeAdded": "2026-01-01T00:00:00Z"}


def _counter_sets(dice: Dice, devices: list[Json]) -> list[Json]:
    """The counter sets of a partitioned pool, after making its devices consume them."""
    if not devices or not dice.has(Part.COUNTERS, 0.3):
        return []
    names = ["set-0", "set-1"][: dice.one_of((1, 1, 2))]
    for device in devices:
        if dice.luck(0.9):
            used = dice.some_of(names, 2 if dice.luck(0.2) else 1)
            device["consumesCounters"] = [_consumption(dice, name) for name in used]
    return [
        {
            "name": name,
            "counters": {
                "memory": {"value": dice.one_of(("40Gi", "80Gi"))},
                "slots": {"value": dice.one_of(("2", "3", "7"))},
            },
        }
        for name in names
    ]


def _consumption(dice: Dice, name: str) -> Json:
    if dice.has(Part.DUPLICATES, 0.01):
        name = "no-such-set"
    slots = ("0", "1", "2") if Part.ZEROS in dice.parts else ("1", "2")
    amounts = {"memory": {"value": dice.one_of(("10Gi", "20Gi", "40Gi"))}, "slots": {"value": dice.one_of(slots)}}
    consumption = {"counterSet": name, "counters": {key: amounts[key] for key in dice.some_of(COUNTERS, 2)}}
    if dice.has(Part.COMPATIBILITY, 0.6):
        consumption["compatibilityGroups"] = dice.some_of(("g1", "g2", "g3"), 2)
    return consumption
