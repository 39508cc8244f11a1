"""A story as the JSON object that scripts read; `docs/simulator.md` describes it."""

from dra_simulator.explain.explain_pod import NearestMiss, Story
from dra_simulator.explain.held_devices import HeldDevice
from dra_simulator.explain.node_rows import NodeGroup, ResourceServer, Served
from dra_simulator.explain.request_cells import request_in_plain_values
from dra_simulator.launch.host_json import supply_in_plain_values
from dra_simulator.result import reasons_in_plain_values


def story_in_plain_values(story: Story) -> dict[str, object]:
    """Return the story as JSON has it."""
    miss = story.nearest_miss
    return {
        "pod": str(story.pod.key),
        "outcome": story.outcome,
        "devices": [_held(one) for one in story.devices],
        "reasons": reasons_in_plain_values(story.reasons),
        "nodes": [_group(group) for group in story.nodes],
        "nearestMiss": None if miss is None else _miss(miss),
        "supply": None if story.supply is None else supply_in_plain_values(story.supply),
    }


def _held(one: HeldDevice) -> dict[str, object]:
    return {
        "wanted": one.wanted,
        "claim": one.claim,
        "request": one.request or None,
        "device": one.device or None,
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
        "requests": [request_in_plain_values(each) for each in group.view.requests],
    }


def _served(each: Served) -> dict[str, object]:
    return {
        "resource": each.resource,
        "wanted": each.wanted,
        "servedBy": each.server.value,
        "deviceClass": each.device_class or None,
        "free": each.free if each.server is ResourceServer.NODE else None,
    }
