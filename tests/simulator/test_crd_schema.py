"""Our own kinds are held against the schemas of their definitions: what a server refuses is refused without one."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_simulator.crd_schema import refused_by_schema

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "tests/manifests"
Json = dict[str, Any]


def load(name: str) -> list[Json]:
    found: list[Json] = yaml.safe_load((MANIFESTS / name).read_text())
    return found


SAMPLES: dict[str, Json] = {
    document["metadata"]["name"]: document
    for path in sorted((ROOT / "manifests/samples/instancetypes").glob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text())
}
NODE_CLAIM: Json = {
    "spec": {
        "nodeClassRef": {"group": "dra-scheduler.dev", "kind": "InstanceType", "name": "default"},
        "requirements": [{"key": "karpenter.sh/nodepool", "operator": "In", "values": ["accelerated"]}],
        "resources": {"requests": {"cpu": "2"}},
        "taints": [{"key": "a", "effect": "NoSchedule"}],
        "expireAfter": "Never",
        "terminationGracePeriod": "1h30m",
    }
}
BASES = {
    "InstanceType": ("dra-scheduler.dev/v1alpha1", SAMPLES["m5.large"]),
    "NodePool": ("karpenter.sh/v1", SAMPLES["accelerated"]),
    "NodeClaim": ("karpenter.sh/v1", NODE_CLAIM),
}
# What is compared with a former state, or needs the names of objects, only a server can tell.
REFUSED = [case for case in load("refused-node-kinds.yaml") if "spec" in (case.get("patch") or {})]


def merged(target: Any, patch: Any) -> Any:  # noqa: ANN401  JSON merge patch, RFC 7396
    if not isinstance(patch, dict):
        return patch
    before = target if isinstance(target, dict) else {}
    kept = {key: value for key, value in before.items() if key not in patch}
    return kept | {key: merged(before.get(key), value) for key, value in patch.items() if value is not None}


def of_kind(kind: str, content: Json) -> Json:
    return {"apiVersion": BASES[kind][0], "kind": kind, **content}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: str(case["name"]))
def test_what_a_server_refuses_is_refused(case: Json) -> None:
    raw = of_kind(case["kind"], merged(BASES[case["kind"]][1], case["patch"]))
    faults = refused_by_schema(raw)

    wanted = f"$.{case['field']}"
    paths = [fault.path for fault in faults]
    assert any(_leads_to(path, wanted) for path in paths), (wanted, [str(one) for one in faults])


def _leads_to(path: str, wanted: str) -> bool:
    """Servers write keys of maps as fields, and fields that are missing as if they were there."""
    plain, other = (text.replace('["', ".").replace('"]', "").replace("[cpu]", ".cpu") for text in (path, wanted))
    return other.startswith(plain) or plain.startswith(other)


@pytest.mark.parametrize("case", load("accepted-node-kinds.yaml"), ids=lambda case: str(case["name"]))
def test_what_a_server_accepts_is_accepted(case: Json) -> None:
    assert refused_by_schema(of_kind(case["kind"], {"spec": case["spec"]})) == ()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_accepted(name: str) -> None:
    assert refused_by_schema(SAMPLES[name]) == ()


def test_kinds_of_others_are_left_alone() -> None:
    assert refused_by_schema({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}}) == ()
