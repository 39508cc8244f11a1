"""A simulation as the JSON object that scripts read: all keys always there, lists sorted."""

from collections.abc import Iterable

from dra_scheduling.basics.reasons import FoldedReason
from dra_scheduling.cycle.allocate import bind_request
from dra_scheduling.wire import write
from dra_simulator.simulate import Simulation

API_VERSION = "dra-scheduler.dev/v1alpha1"
KIND = "SimulationResult"


def result_of(simulation: Simulation) -> dict[str, object]:
    """Return the whole result in plain values."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "bindRequests": [write(bind_request(assignment)) for assignment in simulation.assignments],
        "nodeClaims": [write(claim) for claim in simulation.node_claims],
        "nominations": [
            {"pod": str(one.pod.key), "nodeClaim": one.node_claim} | ({"node": one.node} if one.node else {})
            for one in simulation.nominations
        ],
        "evictions": [],
        "pending": [
            {
                "pod": str(left.pod.key),
                "message": " ".join(left.message.split()),
                "reasons": reasons_in_plain_values(left.reasons),
            }
            for left in simulation.pending
        ],
        "queues": [],
        "devices": {"total": len(simulation.published), "allocated": len(simulation.allocated)},
        "stats": {"pods": simulation.pods, "nodes": simulation.nodes, "searchSteps": simulation.steps},
    }


def reasons_in_plain_values(reasons: Iterable[FoldedReason]) -> list[dict[str, object]]:
    """Return reasons as JSON has them."""
    return [{"reason": item.reason, "message": item.message, "nodes": item.nodes} for item in reasons]
