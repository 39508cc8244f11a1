"""What nodes are planned from, mutilated: what is wrong is named, and a neighbour gets its node all the same."""

import json

import yaml
from hypothesis import given

from dra_cases.command import Ended, dra
from dra_cases.mutilation import Json, mutilated

WORLD = """
- apiVersion: karpenter.sh/v1
  kind: NodePool
  metadata: {name: pool}
  spec:
    weight: 10
    limits: {cpu: 100, gpu.example.com: 8}
    disruption: {consolidateAfter: 1m, budgets: [{nodes: 10%, reasons: [Empty], schedule: 0 8 * * *, duration: 10h}]}
    template:
      metadata: {labels: {team: a}, annotations: {note: b}}
      spec:
        nodeClassRef: {group: dra-scheduler.dev, kind: InstanceType, name: default}
        requirements:
        - {key: topology.kubernetes.io/zone, operator: In, values: [z1, z2], minValues: 1}
        - {key: cores, operator: Gt, values: ["2"]}
        taints: [{key: k, value: v, effect: NoSchedule}]
        startupTaints: [{key: s, effect: NoSchedule}]
        expireAfter: 720h
- apiVersion: dra-scheduler.dev/v1alpha1
  kind: InstanceType
  metadata: {name: gpu}
  spec:
    requirements:
    - {key: cores, operator: In, values: ["8"]}
    - {key: node.kubernetes.io/instance-type, operator: In, values: [GPU_8]}
    offerings: [{zone: z1, price: "2.5"}, {zone: z2, price: 1, capacityType: spot, available: true}]
    capacity: {cpu: 8, memory: 32Gi, pods: 20}
    overhead: {cpu: 100m}
    devices:
      groups:
      - driver: gpu.example.com
        name: gpu-{index}
        count: 4
        attributes: {model: {string: "M{index}"}, numa: {int: 0}}
        attributesByIndex: {slot: [{int: 0}, {int: 1}, {int: 2}, {int: 3}]}
        capacity: {memory: {value: 8Gi, requestPolicy: {default: 1Gi}}}
        consumesCounters: [{counterSet: board, counters: {slots: {value: 1}}}]
        allowMultipleAllocations: true
        taints: [{key: broken, effect: None}]
      - {driver: nic.example.com, name: "nic-{index}", count: 2}
      sharedCounters: [{driver: gpu.example.com, name: board, counters: {slots: {value: 4}}}]
      bindings:
      - attribute: resource.kubernetes.io/pcieRoot
        devices:
        - {driver: gpu.example.com, name: "gpu-{index}", indexes: [0, 1]}
        - {driver: nic.example.com, name: nic-0}
        publishedValue: {string: pci0000:07}
  status: {deviceFailures: 1, retryAfter: "2020-01-01T00:00:00Z"}
- apiVersion: karpenter.sh/v1
  kind: NodeClaim
  metadata:
    name: planned
    uid: u-planned
    labels: {karpenter.sh/nodepool: pool}
    annotations:
      dra-scheduler.dev/nominated-pods: '["default/victim/u-victim"]'
      karpenter.sh/requested-dra-drivers: gpu.example.com,nic.example.com
  spec:
    nodeClassRef: {group: dra-scheduler.dev, kind: InstanceType, name: default}
    requirements:
    - {key: node.kubernetes.io/instance-type, operator: In, values: [GPU_8]}
    - {key: topology.kubernetes.io/zone, operator: In, values: [z1]}
    resources: {requests: {cpu: 1}}
    taints: [{key: k, value: v, effect: NoSchedule}]
- apiVersion: karpenter.sh/v1
  kind: NodeClaim
  metadata:
    name: coming
    uid: u-coming
    labels: {karpenter.sh/nodepool: pool, node.kubernetes.io/instance-type: GPU_8}
    annotations: {karpenter.sh/requested-dra-drivers: gpu.example.com}
  spec: {nodeClassRef: {group: dra-scheduler.dev, kind: InstanceType, name: default}, requirements: []}
  status:
    nodeName: n1
    providerID: kwok://coming
    capacity: {cpu: 8}
    conditions: [{type: Launched, status: "True"}, {type: Registered, status: "True"}]
- apiVersion: v1
  kind: Node
  metadata: {name: n1, labels: {karpenter.sh/nodepool: pool, node.kubernetes.io/instance-type: GPU_8}}
  spec: {providerID: "kwok://coming", taints: [{key: s, effect: NoSchedule}]}
  status: {allocatable: {cpu: 8, pods: 20}, conditions: [{type: Ready, status: "True"}]}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: half, ownerReferences: [{apiVersion: v1, kind: Node, name: n1, uid: u1}]}
  spec:
    driver: gpu.example.com
    nodeName: n1
    pool: {name: n1, generation: 3, resourceSliceCount: 2}
    devices: [{name: gpu-0}]
- apiVersion: apps/v1
  kind: DaemonSet
  metadata: {name: agent, namespace: kube-system}
  spec: {template: {spec: {nodeSelector: {team: a}, containers: [{name: a, resources: {requests: {cpu: 100m}}}]}}}
- apiVersion: resource.k8s.io/v1
  kind: DeviceClass
  metadata: {name: gpu}
  spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}], extendedResourceName: example.com/gpu}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaimTemplate
  metadata: {name: template}
  spec:
    spec:
      devices:
        requests: [{name: r, exactly: {deviceClassName: gpu, count: 2, capacity: {requests: {memory: 2Gi}}}}]
        constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot}]
- apiVersion: v1
  kind: Pod
  metadata: {name: victim, uid: u-victim}
  spec:
    schedulerName: dra-scheduler
    tolerations: [{key: k, operator: Exists}]
    nodeSelector: {topology.kubernetes.io/zone: z1}
    resourceClaims: [{name: c, resourceClaimTemplateName: template}]
    containers: [{name: c, resources: {claims: [{name: c}], requests: {cpu: 1}, limits: {example.com/gpu: 1}}}]
"""
NEIGHBOUR = """
- apiVersion: karpenter.sh/v1
  kind: NodePool
  metadata: {name: sound}
  spec:
    template:
      spec:
        nodeClassRef: {group: dra-scheduler.dev, kind: InstanceType, name: sound}
        requirements: []
        taints: [{key: sound, effect: NoSchedule}]
- apiVersion: dra-scheduler.dev/v1alpha1
  kind: InstanceType
  metadata: {name: sound, labels: {dra-scheduler.dev/node-class: sound}}
  spec:
    offerings: [{zone: z, price: 1}]
    capacity: {cpu: 8, memory: 32Gi}
    devices: {groups: [{driver: sound.example.com, name: d0}]}
- apiVersion: resource.k8s.io/v1
  kind: DeviceClass
  metadata: {name: sound}
  spec: {selectors: [{cel: {expression: 'device.driver == "sound.example.com"'}}]}
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaim
  metadata: {name: sound, namespace: next-door}
  spec: {devices: {requests: [{name: r, exactly: {deviceClassName: sound}}]}}
- apiVersion: v1
  kind: Pod
  metadata: {name: sound, namespace: next-door}
  spec:
    schedulerName: dra-scheduler
    tolerations: [{key: sound, operator: Exists}]
    resourceClaims: [{name: c, resourceClaimName: sound}]
    containers: [{name: c, resources: {claims: [{name: c}]}}]
"""
OBJECTS: list[Json] = yaml.safe_load(WORLD)
SOUND: list[Json] = yaml.safe_load(NEIGHBOUR)


def run(objects: list[Json], *words: str) -> Ended:
    return dra(*words, text=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


def neighbour(ended: Ended) -> list[str]:
    """Return which device the pod next door gets."""
    return [
        result["device"]
        for item in json.loads(ended.out)["bindRequests"]
        if item["spec"]["podName"] == "sound"
        for claim in item["spec"]["resourceClaimAllocations"]
        for result in claim["allocation"]["devices"]["results"]
    ]


def test_the_world_is_sound_before_it_is_mutilated() -> None:
    ended = run([*OBJECTS, *SOUND], "simulate", "-", "--launch")
    bound = {item["spec"]["podName"] for item in json.loads(ended.out)["bindRequests"]}
    assert (ended.code, ended.err, bound) == (0, "", {"sound", "victim"})
    assert run([*OBJECTS, *SOUND], "check", "-").code == 0


@given(mutilated(OBJECTS))
def test_whatever_is_next_door_a_sound_pod_gets_its_node(objects: list[Json]) -> None:
    ended = run([*objects, *SOUND], "simulate", "-", "--launch", "--explain", "next-door/sound")
    assert ended.code in {0, 2}
    assert neighbour(ended) == ["d0"]


@given(mutilated(OBJECTS))
def test_whatever_is_wrong_checks_and_lists_end_well(objects: list[Json]) -> None:
    for words in (["check", "-"], ["nodeclaims", "-f", "-"], ["simulate", "-", "--without-node", "n1"]):
        ended = run(objects, *words, "-o", "json")
        assert ended.code in {0, 1, 2}
        assert all(len(line.split(": ", 3)) == 4 for line in ended.problems if not line.startswith("ignored")), (
            ended.err
        )


@given(mutilated(OBJECTS))
def test_types_say_of_a_pod_what_the_plan_does(objects: list[Json]) -> None:
    told = run([*objects, *SOUND], "simulate", "-", "--explain", "next-door/sound")
    supply = json.loads(told.out)["explanation"]["supply"]
    assert any(group["fits"] for group in supply["instanceTypes"])
    assert supply["refusals"] == []
