"""Rules across nodes that nobody ships: what is shown with them holds for any that is added later."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import ClassVar
from weakref import WeakValueDictionary

from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.fit.rule import DomainRule, Host, RuleView, Wanted
from dra_scheduling.model.pods import Pod
from dra_scheduling.state.domains import Domains

ZONE = "topology.kubernetes.io/zone"
APP = "app"
KEEPS_OUT = "keeps-out"
App = tuple[str, str]
"""Namespace and name."""


def app_of(pod: Pod) -> App | None:
    name = pod.metadata.labels.get(APP)
    return None if name is None else (pod.metadata.namespace, name)


def refused_by_zone(reason: str, message: str) -> Refusal:
    return Refusal(reason=reason, message=message, wake=ClusterEvent.NODE | ClusterEvent.DOMAINS)


NO_ZONE = refused_by_zone("NoZone", "without a zone")


class AppsByZone:
    """How many pods of each app are in each zone, and what that closes to whom."""

    def __init__(self, view: RuleView) -> None:
        self._view = view
        self.counts: defaultdict[App, Counter[str]] = defaultdict(Counter)
        self._read: WeakValueDictionary[App, Domains] = WeakValueDictionary()
        self._changed: set[App] = set()
        self.judged = 0

    def domains_for(self, app: App) -> Domains:
        found = self._read.get(app)
        if found is None:
            found = self._read[app] = self._view.domains(ZONE, NO_ZONE)
            self._judge(app)
        return found

    def reserve(self, pod: Pod, labels: Mapping[str, str]) -> None:
        self._count(pod, labels, 1)

    def release(self, pod: Pod, labels: Mapping[str, str]) -> None:
        self._count(pod, labels, -1)

    def judge(self) -> None:
        for app in self._changed:
            self._judge(app)
        self._changed.clear()

    def judge_all(self) -> None:
        for app in list(self._read):
            self._judge(app)

    def _count(self, pod: Pod, labels: Mapping[str, str], more: int) -> None:
        zone = labels.get(ZONE)
        if zone is None:
            return
        for app in self.concerned(pod):
            self.counts[app][zone] += more
            if not self.counts[app][zone]:
                del self.counts[app][zone]
            self._changed.add(app)

    def _judge(self, app: App) -> None:
        domains = self._read.get(app)
        if domains is not None:
            self.judged += 1
            domains.close(dict(self.closed(app, domains)))

    def concerned(self, pod: Pod) -> Iterator[App]:
        raise NotImplementedError

    def closed(self, app: App, domains: Domains) -> Iterator[tuple[str, Refusal]]:
        raise NotImplementedError


class SpreadIndex(AppsByZone):
    def __init__(self, view: RuleView, most: int) -> None:
        super().__init__(view)
        self._refusal = refused_by_zone("ZoneSpread", f"{most} more of its app than in the emptiest zone already")
        self._most = most

    def concerned(self, pod: Pod) -> Iterator[App]:
        app = app_of(pod)
        if app is not None:
            yield app

    def closed(self, app: App, domains: Domains) -> Iterator[tuple[str, Refusal]]:
        counts = self.counts[app]
        least = min((counts[zone] for zone in domains.values), default=0)
        for zone, count in counts.items():
            if count >= least + self._most:
                yield zone, self._refusal


class ZoneSpread(DomainRule):
    """At most `most` pods of an app in a zone above the least over zones: a pod in one zone opens others."""

    name: ClassVar[str] = "ZoneSpread"

    def __init__(self, most: int) -> None:
        self._most = most
        self.asked = 0

    def index(self, view: RuleView) -> SpreadIndex:
        return SpreadIndex(view, self._most)

    def signature(self, pod: Pod) -> object:
        return app_of(pod)

    def prepare(self, wanted: Wanted, view: RuleView) -> Domains | None:
        app = app_of(wanted.pod)
        index = view.index_of(self)
        assert isinstance(index, SpreadIndex)
        return None if app is None else index.domains_for(app)

    def filter(self, prepared: Domains, host: Host) -> Refusal | None:
        self.asked += 1
        return super().filter(prepared, host)


class KeepOutIndex(AppsByZone):
    def concerned(self, pod: Pod) -> Iterator[App]:
        name = pod.metadata.labels.get(KEEPS_OUT)
        if name is not None:
            yield pod.metadata.namespace, name

    def closed(self, app: App, domains: Domains) -> Iterator[tuple[str, Refusal]]:
        refusal = refused_by_zone("KeptOut", f"in its zone a pod keeps out app {app[1]}")
        return ((zone, refusal) for zone in self.counts[app])


class KeptOut(DomainRule):
    """Keeps pods of an app out of zones where the label of a running pod says so, whatever they ask for themselves."""

    name: ClassVar[str] = "KeptOut"

    def __init__(self) -> None:
        self.asked = 0

    def index(self, view: RuleView) -> KeepOutIndex:
        return KeepOutIndex(view)

    def signature(self, pod: Pod) -> object:
        return app_of(pod)

    def prepare(self, wanted: Wanted, view: RuleView) -> Domains | None:
        app = app_of(wanted.pod)
        index = view.index_of(self)
        assert isinstance(index, KeepOutIndex)
        return None if app is None else index.domains_for(app)

    def filter(self, prepared: Domains, host: Host) -> Refusal | None:
        self.asked += 1
        return super().filter(prepared, host)
