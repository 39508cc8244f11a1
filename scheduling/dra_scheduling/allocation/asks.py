"""The requests of a pod's claims as one list, what each may take on a node, and which could change places."""

from collections.abc import Sequence

import msgspec

from dra_scheduling.allocation.claimspecs import MatchRule, ParsedClaim, ParsedRequest
from dra_scheduling.allocation.search import NO_TWIN
from dra_scheduling.pools.selections import Selection

BlockKey = tuple[tuple[tuple[Selection, int], ...], tuple[tuple[str, tuple[int, ...]], ...]]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One request of one claim. `rules` are indexes into the rules of all claims, one claim after the other."""

    claim_index: int
    request_index: int
    claim: ParsedClaim
    request: ParsedRequest
    rules: tuple[int, ...]


def asks_of(claims: Sequence[ParsedClaim]) -> list[Ask]:
    """Return the requests in the order of a search: those for all devices first, since they have no choice."""
    asks, offset = [], 0
    for claim_index, claim in enumerate(claims):
        for request_index, request in enumerate(claim.requests):
            rules = tuple(offset + number for number, rule in enumerate(claim.rules) if request_index in rule.requests)
            asks.append(
                Ask(claim_index=claim_index, request_index=request_index, claim=claim, request=request, rules=rules)
            )
        offset += len(claim.rules)
    asks.sort(key=lambda ask: not ask.request.wants_all)
    return asks


def twins_of(asks: Sequence[Ask], rules: Sequence[MatchRule]) -> list[int]:
    """Return, for each request, the index of the nearest earlier one that it could change places with, or `NO_TWIN`.

    Requests tied together by rules form a block. Two blocks of the same shape can change places as a whole, so their
    first requests are twins; two requests of one block under the same rules can change places as they are.
    """
    twins = [NO_TWIN] * len(asks)
    nearest_block: dict[BlockKey, int] = {}
    for block in _blocks(asks):
        nearest: dict[tuple[Selection, int, tuple[int, ...]], int] = {}
        for index in block:
            ask = asks[index]
            key = (ask.request.selection, ask.request.wanted, ask.rules)
            twins[index] = nearest.get(key, NO_TWIN)
            nearest[key] = index
        shape = _shape(asks, block, rules)
        twins[block[0]] = nearest_block.get(shape, NO_TWIN)
        nearest_block[shape] = block[0]
    return twins


def _blocks(asks: Sequence[Ask]) -> list[list[int]]:
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


def _shape(asks: Sequence[Ask], block: list[int], rules: Sequence[MatchRule]) -> BlockKey:
    wishes = tuple((asks[index].request.selection, asks[index].request.wanted) for index in block)
    bound: dict[int, list[int]] = {}
    for position, index in enumerate(block):
        for rule in asks[index].rules:
            bound.setdefault(rule, []).append(position)
    return wishes, tuple((rules[rule].attribute, tuple(bound[rule])) for rule in sorted(bound))
