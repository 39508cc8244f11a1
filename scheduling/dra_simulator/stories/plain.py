"""A story as the JSON object that scripts read; `docs/simulator.md` describes it."""

from dra_simulator.explain import NearestMiss, Story
from dra_simulator.result import reasons_in_plain_values
from dra_simulator.stories.counts import RequestCount
from dra_simulator.stories.nodes import NodeGroup, Served, Server


def story_in_plain_values(story: Story) -> dict[str, object]:
    """Return the story as JSON has it."""
    miss = story.nearest_miss
    return {
        "pod": str(story.pod.key),
        "outcome": story.outcome,
        "reasons": reasons_in_plain_values(story.reasons),
        "nodes": [_group(group) for group in story.nodes],
        "nearestMiss": None if miss is None else _miss(miss),
    }


def _miss(miss: NearestMiss) -> dict[str, object]:
    return {"node": miss.node, "reasons": reasons_in_plain_values(miss.reasons), "changes": list(miss.changes)}


def _group(group: NodeGroup) -> dict[str, object]:
    return {
        "node": group.view.node,
        "count": len(group.names),
        "names": list(group.names),
        "fits": group.fits,
        "reasons": reasons_in_plain_values(group.reasons),
        "extendedResources": [_served(each) for each in group.view.served],
        "requests": [_request(each) for each in group.view.requests],
    }


def _served(each: Served) -> dict[str, object]:
    return {
        "resource": each.resource,
        "wanted": each.wanted,
        "servedBy": each.server.value,
        "deviceClass": each.device_class or None,
        "free": each.free if each.server is Server.NODE else None,
    }


def _request(each: RequestCount) -> dict[str, object]:
    return {
        "claim": each.claim,
        "request": each.request,
        "deviceClass": each.device_class,
        "wanted": each.wanted,
        "reachable": each.reachable,
        "ofClass": each.of_class,
        "selectors": [
            {"expression": sieve.expression, "left": sieve.left, "failed": sieve.failed} for sieve in each.selectors
        ],
        "lackingCapacity": each.lacking_capacity,
        "needingFeature": each.needing_feature,
        "tainted": each.tainted,
        "taken": each.taken,
        "withoutRoom": each.without_room,
        "withoutCounters": each.without_counters,
        "available": each.available,
        "poolNotReady": each.pool_not_ready,
        "missing": each.missing,
    }
