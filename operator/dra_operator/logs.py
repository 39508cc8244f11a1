"""One stream of structured log lines: our own, and those of Kopf and aiohttp."""

import logging
import sys
from collections.abc import Sequence

import structlog
from structlog.typing import FilteringBoundLogger, Processor

from dra_operator.settings import LogFormat, Settings

Log = FilteringBoundLogger

QUIET = {
    # One line with the uid of every object, several hundred kilobytes, when it stops.
    "kopf._core.reactor.queueing": logging.ERROR,
    # A line for each request while the API server is away; /readyz and one line of ours say it.
    "kopf._cogs.clients.api": logging.CRITICAL,
    # Every call of an event handler.
    "kopf.objects": logging.WARNING,
    "aiohttp.access": logging.WARNING,
    "asyncio": logging.WARNING,
}


def configure(settings: Settings) -> None:
    """Send every log line to standard error in the chosen format."""
    shared: Sequence[Processor] = (
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_renderers(settings)],
        )
    )
    root = logging.getLogger()
    # `kopf run` has added a handler of its own.
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    for name, level in QUIET.items():
        logging.getLogger(name).setLevel(max(level, root.level))


def log(name: str) -> Log:
    """Return the logger of a part of the operator."""
    logger: Log = structlog.get_logger(f"dra_operator.{name}")
    return logger


def _renderers(settings: Settings) -> Sequence[Processor]:
    chosen = settings.log_format
    if chosen is LogFormat.AUTO:
        chosen = LogFormat.CONSOLE if sys.stderr.isatty() else LogFormat.JSON
    if chosen is LogFormat.CONSOLE:
        return (
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        )
    return (structlog.processors.format_exc_info, structlog.processors.JSONRenderer(sort_keys=True))
