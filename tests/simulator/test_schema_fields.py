"""Fields that do not exist are warned of, whatever their kind."""

import json

import pytest

from dra_cases.command import dra

SLICE = (
    "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: d.org, nodeName: n, PART}"
)
POOL = "pool: {name: n, generation: 1, resourceSliceCount: 1}"
CLAIM = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\nspec: {PART}"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}], PART}"


def warned(text: str) -> set[str]:
    found = json.loads(dra("check", "-", "-o", "json", text=text).out)
    return {one["path"] for one in found if one["message"].startswith("expected a field that Kubernetes knows")}


@pytest.mark.parametrize(
    ("text", "part", "path"),
    [
        (SLICE, f"{POOL}, devices: [{{name: a, basic: {{attributes: {{}}}}}}]", "$.spec.devices[0].basic"),
        (SLICE, f"{POOL}, devices: [{{name: a, capacity: {{m: {{vale: 1, value: 1}}}}}}]", '.capacity["m"].vale'),
        (CLAIM, "devices: {requests: [{name: r, exactly: {deviceClassName: g, selector: []}}]}", ".exactly.selector"),
        (CLAIM, "spec: {devices: {}}", "$.spec.spec"),
        (POD, "resourceclaims: []", "$.spec.resourceclaims"),
        (POD, "volumes: [{name: v, emptydir: {}}]", "$.spec.volumes[0].emptydir"),
    ],
)
def test_a_field_that_does_not_exist_is_a_warning_with_its_path(text: str, part: str, path: str) -> None:
    (found,) = warned(text.replace("PART", part))
    assert found.endswith(path)


def test_fields_that_exist_and_maps_of_any_keys_are_not_warned_of() -> None:
    devices = "devices: [{name: a, attributes: {any: {string: x}}, capacity: {mem: {value: 1}}}]"
    assert warned(SLICE.replace("PART", f"{POOL}, {devices}")) == set()
    assert warned(POD.replace("PART", "nodeSelector: {any: x}, volumes: [{name: v, emptyDir: {}}]")) == set()
    opaque = "config: [{opaque: {driver: d.org, parameters: {any: {thing: 1}}}}]"
    assert warned(CLAIM.replace("PART", f"devices: {{{opaque}}}")) == set()
