"""What a random world may contain, so that each feature can be switched off, and the dice that throw it."""

import random
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import TypeVar

T = TypeVar("T")


class Part(StrEnum):
    """One thing that a world may have beyond plain pools of one slice on the node and requests by class."""

    SEVERAL_SLICES = "several-slices"
    GENERATIONS = "generations"
    INCOMPLETE = "incomplete"
    DISAGREEING = "disagreeing"
    DUPLICATES = "duplicates"
    ELSEWHERE = "elsewhere"
    NODE_SELECTORS = "node-selectors"
    ALL_NODES = "all-nodes"
    PER_DEVICE = "per-device"
    BINDS_TO_NODE = "binds-to-node"
    SELECTORS = "selectors"
    RUNTIME_ERRORS = "runtime-errors"
    COMPILE_ERRORS = "compile-errors"
    MISSING_CLASSES = "missing-classes"
    ALL_MODE = "all-mode"
    LARGE_COUNTS = "large-counts"
    MATCH = "match-attribute"
    DISTINCT = "distinct-attribute"
    LISTS = "list-attributes"
    ALTERNATIVES = "first-available"
    COUNTERS = "counters"
    CAPACITY = "capacity"
    TAINTS = "taints"
    RULES = "taint-rules"
    ADMIN = "admin-access"
    BINDING = "binding-conditions"
    CONFIG = "config"
    HELD = "held"
    CROWDED = "crowded"
    """Many devices, most of them alike."""
    ZEROS = "zeros"
    COMPATIBILITY = "compatibility-groups"
    DERIVED = "derived-attributes"
    SWITCHES = "switches"
    """Stable features that are off."""


class Dice:
    """Random choices that depend on a seed alone."""

    __slots__ = ("parts", "random")

    def __init__(self, seed: int, parts: Collection[Part]) -> None:
        self.random = random.Random(seed)
        self.parts = frozenset(parts)

    def has(self, part: Part, chance: float) -> bool:
        """Whether something of this part comes in here; never where the part is switched off."""
        return self.random.random() < chance and part in self.parts

    def luck(self, chance: float) -> bool:
        """Whether something happens that belongs to no part."""
        return self.random.random() < chance

    def one_of(self, options: Sequence[T]) -> T:
        """One of these."""
        return self.random.choice(options)

    def some_of(self, options: Sequence[T], most: int) -> list[T]:
        """At least one and at most `most` of these, in their order."""
        count = self.random.randint(1, min(most, len(options)))
        chosen = set(self.random.sample(range(len(options)), count))
        return [option for number, option in enumerate(options) if number in chosen]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The same items in another order."""
        return self.random.sample(items, len(items))

    def count(self, weights: Sequence[int]) -> int:
        """A number from 0 on, weighted."""
        return self.random.choices(range(len(weights)), weights)[0]
