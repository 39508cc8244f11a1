"""Each step of the search as JSON lines, for those who want to see why it came out as it did.

Every node is asked for every pod, where scheduling remembers what nodes said to an equal pod before.
"""

import json
from typing import TextIO

from dra_scheduling.allocation.outcomes import Exhausted, Impossible
from dra_scheduling.cluster import Cluster
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.outcomes import Assignment, Outcome
from dra_scheduling.model.pods import Pod
from dra_scheduling.reasons import Refusal
from dra_scheduling.shapes.verdicts import Devices, Placement, find_placement
from dra_simulator.explain import shape_of


class Trace:
    """Writes one JSON object a line: events `pod`, `take`, `giveBack`, `node` and `decided`."""

    __slots__ = ("_stream",)

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def before(self, cluster: Cluster, pod: Pod) -> None:
        """Write what every node says to the pod as the cluster is now, with the search for devices there."""
        name = str(pod.key)
        shape = shape_of(cluster, pod)
        if isinstance(shape, Refusal):
            self.write(event="pod", pod=name, reason=shape.reason, message=shape.message)
            return
        self.write(event="pod", pod=name)
        devices = Devices(cluster.pools, cluster.ledger, cluster.classes)
        for node, state in sorted(cluster.nodes.items()):
            found = find_placement(shape, state, devices, _Steps(self, name, node))
            self.write(event="node", pod=name, node=node, **_verdict(found))

    def after(self, outcome: Outcome) -> None:
        """Write what was decided."""
        node = outcome.node if isinstance(outcome, Assignment) else None
        self.write(event="decided", pod=str(outcome.pod.key), node=node)

    def write(self, **event: object) -> None:
        """Write one event."""
        self._stream.write(json.dumps(event, ensure_ascii=False) + "\n")


class _Steps:
    """Writes the steps of the search on one node."""

    __slots__ = ("_node", "_pod", "_trace")

    def __init__(self, trace: Trace, pod: str, node: str) -> None:
        self._trace = trace
        self._pod = pod
        self._node = node

    def took(self, claim: str, request: str, device: DeviceID) -> None:
        """Write that a device was taken for a request."""
        self._step("take", claim, request, device)

    def gave_back(self, claim: str, request: str, device: DeviceID) -> None:
        """Write that it led nowhere."""
        self._step("giveBack", claim, request, device)

    def _step(self, event: str, claim: str, request: str, device: DeviceID) -> None:
        self._trace.write(event=event, pod=self._pod, node=self._node, claim=claim, request=request, device=str(device))


def _verdict(found: Placement | Refusal | Impossible | Exhausted) -> dict[str, str]:
    match found:
        case Placement():
            return {"verdict": "fits"}
        case Refusal():
            return {"verdict": "refuses", "reason": found.reason, "message": found.message}
        case Impossible():
            return _verdict(found.refusal)
        case Exhausted():
            return {**_verdict(found.refusal), "verdict": "unknown"}
