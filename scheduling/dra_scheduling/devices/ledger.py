"""The one record of what is taken: devices and shares of devices, who holds them, and who says so.

Several sources may say that one holder has a device (a BindRequest first, then the claim itself). A device is free
again when the last source lets go of it. What a taken device draws from shared counters is remembered here as well,
because its slice may change while somebody still has it (kubernetes issue 140802).
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

import msgspec

from dra_scheduling.basics.journal import Journal
from dra_scheduling.model.ids import DeviceID, PoolKey

Holder = str
"""The identity of a claim, the same whichever source speaks of it."""

CounterKey = tuple[str, str]
"""A counter of a pool: the name of its set and its own."""

Charge = tuple[tuple[CounterKey, int], ...]
"""What one device draws from the counters of its pool, in nano units; nothing for most devices."""


class Source(NamedTuple):
    """Who says that devices are held: the kind of object or plan, and its UID."""

    kind: str
    uid: str


class Share(NamedTuple):
    """A part of a device that several claims may use: amounts of its capacity by full name, in nano units."""

    device: DeviceID
    share_id: str
    consumed: tuple[tuple[str, int], ...] = ()


class Held(msgspec.Struct, frozen=True):
    """What one source says: a holder, the devices it has for itself, and its shares of others."""

    holder: Holder
    devices: tuple[DeviceID, ...] = ()
    shares: tuple[Share, ...] = ()

    @property
    def everything(self) -> tuple[DeviceID, ...]:
        """All devices, shared ones too."""
        return (*self.devices, *(share.device for share in self.shares))


class TakenDevices:
    """What is taken of one pool, by device name. `stamp` is another object after every change.

    `dedicated` devices belong to one claim as a whole; of `shared` ones each source has shares. `charges` are known for
    devices that were published when they were first seen taken; `uncharged` are the others.
    """

    __slots__ = ("charges", "dedicated", "shared", "stamp", "uncharged")

    def __init__(self) -> None:
        self.dedicated: dict[str, dict[Source, Holder]] = {}
        self.shared: dict[str, dict[Source, tuple[Holder, tuple[Share, ...]]]] = {}
        self.charges: dict[str, Charge] = {}
        self.uncharged: set[str] = set()
        self.stamp = object()

    def has(self, name: str) -> bool:
        """Whether somebody has the device or a share of it."""
        return name in self.dedicated or name in self.shared

    def consumed(self, name: str) -> dict[str, int]:
        """Return how much of each capacity is taken.

        A share that two sources speak of counts once, with the larger of their amounts: whichever came first.
        """
        shares: dict[tuple[Holder, str], dict[str, int]] = {}
        for holder, said in self.shared.get(name, {}).values():
            for share in said:
                amounts = shares.setdefault((holder, share.share_id), {})
                for capacity, amount in share.consumed:
                    # A negative amount in a status would give others more than there is (kubernetes issue 140563).
                    amounts[capacity] = max(amount, amounts.get(capacity, 0))
        total: dict[str, int] = {}
        for amounts in shares.values():
            for capacity, amount in amounts.items():
                total[capacity] = total.get(capacity, 0) + amount
        return total


class Cooldown(Protocol):
    """Devices in cool-down: somebody had them a moment ago, and may still be using them on the node."""

    def start(self, device: DeviceID) -> None:
        """Take note that nobody has the device any more."""

    def __len__(self) -> int:
        """How many there are."""

    def __contains__(self, device: object) -> bool:
        """Whether the device is one of them."""


class NoCooldown:
    """For whoever has no clock: a device that is free is as good as any other."""

    __slots__ = ()

    def start(self, device: DeviceID) -> None:
        """Do nothing."""

    def __len__(self) -> int:
        return 0

    def __contains__(self, device: object) -> bool:
        return False


class Ledger:
    """Devices and shares held by claims, unfinished BindRequests and plans.

    `taken_count` is the number of taken devices. The `cooldown` is told of devices that become free for good, so not of
    those that a statement frees. The `journal` gets the inverse of every change.
    """

    __slots__ = ("_held", "_journal", "_pools", "cooldown", "taken_count")

    def __init__(self, cooldown: Cooldown | None = None, journal: Journal | None = None) -> None:
        self.taken_count = 0
        self.cooldown: Cooldown = NoCooldown() if cooldown is None else cooldown
        self._held: dict[Source, Held] = {}
        self._pools: dict[PoolKey, TakenDevices] = {}
        self._journal = Journal() if journal is None else journal

    @property
    def held(self) -> Mapping[Source, Held]:
        """What every source says; a live view."""
        return MappingProxyType(self._held)

    def hold(self, source: Source, holder: Holder, devices: Iterable[DeviceID], shares: Iterable[Share] = ()) -> None:
        """Let `source` say that `holder` has these devices and shares and nothing else; it replaces what it said."""
        self._replace(source, Held(holder, tuple(devices), tuple(shares)))

    def release(self, source: Source) -> tuple[DeviceID, ...]:
        """Let `source` say nothing any more; return the devices that it held, or held shares of."""
        before = self._held.get(source)
        if before is None:
            return ()
        self._replace(source, None)
        return before.everything

    def learn(self, pool: PoolKey, charge_of: Callable[[str], Charge | None]) -> None:
        """Remember what taken devices draw from counters, for those where that is not known and can be told now."""
        taken = self._pools.get(pool)
        if taken is None or not taken.uncharged:
            return
        for name in tuple(taken.uncharged):
            charge = charge_of(name)
            if charge is not None:
                _charge(taken, name, charge)

    def is_taken(self, device: DeviceID) -> bool:
        """Whether any source says that somebody has the device or a share of it."""
        taken = self._pools.get(device.pool_key)
        return taken is not None and taken.has(device.device)

    def has_share(self, holder: Holder, share: Share) -> bool:
        """Whether any source says that the holder has this share."""
        taken = self._pools.get(share.device.pool_key)
        said = taken.shared.get(share.device.device, {}) if taken is not None else {}
        return any(who == holder and share in shares for who, shares in said.values())

    def holders(self, device: DeviceID) -> frozenset[Holder]:
        """Return who has the device as a whole; more than one means that it was given twice."""
        taken = self._pools.get(device.pool_key)
        return frozenset(taken.dedicated.get(device.device, {}).values()) if taken is not None else frozenset()

    def sharers(self, device: DeviceID) -> frozenset[Holder]:
        """Return who has shares of the device."""
        taken = self._pools.get(device.pool_key)
        said = taken.shared.get(device.device, {}) if taken is not None else {}
        return frozenset(holder for holder, _ in said.values())

    def taken_in(self, pool: PoolKey) -> frozenset[str]:
        """Return the names of the pool's taken devices, published or not."""
        taken = self._pools.get(pool)
        return frozenset((*taken.dedicated, *taken.shared)) if taken is not None else frozenset()

    def taken(self, pool: PoolKey) -> TakenDevices | None:
        """Return the record of a pool, or None where nothing is taken. Masks kept by its stamp stay true."""
        return self._pools.get(pool)

    def _replace(self, source: Source, said: Held | None) -> None:
        if self._journal.is_undoing:
            # Whatever follows from claims and plans that come back: what was taken has an inverse of its own.
            return
        if self._journal.is_open:
            self._journal.note(self._setter(source))
        self._set(source, said)

    def _setter(self, source: Source) -> Callable[[], None]:
        """Return what lets the source say what it says now, charges of devices that are not published any more too."""
        before = self._held.get(source)
        charges = self._charges_of(before)

        def put_back() -> None:
            self._set(source, before)
            for device, charge in charges:
                taken = self._pools[device.pool_key]
                if device.device in taken.uncharged:
                    _charge(taken, device.device, charge)

        return put_back

    def _charges_of(self, held: Held | None) -> tuple[tuple[DeviceID, Charge], ...]:
        devices = held.everything if held is not None else ()
        known = ((device, self._pools[device.pool_key].charges.get(device.device)) for device in devices)
        return tuple((device, charge) for device, charge in known if charge is not None)

    def _set(self, source: Source, said: Held | None) -> None:
        before = self._held.pop(source, None)
        # What stays taken is taken again before it is let go, so that what it draws from counters is not forgotten.
        if said is not None:
            self._held[source] = said
            self._take(source, said)
        if before is not None:
            self._free(source, before, said)

    def _take(self, source: Source, said: Held) -> None:
        for device in said.devices:
            self._touch(device).dedicated.setdefault(device.device, {})[source] = said.holder
        shares: dict[DeviceID, list[Share]] = {}
        for share in said.shares:
            shares.setdefault(share.device, []).append(share)
        for device, mine in shares.items():
            self._touch(device).shared.setdefault(device.device, {})[source] = (said.holder, tuple(mine))

    def _touch(self, device: DeviceID) -> TakenDevices:
        key = device.pool_key
        taken = self._pools.get(key)
        if taken is None:
            taken = self._pools[key] = TakenDevices()
        if not taken.has(device.device):
            self.taken_count += 1
            taken.uncharged.add(device.device)
        taken.stamp = object()
        return taken

    def _free(self, source: Source, before: Held, said: Held | None) -> None:
        devices = set(before.devices) - set(said.devices if said is not None else ())
        shared = {share.device for share in before.shares} - {share.device for share in (said.shares if said else ())}
        for device in devices:
            _let_go(self._pools[device.pool_key].dedicated, device.device, source)
        for device in shared:
            _let_go(self._pools[device.pool_key].shared, device.device, source)
        for device in devices | shared:
            self._clear(device)

    def _clear(self, device: DeviceID) -> None:
        """Drop what is kept of a device that nobody has any more."""
        key, name = device.pool_key, device.device
        taken = self._pools.get(key)
        if taken is None:
            return
        taken.stamp = object()
        if not taken.has(name):
            self.taken_count -= 1
            taken.charges.pop(name, None)
            taken.uncharged.discard(name)
            if not self._journal.is_open:
                self.cooldown.start(device)
        if not taken.charges and not taken.uncharged:
            del self._pools[key]


def _let_go(
    records: dict[str, dict[Source, Holder]] | dict[str, dict[Source, tuple[Holder, tuple[Share, ...]]]],
    name: str,
    source: Source,
) -> None:
    records[name].pop(source, None)
    if not records[name]:
        del records[name]


def _charge(taken: TakenDevices, name: str, charge: Charge) -> None:
    taken.uncharged.discard(name)
    taken.charges[name] = charge
    taken.stamp = object()
