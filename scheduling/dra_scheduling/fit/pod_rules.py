"""What keeps a pod from every node, whatever the node is."""

from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.model.pods import Pod

HARD_SPREAD = "DoNotSchedule"


def gate_refusal(pod: Pod) -> Refusal | None:
    """Return what the pod waits for while it has scheduling gates."""
    gates = pod.spec.scheduling_gates
    if not gates:
        return None
    names = ", ".join(gate.name for gate in gates)
    return Refusal(reason="SchedulingGated", message=f"waits for its scheduling gates: {names}", wake=ClusterEvent.POD)


def unsupported_refusal(pod: Pod) -> Refusal | None:
    """Return which binding rule of the pod this scheduler cannot keep yet: refusing beats breaking it silently.

    Preferences of the same kinds are ignored.
    """
    spec = pod.spec
    if spec.affinity.pod_affinity.required_during_scheduling_ignored_during_execution:
        return _unsupported("required pod affinity", "spec.affinity.podAffinity")
    if spec.affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution:
        return _unsupported("required pod anti-affinity", "spec.affinity.podAntiAffinity")
    if any(rule.when_unsatisfiable == HARD_SPREAD for rule in spec.topology_spread_constraints):
        return _unsupported("topology spread with DoNotSchedule", "spec.topologySpreadConstraints")
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
            return _unsupported("a volume with a PersistentVolumeClaim", f"spec.volumes, {volume.name}")
    return None


def _unsupported(rule: str, where: str) -> Refusal:
    return Refusal(
        reason="UnsupportedPodRule",
        message=f"unsupported: {rule} ({where})",
        wake=ClusterEvent.POD,
    )
