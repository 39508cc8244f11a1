"""Where devices for one candidate are looked for: the published pools, and the places that tell them apart."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from dra_scheduling.allocation.query import Query
from dra_scheduling.candidates.published import Published, Spot, Term, narrowed
from dra_scheduling.candidates.serving import Place, required_by
from dra_scheduling.candidates.topologies import Topology, topologies
from dra_scheduling.candidates.values import Candidate
from dra_scheduling.pools import NodePool
from dra_scheduling.pools.selections import Wish
from dra_scheduling.requirements import Requirement, Requirements


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """The published devices that a NodeClaim with these requirements could reach from somewhere."""

    requirements: Requirements
    spots: tuple[Spot, ...]

    def within(self, requirements: Requirements) -> "Reached":
        """Return what is left under narrower requirements."""
        return Reached(requirements=requirements, spots=narrowed(self.spots, requirements))

    def covers(self, requirements: Requirements) -> bool:
        """Whether nothing beyond this is reached with such requirements."""
        return requirements.is_within(self.requirements.by_key.values())


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One place, and the pools that are reached from all of it. `holding` tells places apart by what is reached."""

    place: Place
    pools: tuple[NodePool, ...]
    holding: int = 0


class Stages(msgspec.Struct, frozen=True, kw_only=True):
    """The places to look at, the one that reaches most first.

    With `is_independent` more devices can only help, so that a place from which less is reached may be passed over.
    """

    stages: tuple[Stage, ...]
    is_independent: bool = True


def stages_of_node(candidate: Candidate, published: Published) -> Stages:
    """Return the one place of a node that exists."""
    pools: tuple[NodePool, ...] = ()
    if candidate.node is not None:
        pools = published.on_node(candidate.node, candidate.types[0].devices.drivers)
    return Stages(stages=(Stage(place=Place(box=candidate.requirements), pools=pools),))


def stages_of(reached: Reached, query: Query, published: Published) -> Stages:
    """Return the places of a NodeClaim. Raises `TooManyTopologiesError`."""
    pools = published.lay(reached.spots)
    wanted = _terms(pools, query.wishes)
    deciding = _deciding(pools, query)
    decided = {requirement for requirements in deciding.values() for requirement in requirements}
    keys = {wish: frozenset(one.key for one in requirements) for wish, requirements in deciding.items()}
    stages = tuple(
        Stage(
            place=Place(box=topology.box, deciding=keys),
            pools=published.lay(_visible(reached.spots, topology)),
            holding=topology.holding,
        )
        for topology in topologies(reached.requirements, wanted, decided)
    )
    return Stages(stages=stages, is_independent=not deciding)


def _visible(spots: Iterable[Spot], topology: Topology) -> Iterator[Spot]:
    """Yield the spots that are reached from everywhere in the box."""
    verdicts: dict[Term, bool] = {}
    for spot in spots:
        is_seen = verdicts.get(spot.term)
        if is_seen is None:
            is_seen = verdicts[spot.term] = topology.box.is_within(spot.term)
        if is_seen:
            yield spot


def _terms(pools: Sequence[NodePool], wishes: Iterable[Wish]) -> list[Term]:
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


def _deciding(pools: Sequence[NodePool], query: Query) -> dict[Wish, frozenset[Requirement]]:
    """Return, for wishes that want all devices, what tells whether a device is one of them."""
    wants_all = {
        ask.alternative.wish for alternatives in query.asks for ask in alternatives if ask.alternative.wants_all
    }
    found = {
        wish: frozenset(requirement for pool in pools for requirement in required_by(pool, pool.verdict(wish).matching))
        for wish in wants_all
    }
    return {wish: requirements for wish, requirements in found.items() if requirements}
