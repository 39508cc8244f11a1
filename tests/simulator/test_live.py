"""The commands that look at a live cluster."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_cases import Case, cases
from dra_cases.command import dra
from dra_cases.server import ListServer
from dra_cases.worlds import manifests, standard_classes
from dra_controlplane.client import ApiClient
from dra_controlplane.server import ControlPlane
from dra_operator.kinds import BY_PATH
from dra_scheduling.model.kinds import REGISTRY
from dra_scheduling.wire import write
from dra_simulator.complete import complete
from dra_simulator.load import Loaded, Manifest

NAMES = ("shared-claim-takes-its-device-once", "pod-follows-its-allocated-claim", "every-node-says-why-not")


def case(name: str) -> Case:
    return next(case for case in cases() if case.name == name)


def objects(name: str) -> list[dict[str, object]]:
    """Return the objects of a case as a cluster would hold them."""
    found = case(name)
    world = complete(Loaded(manifests=tuple(Manifest(file=found.name, raw=raw) for raw in found.objects)))
    return [write(value) for value in world.objects]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ListServer]:
    """A server with everything of the cases, each in a namespace of its own."""
    with ListServer(objects("pod-follows-its-allocated-claim")) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        yield server


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_dump_simulates_like_the_cluster_it_is_of(
    name: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ListServer(objects(name)) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        dumped = dra("dump", "-o", form)
    assert dumped.code == 0
    assert dra("simulate", "-", text=dumped.out).out == dra("simulate", str(case(name).path)).out


def test_what_a_cycle_sees_is_what_is_read() -> None:
    assert {kind.plural for kind in REGISTRY} >= {resource.plural for resource in BY_PATH.values()}


def test_taint_rules_are_read_where_there_are_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ListServer([], refusals={"devicetaintrules": 404}) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        assert dra("dump").code == 0
    asked = [path.partition("?")[0] for _, path in server.asked if "devicetaintrules" in path]
    assert asked == [f"/apis/resource.k8s.io/{version}/devicetaintrules" for version in ("v1", "v1beta2")]


def test_kinds_that_not_everybody_may_list_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ListServer([], refusals={"instancetypes": 403}) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        ended = dra("dump")
    assert ended.code == 0
    assert ended.problems == [
        "passed over: cluster: instancetypes: -: expected a list: instancetypes is forbidden",
    ]


def test_everything_is_read_page_by_page_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ListServer(objects("every-node-says-why-not")) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        assert dra("dump").code == 0
    assert {method for method, _ in server.asked} == {"GET"}
    assert sum("/api/v1/nodes" in path for _, path in server.asked) == 3


def test_a_dump_holds_no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    container = {"name": "main", "image": "i", "env": [{"name": "PASSWORD", "value": "hunter2"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    with ListServer([pod]) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        dumped = dra("dump")
    assert "name: p" in dumped.out
    assert "hunter2" not in dumped.out


def test_devices_are_listed_with_the_claims_that_have_them(server: ListServer) -> None:
    listed = json.loads(dra("devices").out)
    assert [(item["device"], item["claims"]) for item in listed if item["node"] == "n2"] == [
        ("gpu-0", ["default/held"])
    ]
    assert len(listed) == 5


def test_a_namespace_has_the_devices_of_its_claims(server: ListServer) -> None:
    assert [item["claims"] for item in json.loads(dra("devices", "-n", "default").out)] == [["default/held"]]
    assert json.loads(dra("devices", "-n", "elsewhere").out) == []


def test_a_dump_holds_what_nodes_to_come_are_planned_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = {
        "pools": {"default": {"needs": {"arch": ["amd64"]}}},
        "types": {"gpu": {"devices": {"a": 2}}},
        "daemons": {"agent": {}},
        "nodeclaims": {"c": {"types": ["gpu"], "pods": ["p"], "drivers": ["a"]}},
        "pods": {"p": {"wants": ["r"]}, "q": {"cpu": 7}},
    }
    items = [*standard_classes(), *manifests(world)]
    with ListServer(items) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        dumped = dra("dump")
    whole = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    words = ("simulate", "-", "--launch", "--now", "2031-01-01T00:00:00Z")
    assert dra(*words, text=dumped.out).out == dra(*words, text=whole).out


def test_node_claims_are_listed_and_pods_told_of_nodes_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = {
        "pools": {"default": {}},
        "types": {"gpu": {"devices": {"a": 1}}},
        "nodeclaims": {"c": {"types": ["gpu"], "pods": ["p"], "drivers": ["a"]}},
        "pods": {"p": {"wants": ["r"]}},
    }
    with ListServer([*standard_classes(), *manifests(world)]) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        (listed,) = json.loads(dra("nodeclaims").out)
        (fate,) = json.loads(dra("nodeclaims", "c").out)["fits"]
        story = json.loads(dra("explain", "pod", "p").out)
    assert (listed["nodeClaim"], listed["phase"], listed["pods"]) == ("c", "Planned", ["default/p"])
    assert [group["fits"] for group in fate["instanceTypes"]] == [True]
    assert story["outcome"] == "waits for NodeClaim c"
    assert [group["names"] for group in story["supply"]["instanceTypes"]] == [["gpu"]]


def test_claims_are_listed_with_what_they_have(server: ListServer) -> None:
    held = {
        "claim": "default/held",
        "state": "allocated",
        "devices": ["gpu.example.com/n2/gpu-0"],
        "consumers": [],
    }
    assert json.loads(dra("claims").out) == [held]
    assert json.loads(dra("claims", "-n", "elsewhere").out) == []
    assert dra("claims", "-n", "elsewhere", "-o", "table").out == "none\n"


def test_lists_are_tables_for_people(server: ListServer) -> None:
    assert dra("claims", "-o", "table").out == (
        "CLAIM          STATE       DEVICES                    CONSUMERS\n"
        "default/held   allocated   gpu.example.com/n2/gpu-0\n"
    )


def test_a_pod_of_the_cluster_is_explained(server: ListServer) -> None:
    told = json.loads(dra("explain", "pod", "elsewhere").out)
    assert (told["outcome"], [node["fits"] for node in told["nodes"]]) == ("pending", [False, False])
    assert dra("explain", "pod", "default/second", "-o", "table").out.startswith("Pod default/second: pending")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["explain", "pod", "nobody"], "cluster: Pod default/nobody: -: expected a pod that is there"),
        (
            ["claims", "--context", "absent"],
            "cluster: kubeconfig: -: expected access to a cluster: there is no entry 'absent'",
        ),
        (["claims", "--context", "nowhere"], "cluster: nodes: -: expected an answer of http://127.0.0.1:1"),
    ],
)
def test_what_cannot_be_had_is_one_line_and_ends_with_2(server: ListServer, words: list[str], problem: str) -> None:
    ended = dra(*words)
    assert (ended.code, ended.out) == (2, "")
    assert len(ended.problems) == 1
    assert ended.problems[0].startswith(problem)


def test_without_any_configuration_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "absent"))
    ended = dra("devices")
    assert (ended.code, len(ended.problems)) == (2, 1)
    assert ended.err.startswith("cluster: kubeconfig: -: expected access to a cluster: ")


@pytest.mark.parametrize("text", ["", "clusters: [", "[1, 2]", "clusters: 1"])
def test_a_file_that_is_no_kubeconfig_is_one_line(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "broken"
    path.write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(path))
    ended = dra("devices")
    assert (ended.code, len(ended.problems)) == (2, 1)
    assert ended.err.startswith("cluster: kubeconfig: -: expected ")


def test_a_refusal_of_the_server_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ListServer([], {"resourceslices": 403}) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        ended = dra("devices")
    assert ended.problems == ["cluster: resourceslices: -: expected a list: resourceslices is forbidden"]


def test_a_cluster_without_our_crd_can_be_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ListServer([], {"bindrequests": 404}) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        assert dra("devices").code == 0


def test_an_object_that_cannot_be_read_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "odd"}, "spec": {"containers": 7}}
    with ListServer([odd]) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(tmp_path)))
        ended = dra("claims")
    assert ended.code == 0
    assert ended.problems == ["passed over: cluster: Pod odd: $.spec.containers: expected a list, got a whole number"]


def test_the_real_server_is_dumped_for_the_simulator(
    control_plane: ControlPlane, api: ApiClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = {"schedulerName": "dra-scheduler", "containers": [{"name": "main", "image": "i"}]}
    api.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": namespace}, "spec": spec})
    monkeypatch.setenv("KUBECONFIG", str(control_plane.kubeconfig))
    dumped = dra("dump")
    pending = json.loads(dra("simulate", "-", text=dumped.out).out)["pending"]
    assert f"{namespace}/p" in {entry["pod"] for entry in pending}
    assert json.loads(dra("explain", "pod", "p", "-n", namespace).out)["outcome"] == "pending"
