"""A trace tells what was proved, and stays small whatever is searched."""

import io
import json
from typing import Any

from dra_builders.values import (
    claim,
    device,
    devices,
    driver_class,
    match_attribute,
    node,
    pod,
    request,
    resource_slice,
)
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.wire import KubernetesObject
from dra_simulator.trace import Trace

WANTED = pod("p", claims={"c": "c"})
NUMA = "gpu.example.com/numa"


def events(*values: KubernetesObject, nodes: int = 1, **limits: int) -> list[dict[str, Any]]:
    """Return the trace of pod `p`, which wants claim `c`; each node has the devices of a slice called `content`."""
    cluster, stream = Cluster(), io.StringIO()
    for value in (driver_class(), WANTED, *values, *(node(f"n{number}") for number in range(nodes))):
        cluster.apply(value)
    trace = Trace(stream, **limits)
    trace.before(cluster, WANTED)
    trace.after(schedule(cluster, [WANTED]).outcomes[0])
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def one_device_each(nodes: int) -> list[KubernetesObject]:
    return [resource_slice(f"s{number}", devices(1), node=f"n{number}") for number in range(nodes)]


def pairs() -> tuple[KubernetesObject, ...]:
    """Two devices a NUMA node, and a claim for three pairs, which takes some steps."""
    content = [device(f"d{number}", attributes={"numa": number // 2}) for number in range(6)]
    rules = [match_attribute(NUMA, f"a{number}", f"b{number}") for number in range(3)]
    requests = [request(f"{side}{number}") for number in range(3) for side in "ab"]
    return resource_slice("s", content, node="n0"), claim("c", *requests, constraints=rules)


def test_what_a_proof_rules_out_is_told_with_the_proof() -> None:
    _, ruled_out, verdict, decided = events(*one_device_each(1), claim("c", request(count=2)))
    assert (ruled_out["event"], ruled_out["requests"]) == ("ruleOut", [{"claim": "c", "request": "gpu"}])
    assert ruled_out["message"].endswith("needs 2 matching free devices (at most 1 free)")
    assert (verdict["verdict"], verdict["message"]) == ("refuses", ruled_out["message"])
    assert (decided["node"], "leftOut" in decided) == (None, False)


def test_nodes_that_look_the_same_are_searched_once() -> None:
    told = events(*one_device_each(3), claim("c", request()), nodes=3)
    assert [(event["event"], event.get("node"), event.get("searchedAs")) for event in told[1:-1]] == [
        ("take", "n0", None),
        ("node", "n0", None),
        ("node", "n1", "n0"),
        ("node", "n2", "n0"),
    ]


def test_of_a_long_search_the_first_steps_are_told_and_the_others_counted() -> None:
    whole = events(*pairs())
    short = events(*pairs(), most_steps=2)
    assert [event["event"] for event in short] == ["pod", "take", "take", "node", "decided"]
    assert short[3]["leftOut"] == len(whole) - len(short)


def test_a_full_trace_still_tells_what_was_decided() -> None:
    told = events(*pairs(), most_lines=1)
    assert [event["event"] for event in told] == ["pod", "take", "decided"]
    assert (told[-1]["node"], told[-1]["leftOut"]) == ("n0", len(events(*pairs())) - len(told))
