"""Claims that no node of the input, or made by it, could ever serve: the allocator asked with every device free."""

from collections.abc import Iterable, Iterator

from dra_scheduling.allocation.allocation_outcomes import Impossible
from dra_scheduling.allocation.allocator import survey
from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.allocation.claim_requests import parse_claim
from dra_scheduling.allocation.claim_validation import INVALID_CLAIM, Called
from dra_scheduling.allocation.pod_claims import ResolvedClaims
from dra_scheduling.basics.features import Features
from dra_scheduling.basics.reasons import ClusterEvent, Refusal, fold, one_line, told_once
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.devices.ledger import Ledger
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.fit.node_resources_fit import insufficient
from dra_scheduling.fit.pod_class import ExtendedNeed, PodClass
from dra_scheduling.inventory.machine import in_base_units
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.claims import ResourceClaim, ResourceClaimSpec
from dra_scheduling.model.device_taint_rules import DeviceTaintRule
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.provisioning.merge_refusals import NODE_POOL, RefusalSource, told
from dra_scheduling.provisioning.pending_pod import special_of
from dra_scheduling.template_devices import Denied, DeviceHost, PodClaims, Published, SearchBudget, TemplateAllocator
from dra_scheduling.wire import write_value
from dra_simulator.admission import HOSTNAME
from dra_simulator.check.findings import Remarks, error, warning
from dra_simulator.check.pods import CONTAINERS
from dra_simulator.check.supply import Supply, Types
from dra_simulator.complete import World

OF_ROOM = frozenset({"ResourceNotServed", "InsufficientResource"})


class Fitting:
    """The nodes of an input with all of their devices free, and those that could be made.

    What they serve is remembered: many want the same.
    """

    __slots__ = ("_classes", "_features", "_index", "_ledger", "_nodes", "_places", "_pools", "_served", "_supply")

    def __init__(self, world: World, index: ClassIndex, features: Features, supply: Supply) -> None:
        self._index = index
        self._classes = index.classes
        self._features = features
        self._ledger = Ledger()
        self._pools = PoolIndex(features)
        slices = world.of(ResourceSlice)
        for value in slices:
            self._pools.apply(value)
        for rule in world.of(DeviceTaintRule):
            self._pools.apply_rule(rule)
        self._places = tuple(_places(world.of(Node), slices)) if slices else ()
        self._nodes = {node.name: in_base_units(node.status.allocatable.items()) for node in world.of(Node)}
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
        query = ClaimQuery((parsed,))
        claim = ResourceClaim(metadata=ObjectMeta(name=name, uid=name), spec=spec)
        against = _against(
            (self._by_devices(query, place) for place in self._places),
            ((one.pool, self._by_candidate(claim, name, one, one.table.everything)) for one in self._offers()),
        )
        if against:
            yield warning(path, f"is never served by the devices of the input, all of them free: {against}")
        else:
            self._served.add(content)

    def pod_remarks(self, pod: Pod) -> Remarks:
        """Yield why the extended resources of a pod could not be served even on an empty cluster."""
        shape = PodClass(pod, ResolvedClaims(), ())
        places = self._places or [NodePlace(name=name, labels={}) for name in self._nodes]
        against = _against(
            (self._by_node(shape, place) for place in places),
            ((one.pool, self._by_types(shape, one)) for one in self._offers()),
        )
        if against:
            yield warning(CONTAINERS, f"is never served by the devices of the input, all of them free: {against}")

    def _offers(self) -> Iterator[Types]:
        return (one for one in self._supply.tables() if one.table.everything)

    def _by_devices(self, query: ClaimQuery, place: NodePlace) -> Refusal | None:
        """Return why the node does not serve the claims; None where it does, or where nobody knows."""
        answer = survey(query, place, self._pools, self._ledger)
        return answer.refusal if isinstance(answer, Impossible) else None

    def _by_node(self, shape: PodClass, place: NodePlace) -> Refusal | None:
        """Return why the node does not serve the extended resources, by itself or by devices."""
        room = self._nodes.get(place.name, {})
        need = shape.need_on(frozenset(name for name in shape.extended if room.get(name, 0) > 0), self._index)
        if isinstance(need, Refusal):
            return need
        for name in sorted(shape.extended):
            if need.node.get(name) > room.get(name, 0):
                return insufficient(name, need.node.get(name), room.get(name, 0), ClusterEvent.NODE)
        # Without any slice nobody knows what drivers publish.
        return self._by_devices(need.query, place) if need.query is not None and self._places else None

    def _by_types(self, shape: PodClass, types: Types) -> Refusal | None:
        """Return why no type of a NodePool serves the extended resources, by itself or by devices."""
        table, refusals = types.table, []
        for kind, members in table.by_offer(shape.extended):
            need = shape.need_on(kind, self._index)
            refusal = need if isinstance(need, Refusal) else self._by_kind(shape, need, types, members)
            if refusal is None:
                return None
            refusals.append(refusal)
        return max(refusals, key=lambda refusal: refusal.reason not in OF_ROOM)

    def _by_kind(self, shape: PodClass, need: ExtendedNeed, types: Types, members: int) -> Refusal | None:
        for name in sorted(shape.extended):
            wanted = need.node.get(name)
            fitting = members & types.table.most_room.fitting({name: wanted})
            if not fitting:
                return insufficient(name, wanted, types.table.most_room.most(name, members), ClusterEvent.NODE)
            members = fitting
        if need.query is None or need.special is None:
            return None
        special = special_of(shape.pod, need.special)
        return self._by_candidate(special, need.query.claims[-1].title, types, members)

    def _by_candidate(self, claim: ResourceClaim, name: Called, types: Types, members: int) -> Refusal | None:
        """Return why none of these types has devices for the claim; None where one has, or where nobody knows."""
        claims = PodClaims([claim], self._classes, self._features, {claim.key: name})
        allocator = TemplateAllocator(
            Published(self._pools, frozenset()), self._ledger, self._supply.cluster.inventory.bindings()
        )
        candidates = types.table.candidates(members)
        candidate = DeviceHost.of_node_claim(f"pool {types.pool}", types.requirements, candidates, types.pool)
        answer = allocator.allocate(claims, candidate, SearchBudget())
        return answer.refusal if isinstance(answer, Denied) else None


def _against(of_nodes: Iterable[Refusal | None], of_types: Iterable[tuple[str, Refusal | None]]) -> str:
    """Return why no node, be it one that could be made, serves what is asked; nothing where one does."""
    refusals = []
    for refusal in of_nodes:
        if refusal is None:
            return ""
        refusals.append(refusal)
    said = []
    for pool, refusal in of_types:
        if refusal is None:
            return ""
        said.append((RefusalSource(NODE_POOL, pool) if pool else RefusalSource("instance types"), refusal))
    nodes, types = fold(refusals), [one for refusal in told(said) for one in fold([refusal])]
    texts = [one_line(nodes, len(refusals))] if refusals else []
    return told_once("; ".join((*texts, *(one.message for one in types))), (*nodes, *types))


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
