"""Each step of the search as JSON lines, for those who want to see why it came out as it did.

Every node is asked for every pod, where scheduling remembers what nodes said to an equal pod before. Nodes on which a
search would see the same are searched once.
"""

import json
from collections.abc import Hashable, Sequence
from typing import TextIO

from dra_scheduling.allocation.allocation_outcomes import Exhausted, Impossible
from dra_scheduling.basics.reasons import Refusal, fold
from dra_scheduling.cluster import Cluster
from dra_scheduling.fit.evaluate import ClaimDevices, NodePlacement, find_placement
from dra_scheduling.fit.pod_class import PodClass
from dra_scheduling.model.ids import DeviceID
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning import Nomination
from dra_scheduling.state.assignments import Assignment, Outcome
from dra_scheduling.state.node_state import NodeState
from dra_simulator.explain.explain_pod import shape_of

MOST_STEPS = 1_000
"""Steps of one search that are written; of the others it is said how many there were."""
MOST_LINES = 1_000_000
"""Lines of a trace, those of pods and decisions aside: some 200 MB."""


class Trace:
    """Writes one JSON object a line: events `pod`, `take`, `giveBack`, `ruleOut`, `node`, `decided`, `planned`."""

    __slots__ = ("_left_out", "_lines", "_most_lines", "_stream", "most_steps")

    def __init__(self, stream: TextIO, most_steps: int = MOST_STEPS, most_lines: int = MOST_LINES) -> None:
        self._stream = stream
        self.most_steps = most_steps
        self._most_lines = most_lines
        self._lines = 0
        self._left_out = 0

    def before(self, cluster: Cluster, pod: Pod) -> None:
        """Write what every node says to the pod as the cluster is now, with the search for devices there."""
        name = str(pod.key)
        shape = shape_of(cluster, pod)
        if isinstance(shape, Refusal):
            self._write(event="pod", pod=name, reason=shape.reason, message=_sentence(shape))
            return
        self._write(event="pod", pod=name)
        devices = ClaimDevices(cluster.pools, cluster.ledger, cluster.classes)
        searched: dict[Hashable, str] = {}
        for node, state in sorted(cluster.nodes.items()):
            look = _look(shape, state, devices)
            first = searched.get(look) if look is not None else None
            if first is not None:
                found = find_placement(shape, state, devices)
                self.write(event="node", pod=name, node=node, **_verdict(found), searchedAs=first)
                continue
            steps = _Steps(self, name, node)
            found = find_placement(shape, state, devices, steps)
            self.write(event="node", pod=name, node=node, **_verdict(found), **steps.left_out)
            if steps.count and look is not None:
                searched[look] = node

    def after(self, outcome: Outcome) -> None:
        """Write what was decided, and how many lines about the pod there was no room for."""
        node = outcome.node if isinstance(outcome, Assignment) else None
        left_out = {"leftOut": self._left_out} if self._left_out else {}
        self._left_out = 0
        self._write(event="decided", pod=str(outcome.pod.key), node=node, **left_out)

    def planning(self, cluster: Cluster, pods: Sequence[Pod], now: str) -> None:
        """Write nothing: what is planned is told once it is."""

    def planned(self, nominations: Sequence[Nomination]) -> None:
        """Write which pods have a node to come."""
        for one in nominations:
            self._write(event="planned", pod=str(one.pod.key), nodeClaim=one.node_claim or None, node=one.node or None)

    def write(self, **event: object) -> None:
        """Write one event, while there is room."""
        if self._lines < self._most_lines:
            self._lines += 1
            self._write(**event)
        else:
            self._left_out += 1

    def _write(self, **event: object) -> None:
        self._stream.write(json.dumps(event, ensure_ascii=False) + "\n")


class _Steps:
    """Writes the steps of the search on one node."""

    __slots__ = ("_node", "_pod", "_trace", "count")

    def __init__(self, trace: Trace, pod: str, node: str) -> None:
        self._trace = trace
        self._pod = pod
        self._node = node
        self.count = 0

    @property
    def left_out(self) -> dict[str, int]:
        """How many steps were not written, if any."""
        more = self.count - self._trace.most_steps
        return {"leftOut": more} if more > 0 else {}

    def took(self, claim: str, request: str, device: DeviceID) -> None:
        """Write that a device was taken for a request."""
        self._step("take", claim=claim, request=request, device=str(device))

    def gave_back(self, claim: str, request: str, device: DeviceID) -> None:
        """Write that it led nowhere."""
        self._step("giveBack", claim=claim, request=request, device=str(device))

    def ruled_out(self, requests: Sequence[tuple[str, str]], refusal: Refusal) -> None:
        """Write the proof that requests cannot be served together."""
        named = [{"claim": claim, "request": request} for claim, request in requests]
        self._step("ruleOut", requests=named, reason=refusal.reason, message=_sentence(refusal))

    def _step(self, event: str, **fields: object) -> None:
        self.count += 1
        if self.count <= self._trace.most_steps:
            self._trace.write(event=event, pod=self._pod, node=self._node, **fields)


def _look(shape: PodClass, state: NodeState, devices: ClaimDevices) -> Hashable | None:
    """Return what a search sees of the node's devices; None where there is none, or where nodes cannot be compared."""
    need = shape.need_on(state.offered, devices.classes)
    if isinstance(need, Refusal) or need.query is None:
        return None
    sight = need.query.sight(devices.pools.on_node(state.place), devices.ledger)
    return None if sight is None else (id(need.query), sight.content)


def _verdict(found: NodePlacement | Refusal | Impossible | Exhausted) -> dict[str, str]:
    match found:
        case NodePlacement():
            return {"verdict": "fits"}
        case Refusal():
            return {"verdict": "refuses", "reason": found.reason, "message": _sentence(found)}
        case Impossible():
            return _verdict(found.refusal)
        case Exhausted():
            return {**_verdict(found.refusal), "verdict": "unknown"}


def _sentence(refusal: Refusal) -> str:
    """Return the refusal with its figures and remarks."""
    return fold([refusal])[0].message
