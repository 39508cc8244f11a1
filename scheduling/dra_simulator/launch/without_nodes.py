"""What if some nodes went away: the library's answer as a table and as JSON."""

from collections.abc import Sequence

from dra_scheduling.cluster import Cluster
from dra_scheduling.disruption import Move, WhatIf, WhatIfOptions, simulate_without
from dra_scheduling.wire import write
from dra_simulator.launch.host_tables import claims_table, price_text
from dra_simulator.launch.made_up_provider import Catalogue
from dra_simulator.problems import InputProblem, UnusableInputError
from dra_simulator.tables import Block, Table

OPTION = "--without-node"


def what_if(cluster: Cluster, nodes: Sequence[str], now: str) -> WhatIf:
    """Return what would become of the pods on these nodes. Raises `UnusableInputError` for a node that is not there."""
    problems = [
        InputProblem(OPTION, f"Node {name}", "-", "expected a node that is there")
        for name in sorted(set(nodes))
        if name not in cluster.nodes
    ]
    if problems:
        raise UnusableInputError(*problems)
    return simulate_without(cluster, nodes, WhatIfOptions(now=now))


def what_if_in_plain_values(found: WhatIf) -> dict[str, object]:
    """Return the answer as JSON has it."""
    return {
        "nodes": list(found.nodes),
        "possible": found.is_possible,
        "moves": [_move(one) for one in sorted(found.moves, key=lambda move: move.pod.key)],
        "stuck": [
            {"pod": str(one.pod.key), "message": one.message}
            for one in sorted(found.stuck, key=lambda stuck: stuck.pod.key)
        ],
        "nodeClaims": [write(claim) for claim in sorted(found.created, key=lambda claim: claim.name)],
        "price": found.price,
    }


def what_if_blocks(found: WhatIf, cluster: Cluster) -> list[Block]:
    """Return where the pods would go, what would have to be made, and which pods are stuck."""
    verdict = "every pod has a place" if found.is_possible else "not every pod has a place that it can rely on"
    cost = f", new nodes cost {price_text(found.price)} by the hour" if found.created else ""
    moves = tuple((str(one.pod.key), _place(one), ", ".join(map(str, one.devices)) or "-") for one in found.moves)
    stuck = tuple((str(one.pod.key), one.message) for one in found.stuck)
    return [
        f"Without {', '.join(found.nodes)}: {verdict}{cost}",
        Table(headers=("POD", "WOULD GO TO", "DEVICES"), rows=tuple(sorted(moves)), style="green"),
        claims_table(sorted(found.created, key=lambda claim: claim.name), Catalogue(cluster)),
        Table(headers=("STUCK POD", "WHY"), rows=tuple(sorted(stuck)), style="yellow"),
    ]


def _move(one: Move) -> dict[str, object]:
    return {
        "pod": str(one.pod.key),
        "node": one.node,
        "nodeClaim": one.node_claim,
        "devices": [str(device) for device in one.devices],
    }


def _place(one: Move) -> str:
    return f"node {one.node}" if one.node else f"NodeClaim {one.node_claim}"
