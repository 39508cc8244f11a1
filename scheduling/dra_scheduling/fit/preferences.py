"""How much a node that takes the pod suits it; kube-scheduler's NodeAffinity and TaintToleration scores, unweighted."""

from dra_scheduling.basics.requirements import term_matches
from dra_scheduling.fit.taint_toleration import is_tolerated
from dra_scheduling.model.pods import Node, Pod

AVOIDING_EFFECT = "PreferNoSchedule"


def has_preferences(pod: Pod) -> bool:
    """Whether the pod would rather go to some nodes than to others."""
    return bool(pod.spec.affinity.node_affinity.preferred_during_scheduling_ignored_during_execution)


def preferred_weight(pod: Pod, node: Node) -> int:
    """Return the sum of the weights of the preferred node affinity terms that the node matches; more is better."""
    terms = pod.spec.affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
    labels = node.metadata.labels
    return sum(term.weight for term in terms if term_matches(term.preference, node.name, labels))


def avoided_taints(pod: Pod, node: Node) -> int:
    """Return how many `PreferNoSchedule` taints of the node the pod does not tolerate; fewer is better."""
    return sum(
        taint.effect == AVOIDING_EFFECT and not is_tolerated(taint, pod.spec.tolerations) for taint in node.spec.taints
    )
