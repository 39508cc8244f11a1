import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dra_controlplane.client import ApiClient, ApiError, Json, path_of
from dra_controlplane.errors import ControlPlaneError
from dra_controlplane.folders import PREFIX, OwnedFolder
from dra_controlplane.server import ControlPlane
from dra_controlplane.waiting import wait_until

CLAIM_SPEC: Json = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}}
SCHEDULER_SECONDS = 60.0
OWNER = """
import time
from dra_controlplane.server import ControlPlane

with ControlPlane() as plane:
    print(*plane.pids.values(), flush=True)
    time.sleep(600)
"""


def template(name: str, namespace: str) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"spec": CLAIM_SPEC},
    }


def pod(name: str, namespace: str, **spec: object) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [{"name": "main", "image": "none"}], **spec},
    }


def test_claims_are_made_from_templates_and_die_with_their_pod(api: ApiClient, namespace: str) -> None:
    api.create(template("one-gpu", namespace))
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    api.create(pod("worker", namespace, schedulerName="nobody", resourceClaims=claims))

    claim = wait_until(
        lambda: next(iter(api.items("resource.k8s.io/v1/resourceclaims", namespace=namespace)), None), "the claim"
    )
    assert claim["metadata"]["ownerReferences"][0]["name"] == "worker"

    api.delete("v1/pods", "worker", namespace=namespace, options={"gracePeriodSeconds": 0})
    wait_until(lambda: not api.items("resource.k8s.io/v1/resourceclaims", namespace=namespace), "garbage collection")


def test_a_namespace_gets_its_service_account(api: ApiClient, namespace: str) -> None:
    wait_until(lambda: api.find("v1/serviceaccounts", "default", namespace=namespace), "the account")


def test_a_service_account_has_no_rights_but_those_given(
    control_plane: ControlPlane, api: ApiClient, namespace: str
) -> None:
    wait_until(lambda: api.find("v1/serviceaccounts", "default", namespace=namespace), "the account")

    with pytest.raises(ApiError) as refused:
        control_plane.client_for_service_account(namespace, "default").list("v1/pods", namespace=namespace)

    assert (refused.value.code, refused.value.reason) == (403, "Forbidden")


def test_a_new_node_has_no_taint(api: ApiClient) -> None:
    node = api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "untainted"}})
    api.delete("v1/nodes", "untainted")

    assert "taints" not in node["spec"]


def test_a_watch_shows_what_happens_after_the_list(api: ApiClient, namespace: str) -> None:
    version = api.list("v1/configmaps", namespace=namespace)["metadata"]["resourceVersion"]
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seen"}}, namespace=namespace)

    events = api.watch(
        "v1/configmaps", namespace=namespace, parameters={"resourceVersion": version, "timeoutSeconds": "20"}
    )

    assert "seen" in (event["metadata"]["name"] for kind, event in events if kind == "ADDED")


def test_an_object_is_applied_patched_replaced_and_deleted(api: ApiClient, namespace: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}
    applied = api.apply(body, namespace=namespace)
    patched = api.patch(path_of("v1/configmaps", "settings", namespace=namespace), {"data": {"b": "2"}})
    assert patched["data"] == {"a": "1", "b": "2"}

    with pytest.raises(ApiError) as conflict:
        api.put({**applied, "data": {}})
    assert (conflict.value.code, conflict.value.reason) == (409, "Conflict")

    api.delete("v1/configmaps", "settings", namespace=namespace)
    assert api.find("v1/configmaps", "settings", namespace=namespace) is None


def test_a_strict_apply_names_the_unknown_field(api: ApiClient, namespace: str) -> None:
    with pytest.raises(ApiError, match="naem"):
        api.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "typo"}, "naem": 1}, namespace=namespace
        )


@pytest.mark.controlplane
def test_a_restarted_server_keeps_its_address_and_its_objects() -> None:
    with ControlPlane() as plane:
        api = plane.client()
        api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}})

        plane.restart_apiserver()

        assert api.get("v1/configmaps", "kept", namespace="default")
        folder, pids = plane.folder, plane.pids.values()
    assert not folder.exists()
    assert not any(is_alive(pid) for pid in pids)


@pytest.mark.controlplane
def test_a_feature_can_be_switched_off() -> None:
    with ControlPlane(feature_gates={"DRAConsumableCapacity": False}) as plane:
        metrics = plane.client().request("GET", "/metrics")["message"]

    assert 'kubernetes_feature_enabled{name="DRAConsumableCapacity",stage="BETA"} 0' in metrics


@pytest.mark.controlplane
def test_a_server_that_does_not_start_says_why() -> None:
    with (
        pytest.raises(ControlPlaneError, match="unknown flag: --no-such-flag"),
        ControlPlane(apiserver_flags=["--no-such-flag"]),
    ):
        pass


@pytest.mark.controlplane
def test_the_real_scheduler_serves_an_extended_resource_by_a_claim() -> None:
    with ControlPlane() as plane:
        api = plane.client()
        publish_one_gpu(api)
        plane.start_scheduler()
        wanted = {"limits": {"example.com/gpu": "1"}}
        api.create(pod("worker", "default", containers=[{"name": "main", "image": "none", "resources": wanted}]))

        bound = wait_until(
            lambda: api.items("v1/pods", selectors={"fieldSelector": "spec.nodeName=gpu-node"}),
            "the pod to be bound",
            seconds=SCHEDULER_SECONDS,
        )

        claim = bound[0]["status"]["extendedResourceClaimStatus"]["resourceClaimName"]
        assert api.get("resource.k8s.io/v1/resourceclaims", claim, namespace="default")["status"]["allocation"]


@pytest.mark.controlplane
def test_nothing_outlives_an_owner_that_was_killed(tmp_path: Path) -> None:
    with owner_below(tmp_path) as owner:
        pids = pids_told_by(owner)
        assert all(is_alive(pid) for pid in pids)

        owner.kill()

    wait_until(lambda: not any(is_alive(pid) for pid in pids), "the programs to end")


@pytest.mark.controlplane
def test_ctrl_c_leaves_neither_program_nor_folder(tmp_path: Path) -> None:
    with owner_below(tmp_path) as owner:
        pids = pids_told_by(owner)
        owner.send_signal(signal.SIGINT)

    assert not any(is_alive(pid) for pid in pids)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.controlplane
def test_a_control_plane_that_was_left_running_is_not_taken_for_an_abandoned_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    program = (
        "from dra_controlplane.server import ControlPlane, Ending\n"
        "plane = ControlPlane(ending=Ending.BY_HAND); plane.start()\n"
        "print(plane.folder, plane.kubeconfig, plane.stop_command, sep='\\n', flush=True)\n"
    )
    with owner_below(tmp_path, program) as owner:
        assert owner.stdout is not None
        folder, config, stop_command = owner.stdout.read().splitlines()
    try:
        os.utime(folder, (0, 0))
        OwnedFolder().remove()

        assert ApiClient.from_kubeconfig(Path(config)).items("v1/namespaces")
    finally:
        subprocess.run(["sh", "-c", stop_command], check=True)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_killed_owner_is_removed_by_a_later_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    abandoned = tmp_path / f"{PREFIX}old"
    abandoned.mkdir()
    os.utime(abandoned, (0, 0))
    living = OwnedFolder()
    os.utime(living.path, (0, 0))

    latest = OwnedFolder()

    assert set(tmp_path.iterdir()) == {living.path, latest.path}
    living.remove()
    latest.remove()


def owner_below(folder: Path, program: str = OWNER) -> subprocess.Popen[str]:
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(Path(__file__).parents[1] / "support")}
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def pids_told_by(owner: subprocess.Popen[str]) -> list[int]:
    assert owner.stdout is not None
    pids = [int(word) for word in owner.stdout.readline().split()]
    assert len(pids) == 3
    return pids


def publish_one_gpu(api: ApiClient) -> None:
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    node: Json = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "gpu-node"},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu.example.com"},
        "spec": {
            "selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}],
            "extendedResourceName": "example.com/gpu",
        },
    }
    pool = {"name": "gpu-node", "generation": 1, "resourceSliceCount": 1}
    slice_of_one = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "gpu-node"},
        "spec": {"driver": "gpu.example.com", "nodeName": "gpu-node", "pool": pool, "devices": [{"name": "gpu-0"}]},
    }
    for body in (node, device_class, slice_of_one):
        api.create(body)


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that ended and was not waited for yet does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
