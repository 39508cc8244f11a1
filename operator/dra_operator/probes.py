"""/healthz, /readyz and /metrics."""

from collections.abc import Callable, Sequence

from aiohttp import web
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from dra_operator.logs import log
from dra_operator.metrics import REGISTRY

_log = log("probes")


class AddressInUseError(Exception):
    """The address of DRA_HTTP_ADDRESS cannot be had."""


class HttpServer:
    """Serves the three paths. `problems` returns why the process is not ready, nothing if it is."""

    def __init__(self, address: str, problems: Callable[[], Sequence[str]]) -> None:
        self._host, _, port = address.rpartition(":")
        self._port = int(port)
        self._problems = problems
        self._runner: web.AppRunner | None = None

    @property
    def address(self) -> str:
        """Where it listens, once it does."""
        host, port = self._runner.addresses[0][:2] if self._runner else (self._host, self._port)
        return f"{host}:{port}"

    async def start(self) -> None:
        """Listen. Raises `AddressInUseError` where that is not possible."""
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host or None, self._port)
        try:
            await site.start()
        except OSError as error:
            await self.stop()
            raise AddressInUseError(f"DRA_HTTP_ADDRESS={self._host}:{self._port}: {error.strerror}") from error
        _log.info("serving /healthz, /readyz and /metrics", address=self.address)

    async def stop(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        problems = self._problems()
        if problems:
            return web.Response(status=500, text="".join(f"{problem}\n" for problem in problems))
        return web.Response(text="ok\n")

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=generate_latest(REGISTRY), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})
