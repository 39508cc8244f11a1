"""Plays how a pod that no node can serve gets a node of its own: planned, made, shut until it has devices, and gone."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import orjson
import yaml

from dra_builders import manifests
from dra_controlplane.client import ApiClient, Json, path_of
from dra_controlplane.installation import SAMPLES
from dra_demo import objects, statements
from dra_demo.check import Finding
from dra_demo.objects import NAMESPACE
from dra_demo.program import Operator
from dra_demo.show import Screen
from dra_demo.supply import NODE_CLAIMS, Supply, load

POD = "trainer"
POOL = "accelerated"
TYPE = "p5en.48xlarge"
GPU, NIC = "gpu.nvidia.com", "dra.net"
GPUS, NICS = 8, 16
WANTED_GPUS = 4
UNPUBLISHED = "kwok.dra-scheduler.dev/unpublished"
STEP_SECONDS = 60.0
# No node goes in the first 15 seconds after a pod has left it.
END_SECONDS = 120.0
LOOK_SECONDS = 0.1
READING_SECONDS = 1.5
DRA = Path(sys.executable).with_name("dra")

Statement = Callable[[Supply], Finding]


class NewNode:
    """The second part of the demo. `api` has an administrator's rights, `kubeconfig` is the file with them."""

    def __init__(self, api: ApiClient, kubeconfig: Path, operators: tuple[Operator, ...], screen: Screen) -> None:
        self._api = api
        self._kubeconfig = kubeconfig
        self._operators = operators
        self._screen = screen

    def run(self) -> bool:
        """Play one step after the other as long as the server says what it should, and return whether it always did."""
        steps = (self._supply, self._plan, self._register, self._first_driver, self._second_driver, self._end)
        return all(step() for step in steps)

    def _supply(self) -> bool:
        self._screen.heading("No node has network cards. manifests/samples/instancetypes says which machines there are")
        for item in samples():
            self._api.apply(_held_back(item))
        return self._holds(statements.usable, partial(statements.lacking, driver=NIC))

    def _plan(self) -> bool:
        self._screen.heading(f"A pod with {WANTED_GPUS} GPUs of at least 100Gi and an RDMA card, on amd64")
        for item in wishes():
            self._api.create(item)
        chosen = partial(statements.planned, kind=TYPE, drivers=f"{NIC},{GPU}")
        return self._holds(chosen, statements.waiting)

    def _register(self) -> bool:
        self._screen.heading("The machine is launched and its node comes up; no driver has published yet")
        nothing = (partial(statements.published, driver=driver, count=0) for driver in (GPU, NIC))
        return self._holds(statements.registered, *nothing, partial(statements.shut, missing=NIC), statements.waiting)

    def _first_driver(self) -> bool:
        self._screen.heading(f"{NIC} publishes; {GPU} has not yet")
        self._hold_back(GPU)
        is_true = self._holds(
            partial(statements.published, driver=NIC, count=NICS),
            partial(statements.published, driver=GPU, count=0),
            partial(statements.shut, missing=GPU),
            statements.waiting,
        )
        return self._ask_dra(GPU) and is_true

    def _second_driver(self) -> bool:
        self._screen.heading(f"{GPU} publishes as well")
        self._hold_back(None)
        is_true = self._holds(
            partial(statements.published, driver=GPU, count=GPUS),
            statements.opened,
            partial(statements.running, count=WANTED_GPUS + 1),
            statements.single,
        )
        return self._ask_dra() and is_true

    def _end(self) -> bool:
        name = load(self._api, POD).name
        self._screen.heading("The pod is deleted: its node is empty, and goes 15 seconds later")
        self._api.delete("v1/pods", POD, namespace=NAMESPACE)
        is_true = self._holds(partial(statements.gone, name=name), seconds=END_SECONDS)
        # Whoever looks around finds the pools as they are shipped.
        for item in samples():
            self._api.apply(item)
        return is_true

    def _holds(self, *claims: Statement, seconds: float = STEP_SECONDS) -> bool:
        """Wait until all of this is true, show it, and return whether it is."""
        started = time.monotonic()
        while True:
            for operator in self._operators:
                operator.check()
            now = load(self._api, POD)
            found = [claim(now) for claim in claims]
            is_true = all(finding.is_true for finding in found)
            if is_true or time.monotonic() - started > seconds:
                break
            time.sleep(LOOK_SECONDS)
        for finding in found:
            self._screen.finding(finding)
        if self._screen.is_terminal:
            time.sleep(READING_SECONDS)
        return is_true

    def _hold_back(self, drivers: str | None) -> None:
        name = load(self._api, POD).name
        if name:
            notes = {"metadata": {"annotations": {UNPUBLISHED: drivers}}}
            self._api.patch(path_of(NODE_CLAIMS, name), notes)

    def _ask_dra(self, *missing: str) -> bool:
        """Show what `dra nodeclaims` says, and return whether it names these drivers as missing, and the pod."""
        self._screen.say("\n$ dra nodeclaims")
        shown = self._run_dra("table", output=None)
        told = self._run_dra("json", output=subprocess.PIPE)
        listed = orjson.loads(told.stdout) if not told.returncode else []
        facts = [(one["nodeClaim"], one["missingDrivers"], one["pods"]) for one in listed]
        is_true = not shown.returncode and facts == [(load(self._api, POD).name, [*missing], [f"{NAMESPACE}/{POD}"])]
        what = f"waits for {', '.join(missing)}" if missing else "waits for nothing any more"
        self._screen.finding(Finding(f"dra says that it {what}", () if is_true else (f"it says {facts}",)))
        return is_true

    def _run_dra(self, form: str, output: int | None) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "KUBECONFIG": str(self._kubeconfig)}
        command = (str(DRA), "nodeclaims", "-o", form)
        return subprocess.run(command, env=environment, stdout=output, text=True, check=False)


def samples() -> Iterator[Json]:
    """Yield the sample NodePools and InstanceTypes."""
    for path in sorted((SAMPLES / "instancetypes").glob("*.yaml")):
        yield from yaml.safe_load_all(path.read_text())


def _held_back(item: Json) -> Json:
    """Return the object; machines of the pool begin without drivers, and may go as soon as they are empty."""
    if item["kind"] == "NodePool" and item["metadata"]["name"] == POOL:
        item["spec"]["template"]["metadata"]["annotations"] = {UNPUBLISHED: "*"}
        item["spec"]["disruption"]["consolidateAfter"] = "1s"
    return item


def wishes() -> Iterator[Json]:
    """Yield the class of network cards, a template of claims for GPUs and a card, and a pod with one."""
    rdma = f"device.driver == '{NIC}' && device.attributes['{NIC}'].?rdma.orValue(false)"
    yield manifests.device_class("rdma-nic", rdma)
    large = f"device.capacity['{GPU}'].memory.compareTo(quantity('100Gi')) >= 0"
    gpus = manifests.request("gpus", GPU, large, count=WANTED_GPUS)
    yield objects.template_of("gpus-and-nic", gpus, manifests.request("nic", "rdma-nic"))
    pod = objects.pod(POD, claim_from={"resourceClaimTemplateName": "gpus-and-nic"})
    pod["spec"]["nodeSelector"] = {"kubernetes.io/arch": "amd64"}
    pod["spec"]["tolerations"] = [{"key": "example.com/accelerated", "operator": "Exists"}]
    yield pod
