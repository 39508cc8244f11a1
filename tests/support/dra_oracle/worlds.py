"""Random worlds, each from a seed and the parts that it may have."""

import random
from collections.abc import Collection

from dra_oracle import asking, publishing
from dra_oracle.parts import Dice, Part
from dra_oracle.world import STABLE_FEATURES, World

ALPHA = {
    Part.LISTS: "ListTypeAttributes",
    Part.COMPATIBILITY: "CompatibilityGroups",
    Part.DERIVED: "DerivedAttributes",
}
SWITCHED = STABLE_FEATURES


def random_world(seed: int, parts: Collection[Part]) -> World:
    """The world of this seed. It may have about half of the parts, so that they meet in ever new company."""
    draw = random.Random(seed)
    dice = Dice(seed, [part for part in Part if draw.random() < 0.5 and part in parts])
    slices = publishing.slices(dice)
    return World(
        node={
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": publishing.NODE, "labels": {**publishing.LABELS}},
        },
        slices=tuple(slices),
        classes=tuple(asking.classes(dice)),
        claims=tuple(asking.claims(dice)),
        held=tuple(asking.held(dice, slices)),
        rules=tuple(publishing.rules(dice, slices)),
        features=_features(dice),
    )


def _features(dice: Dice) -> tuple[str, ...]:
    features = [*STABLE_FEATURES, *(name for part, name in ALPHA.items() if part in dice.parts and dice.luck(0.7))]
    if not dice.has(Part.SWITCHES, 0.3):
        return tuple(features)
    off = dice.some_of(SWITCHED, 2)
    return tuple(name for name in features if name not in off)
