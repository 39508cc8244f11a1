"""Where devices for one candidate are looked for: the published pools, and the places that tell them apart."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from dra_scheduling.allocation.claim_query import ClaimQuery
from dra_scheduling.basics.requirements import Requirement, Requirements
from dra_scheduling.devices import PoolOnNode
from dra_scheduling.devices.selections import DeviceCriteria
from dra_scheduling.template_devices.device_host import DeviceHost
from dra_scheduling.template_devices.published_devices import Published, ReachableDevices, Term, narrowed
from dra_scheduling.template_devices.reach_boxes import ReachBox, topologies
from dra_scheduling.template_devices.served_claims import Place, required_by


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """The published devices that a NodeClaim with these requirements could reach from somewhere."""

    requirements: Requirements
    spots: tuple[ReachableDevices, ...]

    def within(self, requirements: Requirements) -> "Reached":
        """Return what is left under narrower requirements."""
        return Reached(requirements=requirements, spots=narrowed(self.spots, requirements))

    def covers(self, requirements: Requirements) -> bool:
        """Whether nothing beyond this is reached with such requirements."""
        return requirements.is_within(self.requirements.by_key.values())


class ReachDomain(msgspec.Struct, frozen=True, kw_only=True):
    """One place, and the pools that are reached from all of it. `holding` tells places apart by what is reached."""

    place: Place
    pools: tuple[PoolOnNode, ...]
    holding: int = 0


class ReachDomains(msgspec.Struct, frozen=True, kw_only=True):
    """The places to look at, the one that reaches most first.

    With `is_independent` more devices can only help, so that a place from which less is reached may be passed over.
    """

    stages: tuple[ReachDomain, ...]
    is_independent: bool = True


def stages_of_node(candidate: DeviceHost, published: Published) -> ReachDomains:
    """Return the one place of a node that exists."""
    pools: tuple[PoolOnNode, ...] = ()
    if candidate.node is not None:
        pools = published.on_node(candidate.node, candidate.types[0].devices.drivers)
    return ReachDomains(stages=(ReachDomain(place=Place(box=candidate.requirements), pools=pools),))


def stages_of(reached: Reached, query: ClaimQuery, published: Published) -> ReachDomains:
    """Return the places of a NodeClaim. Raises `TooManyTopologiesError`."""
    pools = published.lay(reached.spots)
    wanted = _terms(pools, query.wishes)
    deciding = _deciding(pools, query)
    decided = {requirement for requirements in deciding.values() for requirement in requirements}
    keys = {wish: frozenset(one.key for one in requirements) for wish, requirements in deciding.items()}
    stages = tuple(
        ReachDomain(
            place=Place(box=topology.box, deciding=keys),
            pools=published.lay(_visible(reached.spots, topology)),
            holding=topology.holding,
        )
        for topology in topologies(reached.requirements, wanted, decided)
    )
    return ReachDomains(stages=stages, is_independent=not deciding)


def _visible(spots: Iterable[ReachableDevices], topology: ReachBox) -> Iterator[ReachableDevices]:
    """Yield the spots that are reached from everywhere in the box."""
    verdicts: dict[Term, bool] = {}
    for spot in spots:
        is_seen = verdicts.get(spot.term)
        if is_seen is None:
            is_seen = verdicts[spot.term] = topology.box.is_within(spot.term)
        if is_seen:
            yield spot


def _terms(pools: Sequence[PoolOnNode], wishes: Iterable[DeviceCriteria]) -> list[Term]:
    """Return the different terms of all devices that any of the wishes means."""
    found: dict[Term, None] = {}
    wanted = tuple(wishes)
    for pool in pools:
        mask = 0
        for wish in wanted:
            mask |= pool.verdict(wish).matching
        while mask:
            bit = mask & -mask
            mask ^= bit
            term = tuple(required_by(pool, bit))
            if term:
                found[term] = None
    return list(found)


def _deciding(pools: Sequence[PoolOnNode], query: ClaimQuery) -> dict[DeviceCriteria, frozenset[Requirement]]:
    """Return, for wishes that want all devices, what tells whether a device is one of them."""
    wants_all = {
        ask.alternative.wish for alternatives in query.asks for ask in alternatives if ask.alternative.wants_all
    }
    found = {
        wish: frozenset(requirement for pool in pools for requirement in required_by(pool, pool.verdict(wish).matching))
        for wish in wants_all
    }
    return {wish: requirements for wish, requirements in found.items() if requirements}
