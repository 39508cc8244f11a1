"""What `dra check` finds about whole pools, about amounts, and about claims that nothing serves."""

import json

import pytest

from dra_cases.command import dra

CLASS = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
"""
POOL = "pool: {name: p, generation: 1, resourceSliceCount: 1}"
PAIR = "pool: {name: p, generation: 1, resourceSliceCount: 2}"
COUNTERS = "sharedCounters: [{name: s, counters: {memory: {value: 8Gi}}}]"
CLOSED = "pool gpu.example.com/p hands out no devices: "


def findings(*texts: str) -> list[str]:
    """Return `severity object path: message` of all findings in these documents."""
    found = json.loads(dra("check", "-", "-o", "json", text="\n---\n".join(texts)).out)
    return [f"{item['severity']} {item['object']} {item['path']}: {item['message']}" for item in found]


def resource_slice(spec: str, name: str = "s0", where: str = "nodeName: n1") -> str:
    head = f"apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {{name: {name}}}\n"
    return f"{head}spec: {{driver: gpu.example.com, {where}, {spec}}}\n"


def claim(devices: str) -> str:
    head = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
    return f"{head}spec: {{devices: {{{devices}}}}}\n"


def rule(spec: str) -> str:
    return f"apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata: {{name: r}}\nspec: {{{spec}}}\n"


def drawing(counters: str) -> str:
    return f"{PAIR}, devices: [{{name: a, consumesCounters: [{{{counters}}}]}}]"


@pytest.mark.parametrize(
    ("slices", "finding"),
    [
        (
            [f"{PAIR}, {COUNTERS}", drawing("counterSet: absent, counters: {memory: {value: 1Gi}}")],
            f"s1 $.spec.devices[0].consumesCounters[0].counterSet: {CLOSED}it has no counter set absent",
        ),
        (
            [f"{PAIR}, {COUNTERS}", drawing("counterSet: s, counters: {slices: {value: 1}}")],
            f's1 $.spec.devices[0].consumesCounters[0].counters["slices"]: {CLOSED}its counter set s has no counter',
        ),
        (
            [f"{PAIR}, {COUNTERS}", f"{PAIR}, {COUNTERS}"],
            f"s1 $.spec.sharedCounters[0].name: {CLOSED}it has two counter sets called s, the first in",
        ),
        (
            [f"{PAIR}, devices: [{{name: a}}]", f"{POOL}, devices: [{{name: b}}]"],
            f"s1 $.spec.pool.resourceSliceCount: {CLOSED}its slices disagree, 1 here and 2 in ResourceSlice s0",
        ),
        (
            [f"{POOL}, devices: [{{name: a}}, {{name: a}}]"],
            f"s0 $.spec.devices[1].name: {CLOSED}it has two devices called a, the first in ResourceSlice s0",
        ),
    ],
)
def test_what_closes_a_pool_is_shown_where_it_stands(slices: list[str], finding: str) -> None:
    found = findings(*(resource_slice(spec, f"s{number}") for number, spec in enumerate(slices)))
    assert [each for each in found if each.startswith(f"error ResourceSlice {finding}")]
    assert not [each for each in found if "$.spec.pool:" in each]


@pytest.mark.parametrize(
    ("capacity", "finding"),
    [
        ("{value: -1}", '"].value: expected no negative amount, got -1'),
        ("{value: 8, requestPolicy: {validRange: {min: 1, step: 0}}}", "requestPolicy.validRange.step: expected more"),
        (
            "{value: 8, requestPolicy: {validRange: {min: 4, max: 2}}}",
            "requestPolicy.validRange.max: expected at least",
        ),
        (
            "{value: 8, requestPolicy: {validRange: {min: 9}}}",
            "requestPolicy.validRange.min: expected an amount from 0",
        ),
        ("{value: 8, requestPolicy: {validValues: ['1', '9']}}", "requestPolicy.validValues[1]: expected an amount"),
        (
            "{value: 8, requestPolicy: {default: 9}}",
            "$.spec.devices[0].capacity: expected room for a request that names",
        ),
    ],
)
def test_amounts_that_nobody_can_be_given_are_found(capacity: str, finding: str) -> None:
    device = f"{{name: a, allowMultipleAllocations: true, capacity: {{memory: {capacity}}}}}"
    found = findings(resource_slice(f"{POOL}, devices: [{device}]"))
    assert [each for each in found if each.startswith("error ResourceSlice s0") and finding in each]


def test_a_claim_that_even_free_devices_do_not_serve_is_told_the_proof() -> None:
    devices = ", ".join(f"{{name: d{n}, attributes: {{root: {{int: {n // 2}}}}}}}" for n in range(4))
    wanted = "requests: [{name: r, exactly: {deviceClassName: gpu, count: 3}}]"
    bound = f"{wanted}, constraints: [{{matchAttribute: gpu.example.com/root}}]"
    (found,) = findings(CLASS, resource_slice(f"{POOL}, devices: [{devices}]"), claim(bound))
    assert found == (
        "warning ResourceClaim default/c $.spec.devices: is never served by the devices of the input, all of them "
        'free: 0/1 nodes fit: on 1: claim "c" request "r" (class gpu): needs 3 free devices with one '
        "gpu.example.com/root (the largest free group has 2)"
    )


def test_a_claim_that_has_its_devices_is_not_asked_whether_it_could_have_them() -> None:
    wanted = "requests: [{name: r, exactly: {deviceClassName: gpu}}], constraints: [{matchAttribute: a.b/absent}]"
    content = resource_slice(f"{POOL}, devices: [{{name: a}}]")
    result = "{request: r, driver: gpu.example.com, pool: p, device: a}"
    assert len(findings(CLASS, content, claim(wanted))) == 1
    assert (
        findings(CLASS, content, f"{claim(wanted)}status: {{allocation: {{devices: {{results: [{result}]}}}}}}") == []
    )


def test_a_claim_is_told_of_no_proof_where_labels_of_nodes_are_not_known() -> None:
    selector = "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}"
    content = resource_slice(f"{POOL}, devices: [{{name: a}}]", where=selector)
    constraint = "constraints: [{matchAttribute: gpu.example.com/absent}]"
    wanted = claim(f"requests: [{{name: r, exactly: {{deviceClassName: gpu}}}}], {constraint}")
    assert findings(CLASS, content, wanted) == []
    node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {zone: a}}\n"
    assert len(findings(CLASS, content, wanted, node)) == 1


@pytest.mark.parametrize(
    ("spec", "finding"),
    [
        (
            "taint: {key: k, effect: NoSchedule}, deviceSelector: {pool: absent}",
            "warning DeviceTaintRule r $.spec.deviceSelector: selects none of the 1 devices of the input",
        ),
        (
            "taint: {key: k, effect: NoSchedule}",
            "warning DeviceTaintRule r $.spec.deviceSelector: taints no device",
        ),
        (
            "taint: {key: k, effect: Never}, deviceSelector: {pool: p}",
            "error DeviceTaintRule r $.spec.taint.effect: expected one of NoSchedule, NoExecute, None, got Never",
        ),
    ],
)
def test_rules_that_taint_nothing_are_found(spec: str, finding: str) -> None:
    (found,) = findings(resource_slice(f"{POOL}, devices: [{{name: a}}]"), rule(spec))
    assert found.startswith(finding)


def test_alternatives_of_one_name_are_found() -> None:
    alternatives = ", ".join("{name: a, deviceClassName: gpu, count: 1}" for _ in range(2))
    (found,) = findings(CLASS, claim(f"requests: [{{name: r, firstAvailable: [{alternatives}]}}]"))
    assert found.startswith(
        "error ResourceClaim default/c $.spec.devices.requests[0].firstAvailable: expected alternat"
    )


def test_a_resource_that_nobody_serves_is_found() -> None:
    resources = "resources: {limits: {example.com/typo: 1}}"
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{{name: c, {resources}}}]}}\n"
    assert findings(pod) == []
    (found,) = findings(CLASS, pod)
    assert found.startswith("warning Pod default/p $.spec.containers: example.com/typo is served by no node")


@pytest.mark.parametrize("column", [1, 5])
def test_the_place_of_a_mistake_in_an_expression_is_told(column: int) -> None:
    selectors = f"selectors: [{{cel: {{expression: '{' ' * (column - 1)}nothing'}}}}]"
    broken = f"apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {{name: b}}\nspec: {{{selectors}}}\n"
    (found,) = findings(broken)
    assert found.endswith(f"(line 1, column {column})")
