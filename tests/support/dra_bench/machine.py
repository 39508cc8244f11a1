"""Where and with what a benchmark ran: figures without that mean nothing."""

import datetime as dt
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import msgspec

from dra_controlplane.build import chosen_module

ROOT = Path(__file__).parents[3]
LIBRARIES = ("kopf", "aiohttp", "msgspec", "orjson")


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """One machine at one time. `load` is the load average before the benchmark: above 0.5 something else runs."""

    date: str
    commit: str
    processor: str
    cores: int
    memory_gib: float
    load: float
    python: str
    kubernetes: str
    libraries: dict[str, str]

    def __str__(self) -> str:
        """Everything in one line."""
        libraries = ", ".join(f"{name} {number}" for name, number in self.libraries.items())
        return (
            f"{self.date}, commit {self.commit}; {self.cores} cores of {self.processor}, {self.memory_gib:.0f} GiB, "
            f"load {self.load:.1f} before; Kubernetes {self.kubernetes}; Python {self.python}, {libraries}"
        )


def this_machine() -> Machine:
    """Return the machine that this process runs on."""
    return Machine(
        date=dt.datetime.now(dt.UTC).date().isoformat(),
        commit=_commit(),
        processor=_processor(),
        cores=os.cpu_count() or 1,
        memory_gib=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30,
        load=os.getloadavg()[0],
        python=platform.python_version(),
        kubernetes=chosen_module().version,
        libraries={name: version(name) for name in LIBRARIES},
    )


def _commit() -> str:
    asked = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() or "unknown"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
