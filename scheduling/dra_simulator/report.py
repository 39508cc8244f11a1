"""Simulations and stories as tables for people."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from dra_scheduling.model.claims import AllocationResult
from dra_scheduling.state.assignments import Assignment
from dra_simulator.check.findings import Finding, Severity
from dra_simulator.launch.host_tables import claims_table
from dra_simulator.launch.made_up_provider import Catalogue
from dra_simulator.simulate import Simulation
from dra_simulator.tables import Block, Table


def simulation_blocks(simulation: Simulation) -> list[Block]:
    """Return where pods go, which nodes are made for which others, which stay and why, and the figures."""
    placed = tuple((str(item.pod.key), item.node, "  ".join(_devices(item))) for item in simulation.assignments)
    left = tuple((str(item.pod.key), item.message) for item in simulation.pending)
    waiting = tuple(
        (str(one.pod.key), f"NodeClaim {one.node_claim}" if one.node_claim else f"pods to leave node {one.node}")
        for one in simulation.nominations
    )
    made = f"{counted(len(simulation.node_claims), 'NodeClaim')}, " if simulation.node_claims else ""
    figures = (
        f"{len(placed)} of {counted(len(placed) + len(waiting) + len(left), 'pod')} placed, "
        f"{counted(simulation.nodes, 'node')}, {made}"
        f"{len(simulation.allocated)} of {counted(len(simulation.published), 'device')} allocated, "
        f"{counted(simulation.steps, 'search step')}"
    )
    return [
        Table(headers=("POD", "NODE", "DEVICES"), rows=placed, style="green"),
        claims_table(simulation.node_claims, Catalogue(simulation.cluster)),
        Table(headers=("POD", "WAITS FOR"), rows=waiting, style="cyan"),
        Table(headers=("PENDING POD", "WHY"), rows=left, style="yellow"),
        figures,
    ]


def findings_blocks(findings: Sequence[Finding], told: Collection[Finding] = ()) -> list[Block]:
    """Return one line a finding, and how many there are; those that were `told` elsewhere are only counted."""
    left = [item for item in findings if item not in told]
    lines = (f"{item.severity}: {item.file}: {item.object}: {item.path}: {item.message}" for item in left)
    errors = sum(item.severity is Severity.ERROR for item in findings)
    text = "\n".join(lines)
    unread = f" ({len(told)} of what cannot be used, told on standard error)" if told else ""
    figures = f"{counted(errors, 'error')}{unread}, {counted(len(findings) - errors, 'warning')}"
    return [text, figures] if text else [figures]


def _allocation_text(allocation: AllocationResult) -> str:
    """Return the devices of an allocation, those of one pool together: `driver/pool/device,device`.

    Every request takes at least one device, so that an allocation without any is of a claim without requests.
    """
    pools: defaultdict[str, list[str]] = defaultdict(list)
    for result in allocation.devices.results:
        pools[str(result.device_id.pool_key)].append(result.device)
    return " ".join(f"{pool}/{','.join(devices)}" for pool, devices in pools.items()) or "(no requests)"


def counted(number: int, thing: str) -> str:
    """Return a number of things in words: `1 pod`, `2 pods`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _devices(assignment: Assignment) -> Iterator[str]:
    for claim in assignment.claims:
        yield f"{claim.name}={_allocation_text(claim.allocation)}"
    extended = assignment.extended
    if extended is not None:
        names = sorted({mapping.resource_name for mapping in extended.container_mappings})
        yield f"{','.join(names)}={_allocation_text(extended.allocation)}"
