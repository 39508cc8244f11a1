"""The devices that a request finds, as cells of a table and as JSON."""

from collections.abc import Iterator

from dra_simulator.explain.request_counts import RequestCount

COUNT_HEADERS = (
    "CLAIM",
    "REQUEST",
    "CLASS",
    "WANTED",
    "REACHABLE",
    "MATCH CLASS",
    "MATCH SELECTORS",
    "FREE",
    "MISSING",
    "EXCLUDED",
)
"""Devices that the node reaches, those of them that the class selects, and those that each further selector leaves."""


def count_cells(count: RequestCount) -> tuple[str, ...]:
    """Return the cells of a request under `COUNT_HEADERS`."""
    return (
        count.claim,
        count.called,
        count.device_class,
        "all" if count.wanted is None else str(count.wanted),
        str(count.reachable),
        str(count.of_class),
        " > ".join(str(sieve.left) for sieve in count.selectors) or "-",
        str(count.available),
        str(count.missing or "-"),
        ", ".join(_excluded(count)) or "-",
    )


def _excluded(count: RequestCount) -> Iterator[str]:
    for number, words in (
        (max((sieve.failed for sieve in count.selectors), default=0), "fail a selector's evaluation"),
        (count.lacking_capacity, "too small"),
        (count.needing_feature, "need a feature that is off"),
        (count.tainted, "tainted"),
        (count.taken, "taken"),
        (count.without_room, "full"),
        (count.without_counters, "out of counters"),
        (count.pool_not_ready, "in a pool not ready"),
    ):
        if number:
            yield f"{number} {words}"


def request_in_plain_values(each: RequestCount) -> dict[str, object]:
    """Return the counts as JSON has them."""
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
