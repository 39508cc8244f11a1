"""Objects that the API server refuses: an error of `dra check`, and nothing that `dra simulate` places."""

import pytest

from dra_cases.command import dra

CLAIM = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: {SPEC}}"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {SPEC}"
REQUEST = "requests: [{name: r, exactly: {deviceClassName: d, MORE}}]"
MANY = {
    "at": "{matchAttribute: d.x/a}",
    "toleration": "{key: k, operator: Exists}",
    "cel": "{cel: {expression: 'true'}}",
}
EIGHT = ", ".join(f"{{name: s{number}, deviceClassName: d}}" for number in range(8))
USES = "containers: [{name: m, image: i, resources: {claims: [{name: a}]}}]"


def many(what: str, count: int) -> str:
    return f"[{', '.join([MANY[what]] * count)}]"


def asking(more: str) -> str:
    return CLAIM.replace("SPEC", REQUEST.replace("MORE", more))


def pod(spec: str) -> str:
    return POD.replace("SPEC", spec)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (asking("count: 1").replace("name: r,", "name: GPU_1,"), "requests[0].name"),
        (CLAIM.replace("SPEC", f"requests: [{{name: r, firstAvailable: [{EIGHT}, {{name: t}}]}}]"), "firstAvailable"),
        (asking("tolerations: [{key: k, operator: Like}]"), "tolerations[0].operator"),
        (asking("tolerations: [{key: k, operator: Exists, effect: PreferNoSchedule}]"), "tolerations[0].effect"),
        (asking("tolerations: [{operator: Equal}]"), "tolerations[0].operator"),
        (asking(f"tolerations: {many('toleration', 17)}"), "exactly.tolerations"),
        (asking(f"selectors: {many('cel', 33)}"), "exactly.selectors"),
        (CLAIM.replace("SPEC", f"constraints: {many('at', 33)}"), "devices.constraints"),
        (CLAIM.replace("SPEC", "config: [{opaque: {driver: Not A, parameters: {}}}]"), "config[0].opaque.driver"),
        (CLAIM.replace("SPEC", "config: [{opaque: {driver: d.x}}]"), "config[0].opaque.parameters"),
        (pod(f"{USES}, resourceClaims: [{{name: a}}]"), "resourceClaims[0]"),
        (
            pod(f"{USES}, resourceClaims: [{{name: a, resourceClaimName: x, resourceClaimTemplateName: y}}]"),
            "resourceClaims[0]",
        ),
        (pod(USES), "containers[0].resources.claims[0].name"),
        (pod("containers: [{name: m, resources: {limits: {x.org/g: 500m}}}]"), 'limits["x.org/g"]'),
        (pod("containers: [{name: m, resources: {requests: {x.org/g: 1}, limits: {x.org/g: 2}}}]"), "requests"),
    ],
)
def test_what_the_api_server_refuses_is_an_error_and_no_input(text: str, path: str) -> None:
    checked, played = dra("check", "-", "-o", "json", text=text), dra("simulate", "-", text=text)
    assert checked.code == 2
    assert path in checked.out.replace('\\"', '"')
    assert played.code == 2
    assert path in played.err


def test_limits_are_what_the_api_server_still_takes() -> None:
    text = asking(f"tolerations: {many('toleration', 16)}, selectors: {many('cel', 32)}")
    alternatives = CLAIM.replace("SPEC", f"requests: [{{name: r, firstAvailable: [{EIGHT}]}}]")
    for allowed in (text, alternatives, pod(f"{USES}, resourceClaims: [{{name: a, resourceClaimName: x}}]")):
        assert dra("simulate", "-", text=allowed).code == 0


def test_a_pod_template_that_makes_refused_pods_makes_none() -> None:
    spec = f"{{template: {{spec: {{{USES}}}}}}}"
    played = dra("simulate", "-", text=f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d}}\nspec: {spec}")
    assert played.code == 2
    assert "Deployment default/d: $.spec.template.spec.containers[0].resources.claims[0].name" in played.err
