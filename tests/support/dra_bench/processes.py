"""What a process has cost so far, from /proc."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

TICKS = os.sysconf("SC_CLK_TCK")
USER_TICKS, SYSTEM_TICKS = 13, 14


class Cost(msgspec.Struct, frozen=True):
    """CPU seconds since a process began, and the most memory it ever had, in MiB."""

    cpu: float
    peak_mib: float


def cost(pid: int) -> Cost:
    """Return the cost of a running process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    # The line's first two fields end with the parenthesis.
    cpu = (int(fields[USER_TICKS - 2]) + int(fields[SYSTEM_TICKS - 2])) / TICKS
    status = Path(f"/proc/{pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return Cost(cpu, int(peak.split()[1]) / 1024)


def costs(pids: Mapping[str, int]) -> dict[str, Cost]:
    """Return the costs of several processes by name."""
    return {name: cost(pid) for name, pid in pids.items()}


def spent(before: Mapping[str, Cost], after: Mapping[str, Cost]) -> dict[str, Cost]:
    """Return what was spent in between; the peak is that of the whole life."""
    return {name: Cost(after[name].cpu - before[name].cpu, after[name].peak_mib) for name in after}
