"""The command lines of the four programs, for one machine and one throw-away cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from dra_controlplane.build import Programs

CONTROLLERS = (
    "resourceclaim-controller,device-taint-eviction-controller,"
    "garbage-collector-controller,namespace-controller,serviceaccount-controller"
)
# ServiceAccount would refuse pods until a token controller runs; TaintNodesByCondition taints every new Node
# until a node life-cycle controller, which there is none of, takes the taint away.
ADMISSION_OFF = "ServiceAccount,TaintNodesByCondition"


@dataclass(frozen=True, kw_only=True)
class Ports:
    """Where etcd and kube-apiserver listen, on 127.0.0.1."""

    etcd: int
    apiserver: int


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """The files by which kube-apiserver proves itself and knows its clients."""

    ca: Path
    server_certificate: Path
    server_key: Path
    service_account_key: Path


def etcd_command(programs: Programs, ports: Ports, folder: Path) -> list[str]:
    """An etcd that forgets safety for speed: the data is thrown away anyhow."""
    url = f"http://127.0.0.1:{ports.etcd}"
    return [
        str(programs.etcd),
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        "--listen-peer-urls=http://127.0.0.1:0",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def apiserver_command(
    programs: Programs, ports: Ports, credentials: Credentials, gates: Sequence[str], extra: Sequence[str]
) -> list[str]:
    """A kube-apiserver with RBAC, client certificates and service-account tokens."""
    return [
        str(programs.apiserver),
        f"--etcd-servers=http://127.0.0.1:{ports.etcd}",
        f"--secure-port={ports.apiserver}",
        "--bind-address=127.0.0.1",
        f"--tls-cert-file={credentials.server_certificate}",
        f"--tls-private-key-file={credentials.server_key}",
        f"--client-ca-file={credentials.ca}",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--service-account-issuer=https://localhost",
        f"--service-account-key-file={credentials.service_account_key}",
        f"--service-account-signing-key-file={credentials.service_account_key}",
        "--authorization-mode=RBAC",
        "--allow-privileged",
        f"--disable-admission-plugins={ADMISSION_OFF}",
        *gates,
        *extra,
    ]


def controller_manager_command(programs: Programs, kubeconfig: Path, gates: Sequence[str]) -> list[str]:
    """The controllers that claims, taints of devices, owners, namespaces and service accounts need, and no others."""
    return [
        str(programs.controller_manager),
        f"--kubeconfig={kubeconfig}",
        f"--controllers={CONTROLLERS}",
        "--leader-elect=false",
        "--use-service-account-credentials=false",
        "--kube-api-qps=2000",
        "--kube-api-burst=4000",
        "--secure-port=0",
        *gates,
    ]


def scheduler_command(programs: Programs, kubeconfig: Path, folder: Path, gates: Sequence[str]) -> list[str]:
    """The default profile, with a client that does not hold it back."""
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 10000},
        "leaderElection": {"leaderElect": False},
    }
    path = folder / "kube-scheduler.yaml"
    path.write_text(yaml.safe_dump(configuration))
    return [str(programs.scheduler), f"--config={path}", "--secure-port=0", *gates]
