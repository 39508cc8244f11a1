"""What DaemonSets take of the machines of a table, which depends on where a host can still be.

A DaemonSet of one zone takes nothing of hosts that are confined to another. As long as both are possible it counts.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

from dra_scheduling.basics.requirements import Requirements
from dra_scheduling.inventory.daemonset_overhead import DaemonSetOverhead
from dra_scheduling.inventory.machine import Machine
from dra_scheduling.inventory.machine_room import MachineRoom
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.state.host_ports import HostPort

MAX_KEPT_ANSWERS = 1024

Daemons = dict[ObjectKey, tuple[DaemonSetOverhead, int]]
"""DaemonSets with machines, as bits."""
Idle = tuple[tuple[ObjectKey, int], ...]
"""DaemonSets with the machines on which they do not run, although they would elsewhere."""


class DaemonSetLoad:
    """What is left of the machines, and which host ports are taken, under the requirements of a host."""

    __slots__ = ("_idle", "_machines", "_ports", "_rooms", "_unsettled", "least_room")

    def __init__(self, machines: Sequence[Machine]) -> None:
        self._machines = machines
        self._unsettled = _by_key(one.unsettled for one in machines)
        self._ports = _by_key([each for each in one.daemons if each.ports] for one in machines)
        self.least_room = MachineRoom([one.allocatable for one in machines])
        self._rooms: dict[Idle, MachineRoom] = {(): self.least_room}
        self._idle: dict[Hashable, Idle] = {}

    @property
    def most_room(self) -> MachineRoom:
        """What is left where none of the DaemonSets runs that do not run everywhere."""
        return self._room_without(tuple((key, machines) for key, (_, machines) in self._unsettled.items()))

    def room(self, requirements: Requirements) -> MachineRoom:
        """Return what is left of the machines."""
        return self._room_without(self._idle_under(requirements))

    def holding_port(
        self, wanted: Collection[HostPort], requirements: Requirements
    ) -> Mapping[tuple[HostPort, ObjectKey], int]:
        """Return the wanted ports that DaemonSets will have, and whose they are, each with the machines."""
        idle = dict(self._idle_under(requirements)) if self._ports else {}
        return {
            (port, key): machines & ~idle.get(key, 0)
            for key, (daemon, machines) in self._ports.items()
            for port in wanted
            if any(port.clashes(other) for other in daemon.ports)
        }

    def _idle_under(self, requirements: Requirements) -> Idle:
        if not self._unsettled:
            return ()
        asked = frozenset(requirements.by_key.values()), requirements.open_keys
        found = self._idle.get(asked)
        if found is None:
            found = tuple(self._find_idle(requirements))
            if len(self._idle) >= MAX_KEPT_ANSWERS:
                self._idle.clear()
            self._idle[asked] = found
        return found

    def _find_idle(self, requirements: Requirements) -> Iterable[tuple[ObjectKey, int]]:
        for key, (daemon, machines) in self._unsettled.items():
            idle = 0
            for number, machine in enumerate(self._machines):
                if machines >> number & 1 and not machine.runs(daemon, requirements):
                    idle |= 1 << number
            if idle:
                yield key, idle

    def _room_without(self, idle: Idle) -> MachineRoom:
        found = self._rooms.get(idle)
        if found is None:
            freed = [(machines, self._unsettled[key][0].requests) for key, machines in idle]
            if len(self._rooms) >= MAX_KEPT_ANSWERS:
                self._rooms = {(): self.least_room}
            found = self._rooms[idle] = self.least_room.more_by(freed)
        return found


def _by_key(daemons: Iterable[Iterable[DaemonSetOverhead]]) -> Daemons:
    found: Daemons = {}
    for number, running in enumerate(daemons):
        for daemon in running:
            _, known = found.get(daemon.key, (daemon, 0))
            found[daemon.key] = (daemon, known | 1 << number)
    return found
