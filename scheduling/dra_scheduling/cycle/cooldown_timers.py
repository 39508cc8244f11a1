"""Devices that became free a short time ago, by the time that the loop is told."""

from collections.abc import Iterable

from dra_scheduling.model.ids import DeviceID


class CooldownTimers:
    """Remembers each device for some seconds after it became free (`devices.ledger.Cooldown`)."""

    __slots__ = ("_now", "_seconds", "_until")

    def __init__(self, seconds: float) -> None:
        self._now = 0.0
        self._seconds = seconds
        self._until: dict[DeviceID, float] = {}

    @property
    def state(self) -> tuple[tuple[DeviceID, float], ...]:
        """The devices with the times at which their cool-downs end."""
        return tuple(self._until.items())

    def restart(self, state: Iterable[tuple[DeviceID, float]]) -> None:
        """Go on from an earlier `state`."""
        self._until = dict(state)

    def advance(self, now: float) -> None:
        """Let time pass: drop the devices whose cool-down is over. They are kept in the order in which it ends."""
        self._now = max(now, self._now)
        while self._until and self._until[first := next(iter(self._until))] <= self._now:
            del self._until[first]

    def start(self, device: DeviceID) -> None:
        """Take note that nobody has the device any more."""
        self._until.pop(device, None)
        if self._seconds > 0:
            self._until[device] = self._now + self._seconds

    def __len__(self) -> int:
        return len(self._until)

    def __contains__(self, device: object) -> bool:
        return device in self._until
