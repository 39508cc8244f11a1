"""Claims that no node of the input, or made by it, could ever serve: the allocator asked with every device free."""

from collections.abc import Iterator, Mapping

from dra_scheduling.allocation.allocator import survey
from dra_scheduling.allocation.claimchecks import INVALID_CLAIM
from dra_scheduling.allocation.claimspecs import ParsedClaim, parse_claim
from dra_scheduling.allocation.outcomes import Impossible
from dra_scheduling.allocation.query import Query
from dra_scheduling.candidates import Budget, Candidate, CandidateAllocator, Denied, PodClaims, Published
from dra_scheduling.features import Features
from dra_scheduling.ledger import Ledger
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.claims import ResourceClaim, ResourceClaimSpec
from dra_scheduling.model.pods import Node
from dra_scheduling.model.slices import DeviceClass, ResourceSlice
from dra_scheduling.model.tainting import DeviceTaintRule
from dra_scheduling.pools import NodePlace, PoolIndex
from dra_scheduling.reasons import Refusal, fold, one_line
from dra_scheduling.wire import write_value
from dra_simulator.admission import HOSTNAME
from dra_simulator.checks.findings import Remarks, error, warning
from dra_simulator.checks.supply import Supply
from dra_simulator.complete import World


class Fitting:
    """The nodes of an input with all of their devices free, and those that could be made.

    What they serve is remembered: many want the same.
    """

    __slots__ = ("_classes", "_features", "_ledger", "_places", "_pools", "_served", "_supply")

    def __init__(self, world: World, classes: Mapping[str, DeviceClass], features: Features, supply: Supply) -> None:
        self._classes = classes
        self._features = features
        self._ledger = Ledger()
        self._pools = PoolIndex(features)
        slices = world.of(ResourceSlice)
        for value in slices:
            self._pools.apply(value)
        for rule in world.of(DeviceTaintRule):
            self._pools.apply_rule(rule)
        self._places = tuple(_places(world.of(Node), slices)) if slices else ()
        self._served: set[str] = set()
        self._supply = supply

    def remarks(self, name: str, spec: ResourceClaimSpec, path: str) -> Remarks:
        """Yield why the claim, called by this name, could not be served even on an empty cluster."""
        parsed = parse_claim(name, spec, self._classes, self._features)
        if isinstance(parsed, Refusal):
            grade = error if parsed.reason == INVALID_CLAIM else warning
            yield grade(path, f"is never served as it stands: {parsed.message}")
            return
        content = str(write_value(spec))
        if content in self._served:
            return
        against = self._against(name, spec, parsed)
        if against:
            yield warning(path, f"is never served by the devices of the input, all of them free: {against}")
        else:
            self._served.add(content)

    def _against(self, name: str, spec: ResourceClaimSpec, parsed: ParsedClaim) -> str:
        """Return why no node, be it one that could be made, serves the claim; nothing where one does."""
        said = []
        if self._places:
            refusals = self._ask(Query((parsed,)))
            if not refusals:
                return ""
            said.append(one_line(fold(refusals), len(self._places)))
        for pool, refusal in self._ask_types(name, spec):
            if refusal is None:
                return ""
            # The refusal of a single type names none.
            said.append(f"{f'NodePool {pool}' if pool else 'instance types'}: {fold([refusal])[0].message}")
        return "; ".join(said)

    def _ask_types(self, name: str, spec: ResourceClaimSpec) -> Iterator[tuple[str, Refusal | None]]:
        """Yield what the instance types say, by NodePool; None where one of them serves, or nobody knows."""
        claim = ResourceClaim(metadata=ObjectMeta(name=name, uid=name), spec=spec)
        for pool, requirements, table in self._supply.tables():
            claims = PodClaims([claim], self._classes, self._features)
            allocator = CandidateAllocator(
                Published(self._pools, frozenset()), self._ledger, self._supply.cluster.inventory.bindings()
            )
            candidate = Candidate.of_node_claim(f"pool {pool}", requirements, table.candidates(table.everything), pool)
            answer = allocator.allocate(claims, candidate, Budget()) if table.everything else None
            if answer is not None:
                yield pool, answer.refusal if isinstance(answer, Denied) else None

    def _ask(self, query: Query) -> list[Refusal]:
        """Return why each of the nodes refuses; nothing where one does not, or where nobody knows."""
        refusals = []
        for place in self._places:
            answer = survey(query, place, self._pools, self._ledger)
            if not isinstance(answer, Impossible):
                return []
            refusals.append(answer.refusal)
        return refusals


def _places(nodes: tuple[Node, ...], slices: tuple[ResourceSlice, ...]) -> Iterator[NodePlace]:
    """Yield the nodes; where the input has none, those that its slices name.

    Nothing is yielded where slices select nodes by labels that nobody knows.
    """
    if nodes:
        yield from (NodePlace(name=node.name, labels=node.metadata.labels) for node in nodes)
        return
    specs = [value.spec for value in slices]
    if any(spec.node_selector or any(device.node_selector for device in spec.devices) for spec in specs):
        return
    names = {spec.node_name for spec in specs} | {device.node_name for spec in specs for device in spec.devices}
    named = sorted(names - {""}) or [""]
    yield from (NodePlace(name=name, labels={HOSTNAME: name}) for name in named)
