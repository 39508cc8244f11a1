"""What `dra check` finds."""

import json
from collections.abc import Callable

import pytest

from dra_cases.command import dra

Write = Callable[[str, str], str]
CLASS = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu, creationTimestamp: 2026-01-01T00:00:00Z}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
---
"""
SLICE = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 2, resourceSliceCount: 1}
  devices: [{name: a, attributes: {model: {string: big}}}, {name: b, attributes: {size: {int: 8}}}]
---
"""
COMPLETE = "pool: {name: p, generation: 1, resourceSliceCount: 1}"
HALF = "pool: {name: p, generation: 1, resourceSliceCount: 2}, devices: [{name: a}]"
MANY = ", ".join(f"{{name: d{number}}}" for number in range(129))
ONE = "requests: [{name: r, exactly: {deviceClassName: gpu}}]"
POD = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: main, resources: {limits: {x.org/g: 33}}}]}
"""


def findings(*texts: str) -> list[str]:
    """Return `severity object path: message` of all findings in these documents."""
    ended = dra("check", "-", "-o", "json", text="\n---\n".join(texts))
    found = json.loads(ended.out)
    assert ended.code == any(item["severity"] == "error" for item in found)
    return [f"{item['severity']} {item['object']} {item['path']}: {item['message']}" for item in found]


def device_class(spec: str, name: str = "other", created: str = "2026-01-02T00:00:00Z") -> str:
    metadata = f"{{name: {name}, creationTimestamp: {created}}}"
    return f"apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {metadata}\nspec: {{{spec}}}\n"


def claim(devices: str) -> str:
    head = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
    return f"{head}spec: {{devices: {{{devices}}}}}\n"


def request(spec: str) -> str:
    return claim(f"requests: [{{name: r, exactly: {{deviceClassName: gpu{spec}}}}}]")


def resource_slice(spec: str, name: str = "s2") -> str:
    head = f"apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {{name: {name}}}\n"
    return f"{head}spec: {{driver: gpu.example.com, nodeName: n1, {spec}}}\n"


NO_REQUESTS = "expected at least one request: without any, the claim is allocated no device"


def test_sound_objects_have_no_findings() -> None:
    assert findings(CLASS, SLICE, request(", count: 2")) == []


@pytest.mark.parametrize(
    ("selector", "finding"),
    [
        ("device.driver =", "error $.expression: does not compile: "),
        ("device.nothing == 1", "error $.expression: does not compile: "),
        ("device.driver", "error $.expression: does not compile: "),
        (
            'device.driver == "absent"',
            "warning $.expression: selects none of the 2 devices of the input",
        ),
        (
            'device.attributes["gpu.example.com"].absent == 1',
            "warning $.expression: selects none of the 2 devices of the input; it fails on 2 of them: no such key",
        ),
    ],
)
def test_selectors_of_a_class_have_to_compile_and_to_select_something(selector: str, finding: str) -> None:
    (found,) = findings(SLICE, device_class(f"selectors: [{{cel: {{expression: '{selector}'}}}}]"))
    severity, rest = finding.split(" ", 1)
    assert found.startswith(f"{severity} DeviceClass other {rest.replace('$', '$.spec.selectors[0].cel')}")


def test_a_selector_that_costs_too_much_does_not_compile() -> None:
    loop = (
        "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a == b))))"
    )
    (found,) = findings(device_class(f"selectors: [{{cel: {{expression: '{loop}'}}}}]"))
    assert "cost" in found


def test_the_selector_that_leaves_nothing_is_named() -> None:
    selectors = [
        'has(device.attributes["gpu.example.com"].model)',
        'device.attributes["gpu.example.com"].model == "small"',
    ]
    cel = ", ".join(f"{{cel: {{expression: '{selector}'}}}}" for selector in selectors)
    (found,) = findings(CLASS, SLICE, request(f", selectors: [{cel}]"))
    assert "$.spec.devices.requests[0].exactly.selectors[1].cel.expression: selects none of the 1 devices that" in found


@pytest.mark.parametrize(
    ("devices", "finding"),
    [
        (
            "requests: [{name: r, exactly: {deviceClassName: absent}}]",
            "error $.requests[0].exactly.deviceClassName: expected a DeviceClass of the input, got absent",
        ),
        (
            "requests: [{name: r, exactly: {deviceClassName: gpu, count: 33}}]",
            "error $.requests: expected at most 32 devices in a claim, got 33",
        ),
        (
            "requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: All, count: 2}}]",
            "error $.requests[0].exactly.count: expected none with allocationMode All, got 2",
        ),
        (
            'requests: [{name: r, exactly: {deviceClassName: gpu, capacity: {requests: {memory: "-1"}}}}]',
            'error $.requests[0].exactly.capacity.requests["memory"]: expected no negative amount, got -1',
        ),
        (
            "requests: [{name: r, exactly: {deviceClassName: gpu, count: 3}}]",
            "warning $.requests[0].exactly.count: wants 3 devices, and the input has 2 that match",
        ),
        (
            "requests: [{name: r, exactly: {deviceClassName: gpu, allocationMode: Some}}]",
            "error $.requests[0].exactly.allocationMode: expected ExactCount or All, got Some",
        ),
        (
            "requests: [{name: r, exactly: {deviceClassName: gpu}}, {name: r, exactly: {deviceClassName: gpu}}]",
            "error $.requests: expected requests of different names, r is there 2 times",
        ),
        (
            "requests: [{name: r, exactly: {deviceClassName: gpu, selectors: [{}]}}]",
            "error $.requests[0].exactly.selectors[0].cel: expected a CEL selector",
        ),
        (
            f"{ONE}, constraints: [{{requests: [q], matchAttribute: a/b}}]",
            "error $.constraints[0].requests[0]: expected a request of the claim, got q",
        ),
        (
            f"{ONE}, constraints: [{{matchAttribute: numa}}]",
            "error $.constraints[0].matchAttribute: expected a name with its domain",
        ),
        (
            f"{ONE}, config: [{{requests: [q], opaque: {{driver: d.org, parameters: {{}}}}}}]",
            "error $.config[0].requests[0]: expected a request of the claim, got q",
        ),
        (
            f"{ONE}, constraints: [{{matchAttribute: a/b, distinctAttribute: a/b}}]",
            "error $.constraints[0]: expected exactly one of matchAttribute, distinctAttribute",
        ),
        ("requests: []", f"warning $.requests: {NO_REQUESTS}"),
    ],
)
def test_what_is_wrong_in_a_claim_is_named_with_its_path(devices: str, finding: str) -> None:
    severity, rest = finding.split(" ", 1)
    wanted = f"{severity} ResourceClaim default/c {rest.replace('$', '$.spec.devices', 1)}"
    assert any(found.startswith(wanted) for found in findings(CLASS, SLICE, claim(devices)))


def test_a_template_without_requests_is_told_as_a_claim_is() -> None:
    template = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t}\n"
    (found,) = findings(CLASS, f"{template}spec: {{spec: {{devices: {{}}}}}}")
    assert found == f"warning ResourceClaimTemplate default/t $.spec.spec.devices.requests: {NO_REQUESTS}"


def test_paths_in_a_template_lead_through_both_specs() -> None:
    template = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: t}\n"
    spec = "spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: absent}}]}}}"
    (found,) = findings(CLASS, template + spec)
    assert "$.spec.spec.devices.requests[0].exactly.deviceClassName" in found


def test_a_missing_class_may_be_meant_where_the_input_has_no_classes_at_all() -> None:
    (found,) = findings(request(""))
    assert found.startswith("warning ")


def test_classes_that_clash_are_told_who_wins() -> None:
    classes = [
        device_class("extendedResourceName: example.com/gpu", f"class-{year}", f"{year}-01-01T00:00:00Z")
        for year in (2025, 2026)
    ]
    loser, winner = findings(*classes)
    assert "class-2025 $.spec.extendedResourceName: example.com/gpu is served by DeviceClass class-2026" in loser
    assert "class-2026 $.spec.extendedResourceName: example.com/gpu is claimed by class-2025, too" in winner


@pytest.mark.parametrize("name", ["cpu", "deviceclass.resource.kubernetes.io/other", "example.com/a/b"])
def test_a_name_that_no_class_can_have_is_an_error(name: str) -> None:
    (found,) = findings(device_class(f"extendedResourceName: {name}"))
    assert found.startswith("error DeviceClass other $.spec.extendedResourceName: expected ")


def test_a_name_of_the_domain_of_kubernetes_is_called_reserved() -> None:
    (found,) = findings(device_class("extendedResourceName: kubernetes.io/gpu"))
    assert found == (
        "error DeviceClass other $.spec.extendedResourceName: "
        "expected a name of another domain, kubernetes.io is reserved, got kubernetes.io/gpu"
    )


@pytest.mark.parametrize(
    ("slices", "finding"),
    [
        (
            [HALF],
            "warning ResourceSlice s0 $.spec.pool: pool gpu.example.com/p hands out no devices: it is being updated",
        ),
        (
            [HALF] * 2,
            "error ResourceSlice s1 $.spec.devices[0].name: pool gpu.example.com/p hands out no devices: it has two",
        ),
        (
            [COMPLETE],
            "warning ResourceSlice s0 $.spec.devices: pool gpu.example.com/p has no devices",
        ),
        (
            [f"{COMPLETE}, devices: [{{name: a, attributes: {{a-b: {{int: 1}}}}}}]"],
            "error ResourceSlice s0 $.spec.devices[0].attributes: expected a C identifier",
        ),
        (
            [
                f"{COMPLETE}, devices: [{MANY}]",
            ],
            "error ResourceSlice s0 $.spec.devices: expected at most 128 devices in a slice, got 129",
        ),
    ],
)
def test_pools_that_hand_out_nothing_are_found(slices: list[str], finding: str) -> None:
    (found,) = findings(*(resource_slice(spec, f"s{number}") for number, spec in enumerate(slices)))
    assert found.startswith(finding)


def test_older_generations_of_a_pool_are_no_news() -> None:
    assert (
        findings(SLICE, resource_slice("pool: {name: n1, generation: 1, resourceSliceCount: 2}, devices: [{name: a}]"))
        == []
    )


def test_a_pod_that_wants_more_than_32_devices_can_never_be_served() -> None:
    (found,) = findings(device_class("extendedResourceName: x.org/g"), POD)
    assert found.startswith("error Pod default/p $.spec.containers: too many devices for one ResourceClaim")


def test_of_the_pods_of_a_workload_one_is_looked_at() -> None:
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\n"
    spec = (
        "spec: {parallelism: 9, template: {spec: {containers: [], resourceClaims: [{name: g, resourceClaimName: x}]}}}"
    )
    (found,) = findings(job + spec)
    assert found.startswith(
        "warning Pod default/j-0 $.spec.resourceClaims[0].resourceClaimName: expected a ResourceClaim"
    )


def test_what_cannot_be_read_is_a_finding_and_ends_with_2(write: Write) -> None:
    file = write("a.yaml", CLASS + "\nkind: Pod\n---\n" + request(", count: 33"))
    ended = dra("check", file, "-o", "json")
    assert ended.code == 2
    assert ended.problems == ["a.yaml: document 2, Pod without a name: $: expected an object with apiVersion and kind"]
    assert [item["object"] for item in json.loads(ended.out)] == [
        "ResourceClaim default/c",
        "document 2, Pod without a name",
    ]


def test_a_slice_or_device_whose_selector_has_two_terms_is_an_error() -> None:
    terms = "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: z, operator: Exists}]}, {matchFields: []}]}"
    whole = SLICE.replace("nodeName: n1", terms)
    single = SLICE.replace("nodeName: n1", "perDeviceNodeSelection: true").replace("{name: a,", f"{{name: a, {terms},")
    ends = "nodeSelector.nodeSelectorTerms: expected exactly one term, got 2"
    assert f"error ResourceSlice s1 $.spec.{ends}" in findings(CLASS, whole)
    assert f"error ResourceSlice s1 $.spec.devices[0].{ends}" in findings(CLASS, single)
