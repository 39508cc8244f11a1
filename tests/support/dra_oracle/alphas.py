"""The same question in other words, where alpha features of Kubernetes have peculiarities."""

from collections.abc import Iterator

import msgspec

from dra_oracle.check import Checked, all_of
from dra_oracle.published import Key, current_pieces, pool_key
from dra_oracle.rewriting import Reworded, for_nothing, matching_of, reworded, spelled_out
from dra_oracle.stock import held_keys
from dra_oracle.wishes import Wish, wishes_of
from dra_oracle.world import Json


def with_failing_derivations_passed_over(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
    """Nobody selects devices for which he cannot derive an attribute that a constraint compares.

    Requests for all devices that select one of them select nothing.
    """
    lost = {(wish.claim, wish.name): _underivable(checked, wish) for wish in wishes_of(checked.world)}
    if not any(lost.values()):
        return None

    def judged(wish: Wish) -> Json:
        without = lost[wish.claim, wish.name]
        fails = wish.wants_all and any(spot.place in without for spot in all_of(checked.choices, wish).values())
        return for_nothing(wish) if fails else wish.content

    matching = {where: places - lost[where] for where, places in matching_of(checked).items()}
    return Reworded(world=reworded(spelled_out(checked.world, matching), judged))


def with_contradicting_groups_closed(checked: Checked, _: tuple[Json, ...]) -> Reworded | None:
    """Whatever draws from a counter set whose devices in use have no group in common is taken."""
    held = held_keys(checked.world)
    groups: dict[tuple[str, str, str], list[frozenset[str]]] = {}
    for key, use in _uses(checked):
        if key in held:
            groups.setdefault((*key[:2], use["counterSet"]), []).append(frozenset(use.get("compatibilityGroups", ())))
    closed = {place for place, each in groups.items() if any(each) and not frozenset.intersection(*each)}
    lost = dict.fromkeys(
        key for key, use in _uses(checked) if key not in held and (*key[:2], use["counterSet"]) in closed
    )
    if not lost:
        return None
    taken = [{"request": "r", "driver": key[0], "pool": key[1], "device": key[2]} for key in lost]
    return Reworded(world=msgspec.structs.replace(checked.world, held=(*checked.world.held, *taken)))


def _underivable(checked: Checked, wish: Wish) -> set[tuple[int, int]]:
    """The selected devices without a value of an attribute that is derived of them and compared."""
    selected = matching_of(checked)[wish.claim, wish.name]
    derived = checked.choices.derived[wish.claim, wish.name]
    constraints = checked.world.claims[wish.claim]["spec"]["devices"].get("constraints", ())
    compared = {
        rule.get("matchAttribute") or rule["distinctAttribute"]
        for rule in constraints
        if not rule.get("requests") or {wish.request, wish.name} & set(rule["requests"])
    }
    return {place for name in compared & derived.keys() for place in selected if place not in derived[name]}


def _uses(checked: Checked) -> Iterator[tuple[Key, Json]]:
    for piece in (piece for pieces in current_pieces(checked.world).values() for _, piece in pieces):
        for device in piece["spec"].get("devices", ()):
            for use in device.get("consumesCounters", ()):
                yield (*pool_key(piece), device["name"]), use
