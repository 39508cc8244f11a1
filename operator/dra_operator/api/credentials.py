"""How this process reaches the API server, and as whom: credentials are read again while it runs."""

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping

import aiohttp
import kopf
import yaml

from dra_kube.retry import Backoff
from dra_operator.logs import log
from dra_operator.pacing import Clock

REFRESH_SECONDS = 30.0
REFUSED_SECONDS = 120.0
"""For so long a server that refuses our credentials is asked again; then the process ends, to be started anew."""
REFUSALS = Backoff(0.1, 10.0)

_log = log("credentials")

Reader = Callable[[], kopf.ConnectionInfo]
Opener = Callable[[Mapping[str, str], ssl.SSLContext, Callable[[], None]], aiohttp.ClientSession]
"""Opens a session for Kopf with these headers; the last argument is to be called when the server has taken them."""


class NoAccessError(Exception):
    """There is no way to reach an API server; the text says what was looked for."""


def read_credentials() -> kopf.ConnectionInfo:
    """Return the pod's service account, else what the kubeconfig says, with its exec plug-ins.

    Raises `NoAccessError`.
    """
    settings = kopf.OperatorSettings()
    found = kopf.login_with_service_account(settings=settings)
    if found is not None:
        return found
    try:
        found = kopf.login_with_kubeconfig(settings=settings)
        if found is not None and not _has_secret(found):
            found = kopf.login_via_client(settings=settings, logger=logging.getLogger(__name__))
    except (OSError, LookupError, TypeError, ValueError, AttributeError, yaml.YAMLError, kopf.LoginError) as error:
        # Kopf takes its shape for granted.
        raise NoAccessError(f"the kubeconfig cannot be used: {error}") from error
    if found is None:
        raise NoAccessError("no service account and no kubeconfig: set KUBECONFIG or run in a pod")
    return found


class Access:
    """The present credentials, and a session with them. A changed token is taken over without closing anything."""

    def __init__(self, open_session: Opener, *, clock: Clock, read: Reader = read_credentials) -> None:
        self._open_session = open_session
        self._clock = clock
        self._read = read
        self._current: kopf.ConnectionInfo | None = None
        self._sessions: list[aiohttp.ClientSession] = []
        self._refused_since: float | None = None
        self._refusals = 0
        self._logins = 0

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return self._info().server.rstrip("/")

    def headers(self) -> Mapping[str, str]:
        """Return the headers that authenticate a request."""
        return self._info().as_http_headers()

    def tls(self) -> ssl.SSLContext:
        """Return a context that trusts the server, with our certificate if that is how we log in."""
        return self._info().as_ssl_context()

    def load(self) -> None:
        """Read the credentials. Raises `NoAccessError`."""
        self._current = self._read()

    async def log_in(self) -> kopf.AiohttpSession | None:
        """Return a session for Kopf, at first and whenever the server refused the last one; None to give up."""
        if self._logins and not await self.refused():
            return None
        self._logins += 1
        session = self._open_session(self.headers(), self.tls(), self.accepted)
        self._sessions[:] = [one for one in self._sessions if not one.closed]
        self._sessions.append(session)
        return kopf.AiohttpSession(server=self.server, aiohttp_session=session)

    async def refused(self) -> bool:
        """Pause after a refusal, longer each time, and read the credentials again; False if it is no use any more."""
        now = self._clock()
        if self._refused_since is None:
            self._refused_since = now
        elif now - self._refused_since > REFUSED_SECONDS:
            _log.error("the API server refuses our credentials", seconds=round(now - self._refused_since))
            return False
        _log.warning("the API server refused our credentials; reading them again", turn=self._refusals + 1)
        await asyncio.sleep(REFUSALS.pause(self._refusals + 1))
        self._refusals += 1
        await self.refresh()
        return True

    def adopt(self, session: aiohttp.ClientSession) -> None:
        """Keep the token of one more session fresh."""
        self._sessions.append(session)

    def accepted(self) -> None:
        """Record that the server has taken our credentials."""
        self._refused_since = None
        self._refusals = 0

    async def run(self) -> None:
        """Keep tokens fresh, until cancelled: those of service accounts change every hour or so."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            await self.refresh()

    async def refresh(self) -> None:
        """Read the credentials again, and use them in every session from now on."""
        try:
            self._current = await asyncio.to_thread(self._read)
        except NoAccessError as error:
            _log.warning("could not read the credentials again", error=str(error))
            return
        for session in self._sessions:
            session.headers.update(self.headers())

    def _info(self) -> kopf.ConnectionInfo:
        if self._current is None:
            raise NoAccessError("the credentials were not read yet")
        return self._current


def _has_secret(info: kopf.ConnectionInfo) -> bool:
    return bool(info.token or info.username or info.certificate_path or info.certificate_data)
