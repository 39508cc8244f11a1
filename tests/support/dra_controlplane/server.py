"""A control plane of one's own: etcd, kube-apiserver and kube-controller-manager, and kube-scheduler on request.

Everything lives in one temporary folder and on free ports of this machine. The programs are killed when their owner
ends, however it ends; the folder of a killed owner is removed by a later start. On Linux "owner" means the thread that
started them: start from one that lives as long as the control plane has to.
"""

import atexit
import enum
import socket
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Self

from dra_controlplane import kubeconfig
from dra_controlplane.build import find_programs
from dra_controlplane.certificates import Authority
from dra_controlplane.client import ApiClient, ApiError, path_of
from dra_controlplane.commands import (
    Credentials,
    Ports,
    apiserver_command,
    controller_manager_command,
    etcd_command,
    scheduler_command,
)
from dra_controlplane.errors import ControlPlaneError
from dra_controlplane.folders import OwnedFolder
from dra_controlplane.process import Component, guarded
from dra_controlplane.waiting import wait_until

READY_SECONDS = 120.0
ATTEMPTS = 5
TOKEN_SECONDS = 24 * 3600


class Ending(enum.Enum):
    """Who ends the programs."""

    WITH_OWNER = enum.auto()
    BY_HAND = enum.auto()


class _PortLostError(Exception):
    """Somebody took the port between the choice and its use."""


class ControlPlane:
    """Starts on entering, or by :meth:`start`; is gone on leaving, or by :meth:`stop`.

    Args:
        feature_gates: passed to every Kubernetes program.
        apiserver_flags: added to the command line of kube-apiserver.
        ending: ``BY_HAND`` lets the programs outlive this process; see :attr:`stop_command`.
    """

    def __init__(
        self,
        *,
        feature_gates: Mapping[str, bool] | None = None,
        apiserver_flags: Sequence[str] = (),
        ending: Ending = Ending.WITH_OWNER,
    ) -> None:
        gates = ",".join(f"{name}={str(value).lower()}" for name, value in (feature_gates or {}).items())
        self._gates = (f"--feature-gates={gates}",) if gates else ()
        self._apiserver_flags = tuple(apiserver_flags)
        self._ending = ending
        self._programs = find_programs()
        self._owned = OwnedFolder()
        self.folder = self._owned.path
        self._authority = Authority(self.folder / "certificates")
        certificate, key = self._authority.server("kube-apiserver")
        self._credentials = Credentials(
            ca=self._authority.certificate,
            server_certificate=certificate,
            server_key=key,
            service_account_key=self._authority.signing_key("service-accounts"),
        )
        self._components: dict[str, Component] = {}
        self._ports = Ports(etcd=0, apiserver=0)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where kube-apiserver answers; stays the same when it is restarted."""
        return f"https://127.0.0.1:{self._ports.apiserver}"

    @property
    def etcd_url(self) -> str:
        """Where etcd answers: what is written there has passed no admission."""
        return f"http://127.0.0.1:{self._ports.etcd}"

    @property
    def ca(self) -> Path:
        """The certificate by which kube-apiserver is known."""
        return self._authority.certificate

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of an administrator."""
        return self.folder / "admin.kubeconfig"

    @property
    def pids(self) -> dict[str, int]:
        """The process id of each program by its name."""
        return {name: component.pid for name, component in self._components.items()}

    @property
    def stop_command(self) -> str:
        """A shell line that ends what was started with ``Ending.BY_HAND``."""
        return f"kill -9 {' '.join(map(str, self.pids.values()))}; rm -rf {self.folder}"

    def component(self, name: str) -> Component:
        """A running program: ``etcd``, ``kube-apiserver``, ``kube-controller-manager`` or ``kube-scheduler``."""
        return self._components[name]

    def client(self) -> ApiClient:
        """A new client with an administrator's rights."""
        return ApiClient.from_kubeconfig(self.kubeconfig)

    def start(self) -> None:
        """Returns when the server is ready and the controllers work.

        Raises:
            ControlPlaneError: a program ended, or was not ready in time; with the end of its log.
        """
        if self._ending is Ending.WITH_OWNER:
            atexit.register(self.stop)
        try:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    self._start_once()
                except _PortLostError as error:
                    self._kill_all()
                    if attempt == ATTEMPTS:
                        raise ControlPlaneError(f"lost every port that seemed free: {error}") from error
                else:
                    return
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kills every program and removes the folder; harmless when done before."""
        self._kill_all()
        self._owned.remove()
        atexit.unregister(self.stop)

    def start_scheduler(self) -> Component:
        """The real kube-scheduler, for pods of ``default-scheduler``, with the rights it has in every cluster."""
        config = self._kubeconfig_for_user("system:kube-scheduler")
        return self._run("kube-scheduler", scheduler_command(self._programs, config, self.folder, self._gates))

    def stop_apiserver(self) -> None:
        """Kills kube-apiserver as a crash would; clients are refused until :meth:`start_apiserver`."""
        self._components.pop("kube-apiserver").kill()

    def start_apiserver(self) -> None:
        """Starts kube-apiserver on its old port and waits until it is ready."""
        self._run_apiserver()
        self._wait_for("kube-apiserver", self._is_ready, "the API server to be ready")

    def restart_apiserver(self) -> None:
        """An outage of about two seconds: nothing that was written is lost, every connection is."""
        self.stop_apiserver()
        self.start_apiserver()

    def kubeconfig_for_service_account(self, namespace: str, name: str) -> Path:
        """A kubeconfig with a fresh token of a service account that exists, good for a day."""
        path = path_of("v1/serviceaccounts", name, namespace=namespace, subresource="token")
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        }
        token = self.client().request("POST", path, request)["status"]["token"]
        target = self.folder / f"{namespace}-{name}.kubeconfig"
        return kubeconfig.write_for_token(target, url=self.url, ca=self.ca, token=token)

    def client_for_service_account(self, namespace: str, name: str) -> ApiClient:
        """A client with the rights of a service account that exists."""
        return ApiClient.from_kubeconfig(self.kubeconfig_for_service_account(namespace, name))

    def _start_once(self) -> None:
        self._ports = Ports(etcd=free_port(), apiserver=free_port())
        self._run("etcd", etcd_command(self._programs, self._ports, self.folder))
        self._kubeconfig_for_user("admin", group="system:masters")
        self.start_apiserver()
        command = controller_manager_command(self._programs, self.kubeconfig, self._gates)
        self._run("kube-controller-manager", command)
        self._wait_for("kube-controller-manager", self._has_default_account, "the default service account")

    def _run_apiserver(self) -> None:
        command = apiserver_command(self._programs, self._ports, self._credentials, self._gates, self._apiserver_flags)
        self._run("kube-apiserver", command)

    def _run(self, name: str, command: Sequence[str]) -> Component:
        guard = guarded() if self._ending is Ending.WITH_OWNER else []
        component = Component(name, [*guard, *command], log=self.folder / f"{name}.log", lock=self._owned.lock)
        self._components[name] = component
        return component

    def _kill_all(self) -> None:
        for component in reversed(self._components.values()):
            component.kill()
        self._components.clear()

    def _kubeconfig_for_user(self, user: str, group: str | None = None) -> Path:
        certificate, key = self._authority.client(user, group)
        target = self.folder / f"{user.replace(':', '-')}.kubeconfig"
        return kubeconfig.write_for_certificate(target, url=self.url, ca=self.ca, certificate=certificate, key=key)

    def _wait_for(self, name: str, question: Callable[[], bool], what: str) -> None:
        def answer() -> bool:
            for component in self._components.values():
                if not component.is_running():
                    raise _failure(component, f"{component.name} ended while waiting for {what}")
            return question()

        try:
            wait_until(answer, what, seconds=READY_SECONDS)
        except TimeoutError as error:
            raise _failure(self._components[name], str(error)) from error

    def _is_ready(self) -> bool:
        try:
            self.client().request("GET", "/readyz")
        except (ApiError, ConnectionError, TimeoutError, HTTPException):
            return False
        return True

    def _has_default_account(self) -> bool:
        return self.client().find("v1/serviceaccounts", "default", namespace="default") is not None


def _failure(component: Component, what: str) -> Exception:
    tail = component.log_tail()
    if "address already in use" in tail:
        return _PortLostError(component.name)
    return ControlPlaneError(f"{what}; the end of its log:\n{tail}")


def free_port() -> int:
    """A port of this machine that nobody has at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
