"""Devices of nodes to come that pods of DaemonSets will take, before any pod that is planned for."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from dra_scheduling.allocation.pod_claims import PodClaim, ResolvedClaims, admin_refusal
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.basics.requirements import NODE_NAME_FIELD, Requirement, Requirements
from dra_scheduling.cluster import Cluster
from dra_scheduling.fit.pod_class import ExtendedNeed
from dra_scheduling.model.base import ObjectMeta, OwnerReference
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Pod, PodResourceClaim
from dra_scheduling.provisioning.host_spec import HostSpec
from dra_scheduling.provisioning.node_allocatable_resources import OfNode, beyond, plus
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.state.node_state import DAEMON_SET
from dra_scheduling.template_devices import (
    Allotment,
    CandidateAnswer,
    Denied,
    PodClaims,
    SearchBudget,
    TemplateAllocator,
)

MOST_PLACES = 64
"""Of a host that could come to be in more places than that, nothing is reserved in the others."""


class Reserved(msgspec.Struct, frozen=True, kw_only=True):
    """What reserving for DaemonSets came to.

    `holders` are the DaemonSets that have devices of some machine, each with a place. `contested` are places, each with
    the machines, as bits, on which they ask for more there than there is, so that nobody can tell what they leave.
    `of_node` is what their devices take of each kind of machine. `steps` are those of the searches.
    """

    contested: tuple[tuple[Requirements, int], ...] = ()
    steps: int = 0
    of_node: Mapping[str, Mapping[str, int]] = {}
    holders: tuple[tuple[ObjectKey, Requirements], ...] = ()

    def holders_within(self, requirements: Requirements) -> tuple[ObjectKey, ...]:
        """Return the DaemonSets that have devices in some place where a node with these requirements can be."""
        near = (key for key, place in self.holders if requirements.conflict(place.by_key.values()) is None)
        return tuple(dict.fromkeys(near))

    def contested_within(self, requirements: Requirements) -> int:
        """Return the machines that are contested in some place where a node with these requirements can be."""
        mask = 0
        for place, machines in self.contested:
            if requirements.conflict(place.by_key.values()) is None:
                mask |= machines
        return mask


class DaemonSetClaim(NamedTuple):
    """What a pod of a DaemonSet asks of machines that serve its extended resources in one way."""

    daemon: ObjectKey
    asked: PendingPod
    need: ExtendedNeed
    claims: PodClaims
    types: int


class Local(NamedTuple):
    """What a wish is answered in a place of the host, where these types can be had."""

    place: Requirements
    types: int
    answer: CandidateAnswer


class Daemons:
    """Reserves devices for DaemonSets. The cluster must not change while it is in use; `budget` is for each search."""

    __slots__ = ("_allocator", "_asked", "_budget", "_cluster", "_of_node", "_running")

    def __init__(
        self, cluster: Cluster, allocator: TemplateAllocator, budget: SearchBudget, of_node: OfNode | None = None
    ) -> None:
        self._cluster = cluster
        self._allocator = allocator
        self._budget = budget
        self._of_node = of_node
        self._asked: dict[ObjectKey, PendingPod | None] = {}
        self._running: dict[str, set[ObjectKey]] | None = None

    def reserve(self, spec: HostSpec, requirements: Requirements, types: int) -> Reserved:
        """Let each of these types of a host hold the devices of the DaemonSets that will run on it.

        Devices of a zone are held in each zone that the host can be in, until it is known where it will be. One that a
        type could not serve even if it had it to itself never starts there, and takes nothing.
        """
        steps = 0
        contested: list[tuple[Requirements, int]] = []
        of_node: dict[str, Mapping[str, int]] = {}
        alone: list[tuple[DaemonSetClaim, Requirements]] = []
        for wish in self._wishes(spec, types):
            for within in self._running_in(wish.daemon, requirements):
                for place, there, answer in self._locals(wish, spec, within):
                    steps += answer.steps
                    contested.append((place, there & _unknown(answer, spec)))
                    alone.append((wish._replace(types=there & _served(answer, spec)), place))
        wishes = [(wish, place) for wish, place in alone if wish.types]
        for wish, within in wishes:
            for place, there, answer in self._locals(wish, spec, within):
                steps += answer.steps
                contested.append((place, there & ~_served(answer, spec)))
                if isinstance(answer, Allotment):
                    for name, amounts in self._taken_of_node(wish, spec, answer):
                        of_node[name] = plus(of_node.get(name, {}), amounts)
                    self._allocator.reserve(answer, self._there(answer), _beyond(place, requirements))
        return Reserved(
            contested=tuple(one for one in contested if one[1]),
            steps=steps,
            of_node=of_node,
            holders=tuple((wish.daemon, place) for wish, place in wishes),
        )

    def _locals(self, wish: DaemonSetClaim, spec: HostSpec, requirements: Requirements) -> Iterator[Local]:
        """Yield what the wish is answered, place by place: where its devices are, and then in the rest.

        A claim that is there by itself gets its devices once, so that only one place is asked about it.
        """
        places = [requirements]
        for _ in range(MOST_PLACES):
            if not places:
                return
            place = places.pop()
            types = wish.types if spec.node is not None else wish.types & spec.table.offered(place)
            if not types:
                continue
            answer = self._allocator.allocate(wish.claims, spec.candidate(place, types), self._budget)
            if isinstance(answer, Allotment) and spec.node is None:
                if not self._there(answer):
                    places += _rest(place, answer.requirements)
                place = place.narrowed(answer.requirements)
                types &= spec.table.offered(place)
            yield Local(place, types, answer)

    def _running_in(self, daemon: ObjectKey, requirements: Requirements) -> Iterator[Requirements]:
        """Yield the places of a host where the DaemonSet runs, of machines that it may run on.

        They do not overlap, except where the rest of one cannot be told. Labels that only machines say something about
        decide about the machine and not about the place.
        """
        rest = [requirements]
        for written in self._cluster.inventory.overhead(daemon).terms:
            term = [one for one in written if one.key in requirements.by_key or one.key in requirements.open_keys]
            met = [place for place in rest if place.conflict(term) is None]
            yield from (place.narrowed(term) for place in met)
            if all(one.complement() is not None for one in term):
                rest = [part for place in rest for part in (_rest(place, term) if place in met else (place,))]

    def _there(self, answer: Allotment) -> list[ObjectKey]:
        """Return the claims that are there by themselves."""
        return [key for key in answer.searched if self._cluster.claims.get(key) is not None]

    def _taken_of_node(
        self, wish: DaemonSetClaim, spec: HostSpec, answer: Allotment
    ) -> Iterator[tuple[str, Mapping[str, int]]]:
        """Yield what the devices take of each kind of machine, beyond what the pods of the DaemonSet request."""
        if self._of_node is None:
            return
        for name, share in self._of_node.shares(wish.asked, wish.need, spec, wish.types, answer).items():
            if not isinstance(share, Refusal):
                yield name, beyond(share, wish.need)

    def _wishes(self, spec: HostSpec, types: int) -> Iterator[DaemonSetClaim]:
        """Yield what DaemonSets ask for, and of which types, by name."""
        table = spec.table
        for key in table.daemons(types):
            asked = None if self._is_there(key, spec) else self._ask(key)
            if asked is None:
                continue
            for kind, members in table.by_offer(asked.shape.extended):
                running = members & types & table.running(key)
                need = asked.shape.need_on(kind, self._cluster.classes)
                claims = None if isinstance(need, Refusal) else asked.claims(need)
                if running and claims is not None and isinstance(need, ExtendedNeed):
                    yield DaemonSetClaim(key, asked, need, claims, running)

    def _ask(self, key: ObjectKey) -> PendingPod | None:
        """Return what pods of the DaemonSet ask for, None where they wait for something else than a node."""
        if key not in self._asked:
            self._asked[key] = self._asked_by(self._cluster.inventory.daemon_sets[key].pod, key)
        return self._asked[key]

    def _asked_by(self, pod: Pod, key: ObjectKey) -> PendingPod | None:
        cluster = self._cluster
        found: list[PodClaim] = []
        for entry in pod.spec.resource_claims:
            claim = self._claim_of(entry, key)
            if claim is None:
                return None
            found.append(claim)
        resolved = ResolvedClaims(tuple(found))
        if admin_refusal(resolved, cluster.namespaces.get(key.namespace)) is not None:
            return None
        shape = cluster.shapes.shape_of(pod, resolved, cluster.classes)
        return (
            None if isinstance(shape, Refusal) else PendingPod(pod, shape, resolved, cluster.classes, cluster.features)
        )

    def _claim_of(self, entry: PodResourceClaim, daemon: ObjectKey) -> PodClaim | None:
        if entry.resource_claim_name:
            known = self._cluster.claims.get(ObjectKey(daemon.namespace, entry.resource_claim_name))
            if known is None or known.metadata.is_deleting:
                return None
            allocation = known.status.allocation or self._cluster.claims.intended_allocation(known.key)
            return PodClaim(name=entry.name, claim=known, allocation=allocation)
        named = ObjectKey(daemon.namespace, entry.resource_claim_template_name)
        template = self._cluster.inventory.claim_templates.get(named)
        if template is None:
            return None
        # The name is no object's, so that nobody's claim is taken for it.
        meta = ObjectMeta(
            name=f"{entry.name} of DaemonSet {daemon.name}",
            namespace=daemon.namespace,
            owner_references=(OwnerReference(api_version="v1", kind="Pod", name=daemon.name, controller=True),),
        )
        return PodClaim(name=entry.name, claim=ResourceClaim(metadata=meta, spec=template.spec.spec))

    def _is_there(self, daemon: ObjectKey, spec: HostSpec) -> bool:
        """Whether a pod of the DaemonSet is on the node, or is planned for by itself: it has its own devices."""
        if spec.node is None:
            return False
        if self._running is None:
            self._running = {}
            for pod in self._cluster.placements.pods.values():
                owner = pod.metadata.controller
                if owner is not None and owner.kind == DAEMON_SET and not pod.is_finished:
                    key = ObjectKey(pod.metadata.namespace, owner.name)
                    self._running.setdefault(self._node_of(pod), set()).add(key)
        return daemon in self._running.get(spec.node.name, ())

    def _node_of(self, pod: Pod) -> str:
        if pod.spec.node_name or pod.spec.scheduler_name != self._cluster.scheduler_name:
            return pod.spec.node_name
        selector = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
        fields = (one for term in (selector.node_selector_terms if selector else ()) for one in term.match_fields)
        return next((one.values[0] for one in fields if one.key == NODE_NAME_FIELD and one.values), "")


def _rest(place: Requirements, taken: Iterable[Requirement]) -> Iterator[Requirements]:
    """Yield the parts of a place that do not meet all of the requirements, as far as requirements can say so."""
    for wanted in taken:
        other = wanted.complement()
        if other is not None and place.conflict((other,)) is None:
            yield place.narrowed((other,))
        place = place.narrowed((wanted,))


def _served(answer: CandidateAnswer, spec: HostSpec) -> int:
    return spec.table.with_devices_of(answer.types) if isinstance(answer, Allotment) else 0


def _unknown(answer: CandidateAnswer, spec: HostSpec) -> int:
    """Return the machines for which the budget was too small to tell."""
    if isinstance(answer, Denied):
        return 0
    return spec.table.with_devices_of(answer.unfinished if isinstance(answer, Allotment) else answer.types)


def _beyond(place: Requirements, requirements: Requirements) -> tuple[Requirement, ...]:
    """Return what the place requires that the requirements do not."""
    return tuple(one for key, one in sorted(place.by_key.items()) if requirements.of(key) != one)
