"""What Kopf calls: handlers of three lines, which pass everything on to the operator in the memo."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn, Protocol

import kopf

from dra_kube.resources import Kind, Resource
from dra_operator.api.credentials import Access, NoAccessError
from dra_operator.logs import configure, log
from dra_operator.probes import AddressInUseError
from dra_operator.settings import Settings, SettingsError
from dra_operator.watch.tuning import tune

FAILED, USAGE_ERROR = 1, 2

_log = log("handlers")


class Operator(Protocol):
    """What the handlers need of the operator (`dra_operator.runtime.Runtime`)."""

    settings: Settings
    access: Access
    failure: str

    @property
    def watched(self) -> tuple[Resource, ...]:
        """What Kopf is to watch; known after `start`."""
        ...

    async def start(self) -> None:
        """Return when Kopf may begin to watch."""
        ...

    async def stop(self) -> None:
        """Take everything down."""
        ...

    def observe(self, kind: Kind, event: Mapping[str, Any]) -> None:
        """Take in a watch event."""
        ...


def register(build: Callable[[Settings], Operator]) -> None:
    """Have Kopf call an operator, which it finds in its memo under `runtime`; `build` makes one where there is none."""
    kopf.on.startup()(partial(start, build))
    kopf.on.cleanup()(stop)
    kopf.on.login()(log_in)


async def start(
    build: Callable[[Settings], Operator],
    memo: kopf.Memo,
    settings: kopf.OperatorSettings,
    **_: Any,  # noqa: ANN401  whatever Kopf passes
) -> None:
    """Build the operator before Kopf lists anything. Under `dra-operator` the memo has one already.

    Where that is not possible the process ends with one line: Kopf's own way to fail is a page of tracebacks.
    """
    try:
        operator: Operator = memo.setdefault("runtime", None) or build(Settings.from_environment())
        memo["runtime"] = operator
        configure(operator.settings)
        tune(settings)
        await operator.start()
        # Which kinds these are depends on the roles, and on what the cluster serves.
        for resource in operator.watched:
            _watch(resource)
    except SettingsError as error:
        print(error, file=sys.stderr)  # noqa: T201  before there is a log
        await _end(USAGE_ERROR)
    except (NoAccessError, AddressInUseError) as error:
        _log.error("cannot start", reason=str(error))
        await _end(FAILED)


async def stop(memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401  whatever Kopf passes
    """Take the operator down."""
    operator: Operator = memo["runtime"]
    await operator.stop()
    if operator.failure:
        raise kopf.PermanentError(operator.failure)


async def log_in(memo: kopf.Memo, **_: Any) -> kopf.AiohttpSession | None:  # noqa: ANN401  whatever Kopf passes
    """Give Kopf a session that the operator looks over."""
    operator: Operator = memo["runtime"]
    return await operator.access.log_in()


def _watch(resource: Resource) -> None:
    """Have Kopf watch a kind."""

    @kopf.on.event(resource.group, resource.version, resource.plural, id=resource.plural)
    async def seen(event: Mapping[str, Any], memo: kopf.Memo, **_: Any) -> None:  # noqa: ANN401
        memo["runtime"].observe(resource.kind, event)


async def _end(code: int) -> NoReturn:
    # Kopf's other tasks have to begin before they can be cancelled without a warning.
    await asyncio.sleep(0)
    raise SystemExit(code)
