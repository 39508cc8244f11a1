"""One device of an allocation beside what asked for it and what it is."""

from typing import NamedTuple

from dra_oracle.published import Key, Spot
from dra_oracle.wishes import Wish
from dra_oracle.world import Json


class Fault(NamedTuple):
    """What is wrong with allocations: a word for programs and a sentence for people."""

    kind: str
    text: str


class Taken(NamedTuple):
    """One result with what it is of."""

    claim: int
    result: Json
    key: Key
    wish: Wish
    spot: Spot

    def __str__(self) -> str:
        """The device's full name."""
        return "/".join(self.key)


def plain_tolerations(value: list[Json] | None) -> list[Json]:
    """Tolerations with what the API server fills in."""
    return [{"operator": "Equal", **each} for each in value or ()]
