"""Whether the cluster goes on to serve what it served when this process started: kinds come with upgrades, and go.

Kopf looks for kinds only once, and of a kind that has gone what was last seen stays: a new start puts both right.
"""

import asyncio
from collections.abc import Callable, Iterable

from dra_kube.api import Api
from dra_kube.errors import ApiError
from dra_kube.resources import Resource
from dra_operator.api.discovery import optional, unserved
from dra_operator.kinds import EVERY_KIND, WatchedKinds
from dra_operator.logs import log

PERIOD_SECONDS = 60.0
MISSING_SECONDS = 10.0
"""As long as a kind is missing that has to be there, nothing is bound: its return is to be seen sooner."""
# Kinds come one after the other, and while API servers are replaced they do not all say the same.
CONFIRMATIONS = 4
CONFIRM_SECONDS = 2.5

_log = log("upgrades")


class Upgrades:
    """Looks now and then. `changed` is called once, with the reason, when other optional kinds are there to stay.

    `watched` are the optional kinds that this process started with, `kinds` those that concern it.
    """

    def __init__(
        self,
        api: Api,
        watched: tuple[Resource, ...],
        changed: Callable[[str], None],
        kinds: WatchedKinds = EVERY_KIND,
    ) -> None:
        self._api = api
        self._kinds = kinds
        self._watched = watched
        self._changed = changed
        self._served = watched
        self._times = 0
        self.problems: tuple[str, ...] = ()
        """A line for each kind that the cluster has to serve, and does not serve at present."""

    @property
    def pause(self) -> float:
        """The seconds until the next look: short ones only while something is different."""
        if self._times:
            return CONFIRM_SECONDS
        return MISSING_SECONDS if self.problems else PERIOD_SECONDS

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.sleep(self.pause)
            try:
                await self.look()
            except ApiError as error:
                _log.debug("cannot ask what is served", error=str(error))

    async def look(self) -> None:
        """Ask once. Raises `ApiError`."""
        lines = await unserved(self._api, self._kinds)
        if lines != self.problems:
            _tell(lines)
        self.problems = lines
        served = await optional(self._api, self._kinds)
        is_same = served == self._served
        self._served = served
        self._times = 0 if served == self._watched else self._times + 1 if is_same else 1
        if self._times == CONFIRMATIONS:
            new, gone = _names(served, self._watched), _names(self._watched, served)
            self._changed(f"the cluster serves other kinds now (new: {new}; gone: {gone}); start the operator again")


def _tell(lines: tuple[str, ...]) -> None:
    if lines:
        _log.warning("kinds are not served any more", problems=lines)
    else:
        _log.info("every kind is served again")


def _names(some: Iterable[Resource], others: Iterable[Resource]) -> str:
    return ", ".join(f"{one.plural} in {one.api_version}" for one in some if one not in set(others)) or "none"
