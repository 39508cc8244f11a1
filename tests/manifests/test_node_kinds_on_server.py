from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_controlplane.client import ApiClient, ApiError, Json, path_of
from dra_scheduling.instancetypes import Expanded, expand, status_of
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.wire import read, read_as, write, write_value

Send = Callable[[Json], Json]

HERE = Path(__file__).parent
SAMPLES = {
    (document["kind"], document["metadata"]["name"]): document
    for path in sorted((HERE.parents[1] / "manifests/samples/instancetypes").glob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text())
}
NODE_CLAIM: Json = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodeClaim",
    "metadata": {"name": "accelerated-x"},
    "spec": {
        "nodeClassRef": {"group": "dra-scheduler.dev", "kind": "InstanceType", "name": "default"},
        "requirements": [{"key": "karpenter.sh/nodepool", "operator": "In", "values": ["accelerated"]}],
        "resources": {"requests": {"cpu": "2"}},
        "taints": [{"key": "a", "effect": "NoSchedule"}],
        "expireAfter": "Never",
        "terminationGracePeriod": "1h30m",
    },
}
BASES = {
    "InstanceType": SAMPLES["InstanceType", "m5.large"],
    "NodePool": SAMPLES["NodePool", "accelerated"],
    "NodeClaim": NODE_CLAIM,
}
PLURALS = {
    "InstanceType": "dra-scheduler.dev/v1alpha1/instancetypes",
    "NodePool": "karpenter.sh/v1/nodepools",
    "NodeClaim": "karpenter.sh/v1/nodeclaims",
}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ACCEPTED = yaml.safe_load((HERE / "accepted-node-kinds.yaml").read_text())
REFUSED = yaml.safe_load((HERE / "refused-node-kinds.yaml").read_text())
NOW = "2030-01-01T00:00:00Z"


def merged(target: Any, patch: Any) -> Any:  # noqa: ANN401  JSON merge patch, RFC 7396
    if not isinstance(patch, dict):
        return patch
    before = target if isinstance(target, dict) else {}
    kept = {key: value for key, value in before.items() if key not in patch}
    return kept | {key: merged(before.get(key), value) for key, value in patch.items() if value is not None}


@pytest.fixture
def make(api: ApiClient, create: Send) -> Iterator[Send]:
    """Creates an object without namespace, which goes with the test."""
    made: list[Json] = []

    def one(document: Json) -> Json:
        made.append(create(document))
        return made[-1]

    yield one
    for document in made:
        api.delete(PLURALS[document["kind"]], document["metadata"]["name"])


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["name"])
def test_the_server_refuses(case: Json, try_to_create: Send) -> None:
    with pytest.raises(ApiError) as refused:
        try_to_create(merged(BASES[case["kind"]], case["patch"]))

    assert refused.value.code == 422
    assert case["field"] in {cause["field"] for cause in refused.value.body["details"]["causes"]}


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case["name"])
def test_the_server_takes_and_keeps(case: Json, try_to_create: Send) -> None:
    api_version = BASES[case["kind"]]["apiVersion"]
    document = {"apiVersion": api_version, "kind": case["kind"], "metadata": {"name": "a"}, "spec": case["spec"]}

    kept = try_to_create(document)

    assert merged(kept["spec"], case["spec"]) == kept["spec"]
    assert read(kept).spec == read(document).spec  # type: ignore[union-attr]


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=["/".join(key) for key in SAMPLES])
def test_the_server_takes_a_sample_and_keeps_what_it_means(sample: Json, try_to_create: Send) -> None:
    assert read(try_to_create(sample)).spec == read(sample).spec  # type: ignore[union-attr]


def test_a_node_claim_that_the_library_writes_comes_back_as_it_was(make: Send) -> None:
    claim = read_as(NodeClaim, NODE_CLAIM)

    assert read_as(NodeClaim, make(write(claim))).spec == claim.spec


def test_what_a_node_claim_asks_for_never_changes(api: ApiClient, make: Send) -> None:
    name = make(NODE_CLAIM)["metadata"]["name"]

    with pytest.raises(ApiError) as refused:
        api.patch(path_of(PLURALS["NodeClaim"], name), {"spec": {"expireAfter": "1h"}})

    assert "spec is immutable" in refused.value.message


@pytest.mark.parametrize("field", ["group", "kind"])
def test_a_node_pool_stays_with_its_provider(field: str, api: ApiClient, make: Send) -> None:
    name = make(BASES["NodePool"])["metadata"]["name"]
    patch = {"spec": {"template": {"spec": {"nodeClassRef": {field: "other"}}}}}

    with pytest.raises(ApiError) as refused:
        api.patch(path_of(PLURALS["NodePool"], name), patch)

    assert f"nodeClassRef.{field} is immutable" in refused.value.message


def test_a_node_pool_does_not_turn_into_one_of_fixed_size(api: ApiClient, make: Send) -> None:
    name = make(BASES["NodePool"])["metadata"]["name"]

    with pytest.raises(ApiError) as refused:
        api.patch(path_of(PLURALS["NodePool"], name), {"spec": {"replicas": 2, "weight": None, "limits": None}})

    assert "fixed size" in refused.value.message


def test_a_node_pool_gets_the_defaults_that_karpenter_gives(make: Send) -> None:
    spec = make(merged(BASES["NodePool"], {"spec": {"disruption": None}}))["spec"]

    assert spec["disruption"] == {
        "consolidateAfter": "0s",
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "budgets": [{"nodes": "10%"}],
    }
    assert make(merged(BASES["InstanceType"], {"spec": {"offerings": [{"zone": "a", "price": 1}]}}))["spec"][
        "offerings"
    ] == [{"zone": "a", "price": 1, "capacityType": "on-demand", "available": True}]


def test_the_list_shows_what_people_choose_machines_by(api: ApiClient, make: Send) -> None:
    sample = read_as(InstanceType, make(SAMPLES["InstanceType", "p5en.48xlarge"]))
    status = write_value(status_of(sample, expand(sample), now=NOW))
    api.patch(path_of(PLURALS["InstanceType"], sample.name, subresource="status"), {"status": status})

    table = api.request("GET", path_of(PLURALS["InstanceType"]), accept=TABLE)

    columns = [column["name"] for column in table["columnDefinitions"]]
    (row,) = (row["cells"] for row in table["rows"] if row["cells"][0] == sample.name)
    shown = dict(zip(columns, row, strict=True))
    wanted = {
        "CPU": "192",
        "Memory": "2Ti",
        "Devices": "16 dra.net, 8 gpu.nvidia.com",
        "Price": "27.8",
        "Valid": "True",
    }
    assert {name: shown[name] for name in wanted} == wanted


def test_the_slices_of_a_sample_are_taken_by_the_server(api: ApiClient, try_to_create: Send) -> None:
    for sample in SAMPLES.values():
        if sample["kind"] == "InstanceType":
            expanded = expand(read_as(InstanceType, sample))
            assert isinstance(expanded, Expanded)
            for one in expanded.slices_for_node("node-a", node_uid="0c6b9f5e-0000-4000-8000-000000000000"):
                assert try_to_create(write(one))["spec"]["devices" if one.spec.devices else "sharedCounters"]


@pytest.mark.parametrize(
    "plural", ["instancetypes.dra-scheduler.dev", "nodeclaims.karpenter.sh", "nodepools.karpenter.sh"]
)
def test_the_schema_is_sound(plural: str, api: ApiClient, served: tuple[str, ...]) -> None:
    stored = api.get("apiextensions.k8s.io/v1/customresourcedefinitions", plural)

    conditions = {condition["type"]: condition["status"] for condition in stored["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
