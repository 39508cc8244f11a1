"""What nodes to be say to a pod, as the JSON object that scripts read."""

from dra_scheduling.basics.reasons import FoldedReason, fold
from dra_simulator.explain.request_cells import request_in_plain_values
from dra_simulator.launch.host_views import SupplyStory, TypeGroup


def supply_in_plain_values(story: SupplyStory) -> dict[str, object]:
    """Return the story as JSON has it."""
    miss = story.nearest_miss
    return {
        "nodeClaims": [
            {"name": host.name, "fits": host.refusal is None, "reasons": _reasons(fold([host.refusal]))}
            if host.refusal is not None
            else {"name": host.name, "fits": True, "reasons": []}
            for host in story.hosts
        ],
        "instanceTypes": [group_in_plain_values(group) for group in story.groups],
        "refusals": _reasons(fold(story.refusals)),
        "nearestMiss": None
        if miss is None
        else {
            "nodePool": miss.view.node_pool,
            "instanceType": miss.view.name,
            "reasons": _reasons(miss.reasons),
        },
    }


def group_in_plain_values(group: TypeGroup) -> dict[str, object]:
    """Return types that look the same as JSON has them."""
    return {
        "nodePool": group.view.node_pool,
        "instanceType": group.view.name,
        "count": len(group.names),
        "names": list(group.names),
        "price": group.view.price,
        "fits": group.fits,
        "reasons": _reasons(group.reasons),
        "requests": [request_in_plain_values(each) for each in group.view.requests],
    }


def _reasons(folded: tuple[FoldedReason, ...]) -> list[dict[str, object]]:
    return [{"reason": item.reason, "message": item.message} for item in folded]
