"""Single changes that would make a node take a pod, each of them tried: what is named here does it."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import msgspec

from dra_scheduling.allocation.allocation_outcomes import Chosen
from dra_scheduling.allocation.allocation_refusals import SHOWN_SELECTOR
from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.claim_requests import Alternative, ParsedClaim, ParsedRequest
from dra_scheduling.allocation.claim_validation import subject
from dra_scheduling.allocation.prioritized_list import choose
from dra_scheduling.allocation.search_space import SearchSpace
from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.cluster import Cluster
from dra_scheduling.devices import PoolOnNode
from dra_scheduling.devices.ledger import Holder, Source
from dra_scheduling.devices.ledger_entries import holder_of, special_holder
from dra_scheduling.devices.selections import SelectorText, selection, wish
from dra_scheduling.fit.pod_class import PodClass
from dra_scheduling.model.node_selectors import Toleration
from dra_simulator.explain.node_rows import NodeView

BUDGET = 10_000
"""Search steps for one trial; where they do not suffice, the change is not named."""
MOST_HOLDERS = 32
EVERY_TAINT = Toleration(operator="Exists")
REMEDIES = {
    "NodeBeingSetUp": "the node is initialized",
    "NodeUnschedulable": "the node is uncordoned",
    "NodeNameMismatch": "the pod does not name another node in spec.nodeName",
    "UntoleratedTaint": "the pod tolerates the taints of the node",
    "NodeSelectorMismatch": "the node gets the labels of the pod's node selector",
    "NodeAffinityMismatch": "the node meets the pod's required node affinity",
    "HostPortTaken": "the host ports of the pod become free on the node",
    "TooManyPods": "another pod leaves the node",
    "InsufficientResource": "that much becomes free on it, or it gets larger",
}


class ChangeTrial(NamedTuple):
    """The node's devices, and how to find out whether claims can be served from them as they are now."""

    cluster: Cluster
    pools: tuple[PoolOnNode, ...]
    claims: tuple[ParsedClaim, ...]

    def serves(self, claims: Sequence[ParsedClaim]) -> bool:
        """Whether devices can be found."""
        return isinstance(choose(ClaimQuery(claims), SearchSpace(self.pools, self.cluster.ledger), BUDGET), Chosen)


Change = Callable[[ChangeTrial], Iterator[str]]
"""Yields the changes of one kind that help, the smallest first."""


def single_changes(cluster: Cluster, shape: PodClass, view: NodeView) -> tuple[str, ...]:
    """Return one change of each kind, as half a sentence, that alone would make the node take the pod."""
    if view.shortage is None:
        remedies = [remedy for refusal in view.obstacles if (remedy := _remedy(refusal))]
        return tuple(remedies) if len(view.obstacles) == 1 else ()
    state = cluster.nodes[view.node]
    need = shape.need_on(state.offered, cluster.classes)
    if view.obstacles or isinstance(need, Refusal) or need.query is None:
        return ()
    trial = ChangeTrial(cluster, cluster.pools.on_node(state.place), need.query.claims)
    if trial.serves(trial.claims):
        # There are devices, and what they take of the node is too much.
        return tuple(filter(None, (_remedy(view.shortage),)))
    kinds: tuple[Change, ...] = (_releases, _tolerations, _selectors, _constraints, _counts)
    return tuple(chain.from_iterable(_first(kind(trial)) for kind in kinds)) or tuple(_first(_all_released(trial)))


def _first(changes: Iterator[str]) -> Iterator[str]:
    change = next(changes, None)
    if change is not None:
        yield change


def _remedy(refusal: Refusal) -> str:
    remedy = REMEDIES.get(refusal.reason, "")
    return f"{remedy} ({refusal.message})" if remedy else ""


def _releases(trial: ChangeTrial) -> Iterator[str]:
    holders = sorted(_holders(trial).items(), key=lambda item: (item[1].devices, item[0]))
    for holder, held in holders[:MOST_HOLDERS]:
        if _serves_without(trial, held.sources):
            yield f"{_claim_called(trial.cluster, holder)} gives back its devices"


def _all_released(trial: ChangeTrial) -> Iterator[str]:
    held = _holders(trial).values()
    if _serves_without(trial, [source for each in held for source in each.sources]):
        yield f"all {len(held)} claims that have devices there give them back"


class _Holding(NamedTuple):
    sources: list[Source]
    devices: int


def _holders(trial: ChangeTrial) -> dict[str, _Holding]:
    """Return who has devices of these pools, by holder."""
    keys = {pool.key for pool in trial.pools}
    sources: defaultdict[str, list[Source]] = defaultdict(list)
    devices: defaultdict[str, int] = defaultdict(int)
    for source, held in trial.cluster.ledger.held.items():
        count = sum(device.pool_key in keys for device in held.everything)
        if count:
            sources[held.holder].append(source)
            devices[held.holder] = max(devices[held.holder], count)
    return {holder: _Holding(said, devices[holder]) for holder, said in sources.items()}


def _serves_without(trial: ChangeTrial, sources: Sequence[Source]) -> bool:
    """Whether devices can be found once these sources hold none; the cluster is left as it was."""
    with trial.cluster.statement() as statement:
        for source in sources:
            statement.release(source)
        return trial.serves(trial.claims)


def _claim_called(cluster: Cluster, holder: Holder) -> str:
    for claim in cluster.claims.values():
        if holder_of(claim) == holder:
            return f"ResourceClaim {claim.key}"
    owners = (pod.key for pod in cluster.placements.pods.values() if special_holder(pod.metadata.uid) == holder)
    owner = next(owners, None)
    return holder if owner is None else f"the claim for extended resources of Pod {owner}"


def _tolerations(trial: ChangeTrial) -> Iterator[str]:
    board = SearchSpace(trial.pools, trial.cluster.ledger)
    for place in _places(trial.claims):
        looks_for = place.alternative.wish
        if board.verdict(looks_for).tainted:
            everything = wish(looks_for.selection, (*looks_for.tolerations, EVERY_TAINT), looks_for.capacity)
            if trial.serves(place.changed(wish=everything)):
                yield f"{place.called} tolerates the taints of the devices"


def _selectors(trial: ChangeTrial) -> Iterator[str]:
    for place in _places(trial.claims):
        looks_for, chosen = place.alternative.wish, place.alternative.wish.selection
        of_class = len(chosen.programs) - len(place.alternative.selectors)
        texts = [
            SelectorText(origin, program.source)
            for origin, program in zip(chosen.origins, chosen.programs, strict=True)
        ]
        for number in range(of_class, len(texts)):
            rest = selection((*texts[:number], *texts[number + 1 :]))
            if trial.serves(place.changed(wish=wish(rest, looks_for.tolerations, looks_for.capacity))):
                yield f"{place.called} goes without its selector {_shortened(texts[number].expression)}"


def _shortened(expression: str) -> str:
    text = " ".join(expression.split())
    return text if len(text) <= SHOWN_SELECTOR else f"{text[:SHOWN_SELECTOR]}..."


def _constraints(trial: ChangeTrial) -> Iterator[str]:
    for index, claim in enumerate(trial.claims):
        for number, rule in enumerate(claim.rules):
            rules = (*claim.rules[:number], *claim.rules[number + 1 :])
            if trial.serves(_with(trial.claims, index, msgspec.structs.replace(claim, rules=rules))):
                yield f"{subject(claim.title)} goes without {rule.kind.value} {rule.attribute}"


def _counts(trial: ChangeTrial) -> Iterator[str]:
    for place in _places(trial.claims):
        wanted = place.alternative.wanted
        fewer = (count for count in range(wanted - 1, 0, -1) if trial.serves(place.changed(wanted=count)))
        most = next(fewer, 0)
        if most:
            yield f"{place.called} asks for {most} instead of {wanted}"


class _Place(NamedTuple):
    """One alternative of one request in the claims of a trial."""

    claims: tuple[ParsedClaim, ...]
    claim: int
    request: int
    position: int

    @property
    def asked(self) -> ParsedRequest:
        return self.claims[self.claim].requests[self.request]

    @property
    def alternative(self) -> Alternative:
        return self.asked.alternatives[self.position]

    @property
    def called(self) -> str:
        return subject(self.claims[self.claim].title, self.alternative.name)

    def changed(self, **fields: object) -> tuple[ParsedClaim, ...]:
        """Return all claims with these fields of the alternative changed."""
        alternatives = list(self.asked.alternatives)
        alternatives[self.position] = msgspec.structs.replace(self.alternative, **fields)
        claim = self.claims[self.claim]
        requests = list(claim.requests)
        requests[self.request] = msgspec.structs.replace(self.asked, alternatives=tuple(alternatives))
        return _with(self.claims, self.claim, msgspec.structs.replace(claim, requests=tuple(requests)))


def _places(claims: tuple[ParsedClaim, ...]) -> Iterator[_Place]:
    for index, claim in enumerate(claims):
        for number, request in enumerate(claim.requests):
            for position in range(len(request.alternatives)):
                yield _Place(claims, index, number, position)


def _with(claims: tuple[ParsedClaim, ...], index: int, claim: ParsedClaim) -> tuple[ParsedClaim, ...]:
    return (*claims[:index], claim, *claims[index + 1 :])
