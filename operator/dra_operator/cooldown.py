"""Devices that became free a short time ago."""

from collections.abc import Callable

from dra_scheduling.model.ids import DeviceID


class RecentlyFree:
    """Remembers each for some seconds. `clock` shows seconds that never go back."""

    __slots__ = ("_clock", "_seconds", "_until")

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._until: dict[DeviceID, float] = {}

    def let_go(self, device: DeviceID) -> None:
        """Take note that nobody has the device any more."""
        self._forget()
        self._until.pop(device, None)
        self._until[device] = self._clock() + self._seconds

    def __len__(self) -> int:
        self._forget()
        return len(self._until)

    def __contains__(self, device: object) -> bool:
        return device in self._until

    def _forget(self) -> None:
        """Forget those whose time is over: they stand in the order in which they became free."""
        now = self._clock()
        while self._until and self._until[first := next(iter(self._until))] <= now:
            del self._until[first]
