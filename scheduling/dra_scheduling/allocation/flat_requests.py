"""The requests of a pod's claims as one list, with all that is the same for every node worked out once."""

from collections.abc import Sequence

import msgspec

from dra_scheduling.allocation.claim_requests import (
    Alternative,
    ConstraintKind,
    ConstraintRule,
    ParsedClaim,
    ParsedRequest,
)
from dra_scheduling.allocation.search import NO_TWIN, NORMAL
from dra_scheduling.devices.attributes import AttributeSource
from dra_scheduling.devices.selections import DeviceCriteria

WishKey = tuple[DeviceCriteria, int, int, tuple[AttributeSource, ...], int]
BlockKey = tuple[tuple[WishKey, ...], tuple[tuple[ConstraintKind, str, tuple[int, ...]], ...]]


class FlatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One alternative of one request of one claim.

    `rules` are indexes into the rules of all claims, one claim after the other; `sources` say where each of them finds
    the values of the devices. `place` is that of the request among the requests of all claims.
    """

    place: int
    claim_index: int
    request_index: int
    claim: ParsedClaim
    request: ParsedRequest
    alternative: Alternative
    rules: tuple[int, ...]
    sources: tuple[AttributeSource, ...]

    @property
    def space(self) -> int:
        """What the devices are taken from: what is free for all, or for admin access whatever the claim has not yet."""
        return self.claim_index if self.alternative.is_admin else NORMAL

    @property
    def key(self) -> WishKey:
        """What makes two asks the same but for their rules."""
        return self.alternative.wish, self.alternative.wanted, self.space, self.sources, self._exclusion

    @property
    def _exclusion(self) -> int:
        """The claim, where its requests for admin access keep devices from its normal ones, else the same for all."""
        return self.claim_index if self.claim.has_admin_access else NORMAL


class RequestFrame(msgspec.Struct, frozen=True, kw_only=True):
    """One alternative a request, in the order of a search, with what follows from that choice on every node.

    `twins` are the nearest earlier asks that could change places, `bound` the asks under each rule, all by index.
    """

    asks: tuple[FlatRequest, ...]
    twins: tuple[int, ...]
    bound: tuple[tuple[int, ...], ...]


def asks_of(claims: Sequence[ParsedClaim]) -> tuple[tuple[FlatRequest, ...], ...]:
    """Return the alternatives of every request, claim after claim."""
    asks: list[tuple[FlatRequest, ...]] = []
    offset = 0
    for claim_index, claim in enumerate(claims):
        for request_index, request in enumerate(claim.requests):
            alternatives = []
            for position, alternative in enumerate(request.alternatives):
                rules = [
                    (offset + number, alternative.source_of(rule.attribute))
                    for number, rule in enumerate(claim.rules)
                    if (request_index, position) in rule.scope
                ]
                ask = FlatRequest(
                    place=len(asks),
                    claim_index=claim_index,
                    request_index=request_index,
                    claim=claim,
                    request=request,
                    alternative=alternative,
                    rules=tuple(number for number, _ in rules),
                    sources=tuple(source for _, source in rules),
                )
                alternatives.append(ask)
            asks.append(tuple(alternatives))
        offset += len(claim.rules)
    return tuple(asks)


def frame_of(chosen: Sequence[FlatRequest], rules: Sequence[ConstraintRule]) -> RequestFrame:
    """Return the frame of a choice; requests for all devices are served first, since they have no choice."""
    asks = tuple(sorted(chosen, key=lambda ask: not ask.alternative.wants_all))
    bound = tuple(tuple(index for index, ask in enumerate(asks) if number in ask.rules) for number in range(len(rules)))
    return RequestFrame(asks=asks, twins=tuple(twins_of(asks, rules)), bound=bound)


def twins_of(asks: Sequence[FlatRequest], rules: Sequence[ConstraintRule]) -> list[int]:
    """Return, for each request, the index of the nearest earlier one that it could change places with, or `NO_TWIN`.

    Requests tied together by rules form a block. Two blocks of the same shape can change places as a whole, so their
    first requests are twins; two requests of one block under the same rules can change places as they are.
    """
    twins = [NO_TWIN] * len(asks)
    nearest_block: dict[BlockKey, int] = {}
    for block in _blocks(asks):
        nearest: dict[tuple[WishKey, tuple[int, ...]], int] = {}
        for index in block:
            key = (asks[index].key, asks[index].rules)
            twins[index] = nearest.get(key, NO_TWIN)
            nearest[key] = index
        shape = _shape(asks, block, rules)
        twins[block[0]] = nearest_block.get(shape, NO_TWIN)
        nearest_block[shape] = block[0]
    return twins


def _blocks(asks: Sequence[FlatRequest]) -> list[list[int]]:
    """Return the indexes of requests that rules tie together, directly or through others; blocks by first member."""
    blocks: list[list[int]] = []
    rules_of: list[set[int]] = []
    for index, ask in enumerate(asks):
        joined, rules = [index], set(ask.rules)
        for position in reversed(range(len(blocks))):
            if rules_of[position] & rules:
                joined = blocks.pop(position) + joined
                rules |= rules_of.pop(position)
        blocks.append(sorted(joined))
        rules_of.append(rules)
    return sorted(blocks)


def _shape(asks: Sequence[FlatRequest], block: list[int], rules: Sequence[ConstraintRule]) -> BlockKey:
    bound: dict[int, list[int]] = {}
    for position, index in enumerate(block):
        for rule in asks[index].rules:
            bound.setdefault(rule, []).append(position)
    return (
        tuple(asks[index].key for index in block),
        tuple((rules[rule].kind, rules[rule].attribute, tuple(bound[rule])) for rule in sorted(bound)),
    )
