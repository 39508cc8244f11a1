"""What Kopf calls. Importing this module registers everything; the operator itself is a `Runtime` in the memo."""

import asyncio
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import kopf

from dra_kube.resources import Resource
from dra_operator.access import NoAccessError
from dra_operator.kinds import WATCHED
from dra_operator.logs import configure, log
from dra_operator.probes import AddressInUseError
from dra_operator.runtime import Runtime
from dra_operator.settings import Settings, SettingsError
from dra_operator.tuning import tune

FAILED, USAGE_ERROR = 1, 2

_log = log("handlers")


@kopf.on.startup()
async def start(memo: kopf.Memo, settings: kopf.OperatorSettings, **_: Any) -> None:  # noqa: ANN401
    """Build the operator before Kopf lists anything. Under `dra-operator` the memo has a runtime already.

    Where that is not possible the process ends with one line: Kopf's own way to fail is a page of tracebacks.
    """
    try:
        runtime: Runtime = memo.setdefault("runtime", None) or Runtime(Settings.from_environment())
        memo["runtime"] = runtime
        configure(runtime.settings)
        tune(settings)
        await runtime.start()
        for resource in runtime.added:
            _watch(resource)
    except SettingsError as error:
        print(error, file=sys.stderr)  # noqa: T201  before there is a log
        await _end(USAGE_ERROR)
    except (NoAccessError, AddressInUseError) as error:
        _log.error("cannot start", reason=str(error))
        await _end(FAILED)


@kopf.on.cleanup()
async def stop(memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401
    """Take the operator down."""
    runtime: Runtime = memo["runtime"]
    await runtime.stop()
    if runtime.failure:
        raise kopf.PermanentError(runtime.failure)


@kopf.on.login()
async def log_in(memo: kopf.Memo, **_: Any) -> kopf.AiohttpSession | None:  # noqa: ANN401
    """Give Kopf a session that the runtime looks over."""
    runtime: Runtime = memo["runtime"]
    return await runtime.access.log_in()


def _watch(resource: Resource) -> None:
    """Have Kopf watch a kind."""

    @kopf.on.event(resource.group, resource.version, resource.plural, id=resource.plural)
    async def seen(event: Mapping[str, Any], memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401
        memo["runtime"].observe(resource.kind, event)


for _resource in WATCHED:
    _watch(_resource)


async def _end(code: int) -> NoReturn:
    # Kopf's other tasks have to begin before they can be cancelled without a warning.
    await asyncio.sleep(0)
    raise SystemExit(code)
