"""What Kopf calls. Importing this module registers everything; the operator itself is a `Runtime` in the memo."""

import asyncio
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import kopf

from dra_operator.access import NoAccessError
from dra_operator.kinds import BIND_REQUESTS, CLAIMS, CLASSES, NAMESPACES, NODES, PODS, SLICES, TEMPLATES
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


@kopf.on.event(PODS.group, PODS.version, PODS.plural)
async def pod(event: Mapping[str, Any], memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401
    """Keep the cache true."""
    memo["runtime"].observe(PODS.kind, event)


@kopf.on.event(NODES.group, NODES.version, NODES.plural)
async def node(event: Mapping[str, Any], memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401
    """Keep the cache true."""
    memo["runtime"].observe(NODES.kind, event)


@kopf.on.event(NAMESPACES.group, NAMESPACES.version, NAMESPACES.plural)
async def namespace(event: Mapping[str, Any], memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401
    """Keep the cache true."""
    memo["runtime"].observe(NAMESPACES.kind, event)


@kopf.on.event(CLAIMS.group, CLAIMS.version, CLAIMS.plural)
async def claim(event: Mapping[str, Any], memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401
    """Keep the cache true."""
    memo["runtime"].observe(CLAIMS.kind, event)


@kopf.on.event(TEMPLATES.group, TEMPLATES.version, TEMPLATES.plural)
async def template(event: Mapping[str, Any], memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401
    """Keep the cache true."""
    memo["runtime"].observe(TEMPLATES.kind, event)


@kopf.on.event(SLICES.group, SLICES.version, SLICES.plural)
async def resource_slice(event: Mapping[str, Any], memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401
    """Keep the cache true."""
    memo["runtime"].observe(SLICES.kind, event)


@kopf.on.event(CLASSES.group, CLASSES.version, CLASSES.plural)
async def device_class(event: Mapping[str, Any], memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401
    """Keep the cache true."""
    memo["runtime"].observe(CLASSES.kind, event)


@kopf.on.event(BIND_REQUESTS.group, BIND_REQUESTS.version, BIND_REQUESTS.plural)
async def bind_request(event: Mapping[str, Any], memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401
    """Keep the cache true."""
    memo["runtime"].observe(BIND_REQUESTS.kind, event)


async def _end(code: int) -> NoReturn:
    # Kopf's other tasks have to begin before they can be cancelled without a warning.
    await asyncio.sleep(0)
    raise SystemExit(code)
