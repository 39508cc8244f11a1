"""How a made-up node behaves: pauses and faults, from annotations over the settings of the process."""

from collections.abc import Callable, Hashable, Mapping

import msgspec

from dra_operator.pacing import Clock
from dra_operator.settings import Settings
from dra_scheduling.basics.times import duration_of

PREFIX = "kwok.dra-scheduler.dev/"
RUNS_FOR = f"{PREFIX}runs-for"
EVERY_DRIVER = "*"


class Behaviour(msgspec.Struct, frozen=True, kw_only=True):
    """What a node does and leaves out. Pauses are in seconds.

    `never` holds what does not happen: `launch`, `register`, `ready`, `heartbeat`. The other fields are about drivers,
    by their names or `*` for all: how many devices are missing, and texts whose change makes a driver start again.
    """

    launch_delay: float = 0.0
    registration_delay: float = 0.0
    ready_delay: float = 0.0
    slice_delay: float = 0.0
    never: tuple[str, ...] = ()
    unpublished: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    contradicting_counts: tuple[str, ...] = ()
    duplicate_names: tuple[str, ...] = ()
    fewer_devices: dict[str, str] = {}
    restarts: dict[str, str] = {}
    withdrawals: dict[str, str] = {}

    def pool(self, driver: str) -> "PoolFaults":
        """Return what of it is about one driver's pool."""
        return PoolFaults(
            is_unpublished=_has(self.unpublished, driver),
            is_incomplete=_has(self.incomplete, driver),
            is_empty=_has(self.empty, driver),
            has_contradicting_counts=_has(self.contradicting_counts, driver),
            has_duplicate_names=_has(self.duplicate_names, driver),
            missing_devices=int(_of(self.fewer_devices, driver) or "0"),
            restarts=_of(self.restarts, driver),
            withdrawals=_of(self.withdrawals, driver),
        )


class PoolFaults(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with one pool."""

    is_unpublished: bool = False
    is_incomplete: bool = False
    is_empty: bool = False
    has_contradicting_counts: bool = False
    has_duplicate_names: bool = False
    missing_devices: int = 0
    restarts: str = ""
    withdrawals: str = ""


NEVER = ("launch", "register", "ready", "heartbeat")


def usual(settings: Settings) -> Behaviour:
    """Return how nodes behave that no annotation speaks of."""
    return Behaviour(
        launch_delay=settings.kwok_launch_seconds,
        registration_delay=settings.kwok_registration_seconds,
        slice_delay=settings.kwok_slice_seconds,
    )


def behaviour_of(annotations: Mapping[str, str], otherwise: Behaviour) -> tuple[Behaviour, tuple[str, ...]]:
    """Return what a NodeClaim's annotations ask for, and a line for each that cannot be used."""
    changes: dict[str, object] = {}
    problems = []
    for key, text in sorted(annotations.items()):
        name = key.removeprefix(PREFIX)
        if key in {name, RUNS_FOR}:
            continue
        read = READERS.get(name)
        if read is None:
            problems.append(f"{key}: unknown, expected one of {', '.join(READERS)}")
            continue
        try:
            changes[name.replace("-", "_")] = read(text)
        except ValueError as error:
            problems.append(f"{key}={text}: {error}")
    return msgspec.structs.replace(otherwise, **changes), tuple(problems)


def seconds_in(text: str) -> float:
    """Return the seconds of a duration such as `500ms` or `1m30s`. Raises `ValueError`."""
    seconds = duration_of(text.strip())
    if seconds is None or seconds < 0:
        raise ValueError("expected a duration such as 500ms or 1m30s")
    return seconds


def _names(text: str) -> tuple[str, ...]:
    return tuple(sorted({part.strip() for part in text.split(",") if part.strip()}))


def _omissions(text: str) -> tuple[str, ...]:
    found = _names(text)
    if not set(found) <= set(NEVER):
        raise ValueError(f"expected a comma list of {', '.join(NEVER)}")
    return found


def _by_driver(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in _names(text)]
    return {driver.strip(): value.strip() or "1" for driver, _, value in pairs}


def _counts(text: str) -> dict[str, str]:
    found = _by_driver(text)
    if not all(value.isascii() and value.isdigit() for value in found.values()):
        raise ValueError("expected a comma list such as gpu.nvidia.com=2")
    return found


READERS: Mapping[str, Callable[[str], object]] = {
    "launch-delay": seconds_in,
    "registration-delay": seconds_in,
    "ready-delay": seconds_in,
    "slice-delay": seconds_in,
    "never": _omissions,
    "unpublished": _names,
    "incomplete": _names,
    "empty": _names,
    "contradicting-counts": _names,
    "duplicate-names": _names,
    "fewer-devices": _counts,
    "restarts": _by_driver,
    "withdrawals": _by_driver,
}


def _has(drivers: tuple[str, ...], driver: str) -> bool:
    return driver in drivers or EVERY_DRIVER in drivers


def _of(values: Mapping[str, str], driver: str) -> str:
    return values.get(driver) or values.get(EVERY_DRIVER) or ""


class Pauses:
    """The pauses that have begun."""

    __slots__ = ("_begun", "_clock")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun: dict[Hashable, float] = {}

    def left(self, key: Hashable, seconds: float) -> float:
        """Return how much of a pause is left; it begins when it is first asked for."""
        if seconds <= 0:
            return 0.0
        return max(0.0, self._begun.setdefault(key, self._clock()) + seconds - self._clock())

    def end(self, key: Hashable) -> None:
        """Let the next pause of that key begin anew."""
        self._begun.pop(key, None)

    def clear(self) -> None:
        """End all of them."""
        self._begun.clear()
