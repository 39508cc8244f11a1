"""What a search does, told in the words of the API: whoever wants to show or count its steps is a reporter."""

from collections.abc import Sequence
from typing import Protocol

from dra_scheduling.allocation.flat_requests import FlatRequest
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.model.ids import DeviceID


class Reporter(Protocol):
    """Is told each step of a search by names; claims are called as in messages."""

    def took(self, claim: str, request: str, device: DeviceID) -> None:
        """A device was taken for a request."""

    def gave_back(self, claim: str, request: str, device: DeviceID) -> None:
        """It led nowhere."""

    def ruled_out(self, requests: Sequence[tuple[str, str]], refusal: Refusal) -> None:
        """These requests, each by claim and name or alternative, cannot be served together; the refusal proves it."""


class NamedSteps:
    """Translates the numbers of one search for a reporter."""

    __slots__ = ("_asks", "_board", "_reporter")

    def __init__(self, asks: Sequence[FlatRequest], board: SearchSpace, reporter: Reporter) -> None:
        self._asks = asks
        self._board = board
        self._reporter = reporter

    def took(self, demand: int, device: int) -> None:
        """Report a device that was taken."""
        self._reporter.took(*self._names(demand, device))

    def gave_back(self, demand: int, device: int) -> None:
        """Report a device that was given back."""
        self._reporter.gave_back(*self._names(demand, device))

    def _names(self, demand: int, device: int) -> tuple[str, str, DeviceID]:
        ask = self._asks[demand]
        pool, bit = next(self._board.parts(device))
        return ask.claim.name, ask.alternative.name, DeviceID(*pool.key, pool.device(bit.bit_length() - 1).name)
