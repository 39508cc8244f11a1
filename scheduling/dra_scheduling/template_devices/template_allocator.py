"""Devices for the claims of a pod on a candidate that may become one of many instance types.

Asking changes nothing, so that many candidates may be asked side by side; `commit` and `release` write. The rules are
those of docs/allocator.md, section "Candidates".

A candidate is several machines at once, and devices are searched for in each of them. Say a NodeClaim may become
`small` (one GPU), `large` (four GPUs and a NIC) or `plain` (no device), in zone a or b, and there is a
network-attached disk that only zone b reaches.

1. A pod that wants one GPU is served by `small` and by `large`, and not by `plain`: the answer is an `Allotment` for
   two types, and the NodeClaim is held to them. In each it is another device, `gpu-0` of either; both are recorded
   (`AllocationTracker`), since nobody knows yet which machine it will be.
2. A second pod that wants one GPU is served by `large` only. `small` is ruled out, and `retain` makes its `gpu-0` free
   of anybody: a machine that is not to be takes nothing.
3. A third pod wants the disk. It is published, not promised, so the ledger and the plan decide who has it; the answer
   narrows the NodeClaim to zone b (`Allotment.requirements`), where `large` has to be available.
4. A fourth pod wants two GPUs and the NIC behind one PCIe root. Which root a device of a machine to come is on is not
   known; the InstanceType may say that some share it (`AttributeBindings`), and only those match. Two GPUs of `large`
   are left: if they are bound to the NIC, the pod is served, else it is denied, and asks the next candidate.

Types with the same devices are searched once (`Kin` in the inventory), and places that reach the same published devices
together (`ReachDomains`), so that hundreds of types cost a handful of searches.
"""

from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace

from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.basics.journal import Journal
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.basics.requirements import Requirement, Requirements, merged
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.template_devices.allocated_claims import GivenDevices, Settled, settle
from dra_scheduling.template_devices.allocation_tracker import AllocationTracker
from dra_scheduling.template_devices.attribute_bindings import AttributeBindings
from dra_scheduling.template_devices.claim_records import ClaimRecord, Records
from dra_scheduling.template_devices.device_host import DeviceHost, DeviceHostType
from dra_scheduling.template_devices.device_views import DeviceViews
from dra_scheduling.template_devices.nodes_being_set_up import template_seeds
from dra_scheduling.template_devices.placement_trials import PlacementTrial, SearchContext, best_of, rounds
from dra_scheduling.template_devices.planned_claims import PodClaims, Question
from dra_scheduling.template_devices.published_devices import Published
from dra_scheduling.template_devices.reach_boxes import TooManyReachBoxesError
from dra_scheduling.template_devices.reach_domains import ReachDomains, Reached, stages_of, stages_of_node
from dra_scheduling.template_devices.replanned_claims import NOTHING_GOES, Replanning
from dra_scheduling.template_devices.template_outcomes import (
    Allotment,
    CandidateAnswer,
    Denied,
    Pruned,
    UnfinishedSearch,
)
from dra_scheduling.template_devices.template_refusals import denied, gave_up, nothing_left

DEFAULT_POD_BUDGET = SearchBudget()


class StaleAllotmentError(Exception):
    """An allotment was decided on another state of the plan than the one it is to be committed to."""


class TemplateAllocator:
    """The devices of one plan. The published slices and the ledger must not change while it is in use.

    The `journal` gets the inverse of every change.
    """

    def __init__(
        self,
        published: Published,
        ledger: Ledger,
        bindings: AttributeBindings | None = None,
        replanning: Replanning = NOTHING_GOES,
        journal: Journal | None = None,
    ) -> None:
        self._journal = Journal() if journal is None else journal
        self._published = published
        self._bindings = bindings if bindings is not None else AttributeBindings()
        self._replanning = replanning
        self._tracker = AllocationTracker(ledger, replanning.holders, self._journal)
        self._records: Records = {}
        self._recorded: dict[str, set[ObjectKey]] = {}
        self._reached: dict[str, Reached] = {}

    @property
    def records(self) -> Mapping[ObjectKey, ClaimRecord]:
        """The claims that have devices in this plan; a live view."""
        return self._records

    def allocate(
        self, pod: PodClaims, candidate: DeviceHost, budget: SearchBudget = DEFAULT_POD_BUDGET
    ) -> CandidateAnswer:
        """Return which instance types can serve the pod and with what, or why none can; nothing is reserved."""
        settled = settle(pod.claims, candidate, GivenDevices(records=self._records, replanning=self._replanning))
        if isinstance(settled, Refusal):
            return Denied(refusal=settled)
        types = tuple(one for one in candidate.types if one.name in settled.types)
        if not types:
            return Denied(refusal=nothing_left())
        if not settled.searched:
            return self._without_search(candidate, settled, types)
        question = pod.question(settled.searched)
        if isinstance(question, Refusal):
            return Denied(refusal=question)
        return self._search(candidate, settled, question, budget)

    def commit(self, allotment: Allotment) -> None:
        """Reserve what the allotment says, and release the candidate's types that are not in it any more.

        Raises `StaleAllotmentError` if anything was committed or released since it was decided.
        """
        self._check(allotment)
        self.retain(allotment.candidate, allotment.types)
        self._hold(allotment, allotment.searched)
        if allotment.reached is not None:
            # No inverse: it follows from what is published, and is used only where it covers what is asked.
            self._reached[allotment.candidate] = allotment.reached

    def reserve(self, allotment: Allotment, there: Collection[ObjectKey], place: tuple[Requirement, ...] = ()) -> None:
        """Reserve what the allotment says; types of the candidate that are not in it stay as they are.

        Only the claims that are `there` count as served. Others stand for claims that somebody is going to make, one a
        candidate. Nothing is held if the candidate comes to be outside of the `place`. Raises `StaleAllotmentError` as
        `commit` does.
        """
        self._check(allotment)
        self._hold(allotment, there, place)

    def release(self, candidate: str, types: Iterable[str]) -> None:
        """Let these types of the candidate hold nothing any more; those that hold nothing are passed over."""
        going = self._holding(candidate) & frozenset(types)
        for name in sorted(going):
            self._tracker.release(candidate, name)
        for key in sorted(self._recorded.get(candidate, ())) if going else ():
            record = self._records[key]
            if going & frozenset(record.by_type):
                self._record(candidate, key, record.without(going))

    def retain(self, candidate: str, types: Iterable[str]) -> None:
        """Release every type of the candidate but these, for whatever reason the others left."""
        self.release(candidate, self._holding(candidate) - frozenset(types))

    def confine(self, candidate: str, requirements: Requirements) -> None:
        """Let the candidate hold only what a new node with these requirements reaches, or has there."""
        self._tracker.confine(candidate, requirements, lambda device: self._published.is_near(device, requirements))

    def _check(self, allotment: Allotment) -> None:
        if allotment.revision != self._tracker.revision:
            raise StaleAllotmentError(
                f"the allotment of {allotment.candidate} was decided on revision {allotment.revision} of the plan, "
                f"which is at {self._tracker.revision}"
            )

    def _hold(self, allotment: Allotment, recorded: Collection[ObjectKey], place: tuple[Requirement, ...] = ()) -> None:
        for one in allotment.served:
            uses = (use for claim in one.claims for use in claim.uses)
            held = (replace(use, place=place) for use in uses) if place else uses
            self._tracker.hold(allotment.candidate, one.name, held)
        for number, key in enumerate(allotment.searched):
            if key in recorded:
                by_type = {one.name: one.claims[number] for one in allotment.served}
                record = ClaimRecord(candidate=allotment.candidate, by_type=by_type)
                self._record(allotment.candidate, key, record)

    def _record(self, candidate: str, key: ObjectKey, record: ClaimRecord | None) -> None:
        """Let the claim have this from the candidate, or nothing."""
        before = self._records.get(key)
        self._journal.note(lambda: self._record(candidate, key, before))
        if record is None:
            self._records.pop(key, None)
            self._recorded.get(candidate, set()).discard(key)
        else:
            self._records[key] = record
            self._recorded.setdefault(candidate, set()).add(key)

    def _holding(self, candidate: str) -> frozenset[str]:
        """Return the types of the candidate that hold devices or stand for a claim."""
        records = (self._records[key] for key in self._recorded.get(candidate, ()))
        return self._tracker.types_of(candidate).union(*(record.by_type for record in records))

    def _without_search(self, candidate: DeviceHost, settled: Settled, types: tuple[DeviceHostType, ...]) -> Allotment:
        return Allotment(
            candidate=candidate.name,
            types=tuple(one.name for one in types),
            requirements=settled.added,
            pruned=_lost(candidate, settled),
            revision=self._tracker.revision,
        )

    def _search(
        self, candidate: DeviceHost, settled: Settled, question: Question, budget: SearchBudget
    ) -> CandidateAnswer:
        reached = None if candidate.node is not None else self._reach(candidate, settled)
        try:
            stages = self._stages(candidate, reached, question)
        except TooManyReachBoxesError:
            names = tuple(sorted(settled.types))
            return UnfinishedSearch(refusal=gave_up(question, 0, names), types=names, steps=0)
        panel = self._panel(candidate, settled, question)
        found = list(rounds(panel, stages, budget))
        best = best_of(found)
        steps = sum(one.steps for one in found)
        if best.served:
            return self._allotment(candidate, settled, best, reached, steps)
        unfinished = tuple(sorted({name for one in found for name in one.unfinished}))
        if unfinished:
            return UnfinishedSearch(refusal=gave_up(question, steps, unfinished), types=unfinished, steps=steps)
        pruned = (*best.pruned, *_lost(candidate, settled))
        return Denied(refusal=denied(pruned, question, best.stage.pools), pruned=pruned, steps=steps)

    def _reach(self, candidate: DeviceHost, settled: Settled) -> Reached:
        known = self._reached.get(candidate.name)
        if known is not None and known.covers(settled.requirements):
            return known.within(settled.requirements)
        spots = self._published.spots(settled.requirements)
        return Reached(requirements=settled.requirements, spots=spots)

    def _stages(self, candidate: DeviceHost, reached: Reached | None, question: Question) -> ReachDomains:
        if reached is None:
            return stages_of_node(candidate, self._published)
        return stages_of(reached, question.query, self._published)

    def _panel(self, candidate: DeviceHost, settled: Settled, question: Question) -> SearchContext:
        seeds = {}
        if candidate.node is not None and candidate.types[0].devices.pools:
            seeds = template_seeds(candidate.node, candidate.types[0].devices, self._published, self._tracker)
        types = sorted((one for one in candidate.types if one.name in settled.types), key=lambda one: one.name)
        return SearchContext(
            types=tuple(types),
            question=question,
            shelves=DeviceViews(candidate, self._published, self._tracker, self._bindings, seeds),
            requirements=candidate.requirements,
        )

    def _allotment(
        self, candidate: DeviceHost, settled: Settled, best: PlacementTrial, reached: Reached | None, steps: int
    ) -> Allotment:
        served = {one.name: one for one in best.served}
        types = tuple(one.name for one in candidate.types if one.name in served)
        required = [wanted for one in best.served for claim in one.claims for wanted in claim.requirements]
        requirements = merged((*settled.added, *required))
        return Allotment(
            candidate=candidate.name,
            types=types,
            requirements=requirements,
            searched=tuple(claim.key for claim in settled.searched),
            served=tuple(served[name] for name in types),
            pruned=(*best.pruned, *_lost(candidate, settled)),
            unfinished=best.unfinished,
            reached=None if reached is None else reached.within(reached.requirements.narrowed(requirements)),
            steps=steps,
            revision=self._tracker.revision,
        )


def _lost(candidate: DeviceHost, settled: Settled) -> tuple[Pruned, ...]:
    return tuple(Pruned(one.name, nothing_left()) for one in candidate.types if one.name not in settled.types)
