"""A world with every feature of DRA, mutilated: what is wrong is named, and a neighbour is scheduled all the same."""

import json

import yaml
from hypothesis import assume, given

from dra_cases.command import Ended, dra
from dra_cases.mutilation import Json, mutilated

WORLD = """
- {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: a}}, status: {allocatable: {cpu: 8, pods: 9}}}
- apiVersion: resource.k8s.io/v1
  kind: DeviceClass
  metadata: {name: gpu}
  spec:
    selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]
    config: [{opaque: {driver: gpu.example.com, parameters: {mode: fast}}}]
    extendedResourceName: example.com/gpu
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: counters}
  spec:
    driver: gpu.example.com
    nodeName: n1
    pool: {name: parts, generation: 3, resourceSliceCount: 2}
    sharedCounters: [{name: board, counters: {memory: {value: 8Gi}, slots: {value: 2}}}]
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: parts}
  spec:
    driver: gpu.example.com
    nodeName: n1
    pool: {name: parts, generation: 3, resourceSliceCount: 2}
    devices:
    - &part
      name: part-0
      attributes: {model: {string: A100}, numa: {int: 0}, driverVersion: {version: 1.2.3}, ok: {bool: true}}
      capacity: {memory: {value: 4Gi}}
      consumesCounters: [{counterSet: board, counters: {memory: {value: 4Gi}, slots: {value: 1}}}]
    - {<<: *part, name: part-1}
    - {<<: *part, name: part-2, taints: [{key: broken, value: really, effect: NoSchedule}]}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: shared}
  spec:
    driver: gpu.example.com
    perDeviceNodeSelection: true
    pool: {name: shared, generation: 1, resourceSliceCount: 1}
    devices:
    - name: shared-0
      nodeName: n1
      allowMultipleAllocations: true
      attributes: {numa: {int: 1}, resource.kubernetes.io/pcieRoot: {string: pci0000:01}}
      capacity:
        memory: {value: 8Gi, requestPolicy: {default: 1Gi, validRange: {min: 1Gi, max: 4Gi, step: 512Mi}}}
        lanes: {value: 16, requestPolicy: {default: 4, validValues: [4, 8]}}
    - name: shared-1
      nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}
      bindsToNode: true
      bindingConditions: [attached]
      bindingFailureConditions: [failed]
      attributes: {numa: {int: 1}}
- apiVersion: resource.k8s.io/v1
  kind: DeviceTaintRule
  metadata: {name: rule}
  spec: {deviceSelector: {driver: gpu.example.com, pool: parts, device: part-1}, taint: {key: k, effect: NoExecute}}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {name: choosy}
  spec:
    devices:
      requests:
      - name: first
        firstAvailable:
        - name: large
          deviceClassName: gpu
          selectors: [{cel: {expression: 'device.attributes["gpu.example.com"].model == "H100"'}}]
          count: 2
        - {name: small, deviceClassName: gpu, tolerations: [{key: broken, operator: Exists}]}
      - name: second
        exactly: {deviceClassName: gpu, allocationMode: ExactCount, count: 1, capacity: {requests: {memory: 2Gi}}}
      constraints:
      - {matchAttribute: gpu.example.com/numa, requests: [first]}
      - {distinctAttribute: gpu.example.com/numa}
      config: [{requests: [second], opaque: {driver: gpu.example.com, parameters: {a: [1]}}}]
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {name: held}
  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, adminAccess: true, allocationMode: All}}]}}
  status:
    reservedFor: [{resource: pods, name: gone, uid: u1}]
    allocation:
      nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}
      devices:
        results:
        - {request: r, driver: gpu.example.com, pool: parts, device: part-0}
        - {request: r, driver: gpu.example.com, pool: shared, device: shared-0, shareID: s,
           consumedCapacity: {memory: 1Gi, lanes: 4}}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaimTemplate
  metadata: {name: template}
  spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: 1}}]}}}
- apiVersion: v1
  kind: Pod
  metadata: {name: victim}
  spec:
    schedulerName: dra-scheduler
    tolerations: [{key: k, operator: Exists}]
    resourceClaims:
    - {name: c, resourceClaimName: choosy}
    - {name: t, resourceClaimTemplateName: template}
    containers:
    - {name: c, resources: {claims: [{name: c}, {name: t}], requests: {cpu: 1}, limits: {example.com/gpu: 1}}}
"""
NEIGHBOUR = """
- {apiVersion: v1, kind: Node, metadata: {name: next-door}, status: {allocatable: {cpu: 8, pods: 99}}}
- apiVersion: resource.k8s.io/v1
  kind: DeviceClass
  metadata: {name: sound}
  spec: {selectors: [{cel: {expression: 'device.driver == "sound.example.com"'}}]}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: next-door}
  spec:
    driver: sound.example.com
    nodeName: next-door
    pool: {name: next-door, generation: 1, resourceSliceCount: 1}
    devices: [{name: d0}]
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {name: sound, namespace: next-door}
  # A rule that has lost its selector taints every device.
  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: sound, tolerations: [{operator: Exists}]}}]}}
- apiVersion: v1
  kind: Pod
  metadata: {name: sound, namespace: next-door}
  spec:
    schedulerName: dra-scheduler
    resourceClaims: [{name: c, resourceClaimName: sound}]
    containers: [{name: c, resources: {claims: [{name: c}]}}]
"""
# Anchors only save lines here; objects that share parts would be mutilated together.
OBJECTS: list[Json] = json.loads(json.dumps(yaml.safe_load(WORLD)))
SOUND: list[Json] = yaml.safe_load(NEIGHBOUR)


def run(objects: list[Json], *words: str) -> Ended:
    return dra(words[0], "-", *words[1:], text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


def assert_whole_lines(ended: Ended) -> None:
    assert all(len(line.split(": ", 3)) == 4 for line in ended.problems), ended.err


def neighbour(ended: Ended) -> list[tuple[str, str]]:
    """Return where the pod next door goes, and with which device."""
    requests = [item["spec"] for item in json.loads(ended.out)["bindRequests"]]
    return [
        (spec["selectedNode"], result["device"])
        for spec in requests
        if spec["podName"] == "sound"
        for claim in spec["resourceClaimAllocations"]
        for result in claim["allocation"]["devices"]["results"]
    ]


def test_the_world_is_sound_before_it_is_mutilated() -> None:
    ended = run([*OBJECTS, *SOUND], "simulate", "--explain", "victim")
    assert (ended.code, ended.err) == (0, "")
    assert neighbour(ended) == [("next-door", "d0")]


@given(mutilated(OBJECTS))
def test_whatever_is_next_door_a_sound_pod_gets_its_device(objects: list[Json]) -> None:
    ended = run([*objects, *SOUND], "simulate", "--all-pods", "--explain", "next-door/sound")
    assert ended.code in {0, 2}
    if ended.code == 2:
        assert_whole_lines(ended)
    assert neighbour(ended) == [("next-door", "d0")]


@given(mutilated(OBJECTS))
def test_whatever_is_wrong_the_checks_name_object_and_path(objects: list[Json]) -> None:
    ended = run(objects, "check", "-o", "json")
    assert ended.code in {0, 1, 2}
    if ended.code == 2:
        assert_whole_lines(ended)
    for finding in json.loads(ended.out):
        assert finding["file"] == "-"
        assert finding["object"]
        assert finding["path"].startswith("$") or finding["object"].startswith("document")
        assert finding["message"]
        assert "\n" not in finding["message"]


@given(mutilated(OBJECTS))
def test_the_figures_of_a_story_add_up_and_fit_what_is_decided(objects: list[Json]) -> None:
    ended = run(objects, "simulate", "--explain", "victim")
    assume(ended.out)
    told = json.loads(ended.out)["explanation"]
    if told["nodes"]:
        assert any(group["fits"] for group in told["nodes"]) == told["outcome"].startswith("goes to node")
    for group in told["nodes"]:
        for asked in group["requests"]:
            selected = asked["selectors"][-1]["left"] if asked["selectors"] else asked["ofClass"]
            parts = ("lackingCapacity", "needingFeature", "tainted", "taken", "withoutRoom", "withoutCounters")
            assert selected == asked["available"] + sum(asked[part] for part in parts)


BROKEN = {"InvalidClaim", "InvalidDeviceClass", "DeviceClassMissing"}
CLAIM = "ResourceClaim default/choosy"


@given(mutilated(OBJECTS))
def test_the_checks_know_what_the_scheduler_refuses(objects: list[Json]) -> None:
    ended = run(objects, "simulate")
    assume(ended.out)
    result, findings = json.loads(ended.out), json.loads(run(objects, "check", "-o", "json").out)
    refused = {reason["reason"] for left in result["pending"] for reason in left["reasons"]}
    assert not refused & BROKEN or any(finding["object"].split()[0] != "Pod" for finding in findings)
    never = any(finding["object"] == CLAIM and "is never served" in finding["message"] for finding in findings)
    allocated = {claim["name"] for item in result["bindRequests"] for claim in item["spec"]["resourceClaimAllocations"]}
    assert not (never and "c" in allocated)
