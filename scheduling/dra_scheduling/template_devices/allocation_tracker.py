"""What is taken while a plan is made: what the cluster says, and what candidates have been promised since."""

from collections.abc import Callable, Iterable

from dra_scheduling.basics.journal import Journal
from dra_scheduling.basics.requirements import Requirements
from dra_scheduling.devices.generations import Pool
from dra_scheduling.devices.ledger import Holder, Ledger
from dra_scheduling.model.ids import DeviceID, PoolKey
from dra_scheduling.template_devices.device_host import DeviceHost
from dra_scheduling.template_devices.device_uses import DeviceUse
from dra_scheduling.template_devices.seen_devices import Seed, SeenDevices, Uses, seed_of


class AllocationTracker:
    """Holdings by candidate and instance type, on top of a ledger that must not change while this is in use.

    `revision` grows with every change. Views that were made for one revision are kept until the next. The `journal`
    gets the inverse of every change.
    """

    __slots__ = ("_freed", "_journal", "_ledger", "_of", "_published", "_seeds", "_seen", "_templates", "revision")

    def __init__(self, ledger: Ledger, freed: frozenset[Holder] = frozenset(), journal: Journal | None = None) -> None:
        self._ledger = ledger
        self._journal = Journal() if journal is None else journal
        self._freed = freed
        self._published: dict[PoolKey, dict[str, dict[str, Uses]]] = {}
        # The published pools that a candidate holds something of.
        self._of: dict[str, set[PoolKey]] = {}
        self._templates: dict[str, dict[str, dict[PoolKey, Uses]]] = {}
        self._seeds: dict[PoolKey, Seed] = {}
        self._seen: dict[tuple[PoolKey, str, Uses], SeenDevices | None] = {}
        self.revision = 0

    def hold(self, candidate: str, instance_type: str, uses: Iterable[DeviceUse]) -> None:
        """Let one type of a candidate hold more devices; admin access holds nothing."""
        self._changed()
        for use in uses:
            if use.is_admin:
                continue
            key = use.device.pool_key
            if use.is_template:
                known = self._templates.get(candidate, {}).get(instance_type, {}).get(key, ())
                self._set_templates(candidate, instance_type, key, (*known, use))
            else:
                known = self._published.get(key, {}).get(candidate, {}).get(instance_type, ())
                self._set_published(candidate, instance_type, key, (*known, use))

    def release(self, candidate: str, instance_type: str) -> None:
        """Let one type of a candidate hold nothing any more."""
        self._changed()
        for key in tuple(self._templates.get(candidate, {}).get(instance_type, ())):
            self._set_templates(candidate, instance_type, key, None)
        for key in tuple(self._of.get(candidate, ())):
            if instance_type in self._published[key][candidate]:
                self._set_published(candidate, instance_type, key, None)

    def confine(self, candidate: str, requirements: Requirements, is_near: Callable[[DeviceID], bool]) -> None:
        """Let a candidate hold nothing any more in other places, and no published device that is not near."""
        for name, held in self._templates.get(candidate, {}).items():
            for key, uses in tuple(held.items()):
                kept = tuple(use for use in uses if use.is_within(requirements))
                if kept != uses:
                    self._set_templates(candidate, name, key, kept)
        for key in tuple(self._of.get(candidate, ())):
            for name, uses in tuple(self._published[key][candidate].items()):
                kept = tuple(use for use in uses if is_near(use.device) and use.is_within(requirements))
                if kept != uses:
                    self._set_published(candidate, name, key, kept)

    def types_of(self, candidate: str) -> frozenset[str]:
        """Return the types through which a candidate holds anything."""
        published = (self._published[key][candidate] for key in self._of.get(candidate, ()))
        return frozenset(self._templates.get(candidate, {})).union(*published)

    def own_published(self, candidate: DeviceHost, instance_type: str, key: PoolKey) -> Uses:
        """Return what a type holds itself of a published pool where the candidate can be."""
        return _there(candidate, self._published.get(key, {}).get(candidate.name, {}).get(instance_type, ()))

    def own_templates(self, candidate: DeviceHost, instance_type: str, key: PoolKey) -> Uses:
        """Return what a type holds of its template pool where the candidate can be."""
        return _there(candidate, self._templates.get(candidate.name, {}).get(instance_type, {}).get(key, ()))

    def seen(self, pool: Pool, candidate: str, own: Uses) -> SeenDevices | None:
        """Return what is taken of a published pool for a type that holds `own` of it; None where nothing is."""
        view = (pool.key, candidate, own)
        if view not in self._seen:
            self._seen[view] = self._see(pool, candidate, own)
        return self._seen[view]

    def seed(self, pool: Pool) -> Seed:
        """Return what the cluster says about a pool."""
        found = self._seeds.get(pool.key)
        if found is None:
            found = self._seeds[pool.key] = seed_of(pool, self._ledger.taken(pool.key), self._freed)
        return found

    def _see(self, pool: Pool, candidate: str, own: Uses) -> SeenDevices | None:
        seed = self.seed(pool)
        holders = self._published.get(pool.key, {})
        others = [tuple(holders[name].values()) for name in sorted(holders) if name != candidate]
        if not (others or own or seed.taken.dedicated or seed.taken.shared):
            return None
        return SeenDevices(seed, others, own)

    def _set_templates(self, candidate: str, instance_type: str, key: PoolKey, uses: Uses | None) -> None:
        """Let this be what a type holds of its template pool; None where it holds nothing at all."""
        self._changed()
        by_type = self._templates.setdefault(candidate, {})
        held = by_type.setdefault(instance_type, {})
        before = held.pop(key, None)
        self._journal.note(lambda: self._set_templates(candidate, instance_type, key, before))
        if uses is not None:
            held[key] = uses
        if not held:
            del by_type[instance_type]
        if not by_type:
            del self._templates[candidate]

    def _set_published(self, candidate: str, instance_type: str, key: PoolKey, uses: Uses | None) -> None:
        """Let this be what a type holds of a published pool; None where it holds nothing at all."""
        self._changed()
        by_candidate = self._published.setdefault(key, {})
        by_type = by_candidate.setdefault(candidate, {})
        before = by_type.pop(instance_type, None)
        self._journal.note(lambda: self._set_published(candidate, instance_type, key, before))
        if uses is not None:
            by_type[instance_type] = uses
            self._of.setdefault(candidate, set()).add(key)
        if not by_type:
            del by_candidate[candidate]
            self._of.get(candidate, set()).discard(key)
        if not by_candidate:
            del self._published[key]

    def _changed(self) -> None:
        self.revision += 1
        self._seen = {}


def _there(candidate: DeviceHost, uses: Uses) -> Uses:
    if all(not use.place for use in uses):
        return uses
    return tuple(use for use in uses if use.is_within(candidate.requirements))
