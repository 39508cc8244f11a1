"""Kopf around the runtime: handlers, registered by importing this, and a program of our own."""

import asyncio

import kopf

from dra_operator.logs import configure, log
from dra_operator.runtime import Runtime
from dra_operator.settings import Settings
from dra_operator.watch.handlers import register

_log = log("program")

register(Runtime)


def run(settings: Settings) -> int:
    """Run the operator until it is told to stop; return the exit code of the process."""
    configure(settings)
    try:
        return asyncio.run(_operate(settings))
    except Exception as error:  # noqa: BLE001  the last line of a process that ends by it
        _log.error("ended by an error", error=repr(error))
        return 1


async def _operate(settings: Settings) -> int:
    stop = asyncio.Event()
    runtime = Runtime(settings, stop_process=stop.set)
    memo = kopf.Memo(runtime=runtime)
    await kopf.operator(clusterwide=True, standalone=True, memo=memo, stop_flag=stop)
    return 1 if runtime.failure else 0
