"""How asking a node for devices can end."""

import msgspec

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.model.claims import AllocationResult


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """Devices can be had: the alternative and the devices (as bits) of every request, claim after claim.

    `free_left` is the number of devices that the claims could also have had and that stay free: the smaller, the fuller
    the node. `score` is what the alternatives are worth, the higher the better. `steps` is the number of devices that
    the search tried.
    """

    choice: tuple[int, ...]
    picks: tuple[int, ...]
    steps: int
    free_left: int
    score: int = 0


class Allocated(msgspec.Struct, frozen=True, kw_only=True):
    """One allocation a claim, in the order of the claims; the figures are those of `Chosen`.

    A result with a share of a device has an empty `shareID`, which `with_share_ids` fills in once the claim's identity
    is known.
    """

    allocations: tuple[AllocationResult, ...]
    steps: int
    free_left: int
    score: int = 0


class Impossible(msgspec.Struct, frozen=True, kw_only=True):
    """The node cannot serve the claims; the refusal is the proof."""

    refusal: Refusal
    steps: int


class Exhausted(msgspec.Struct, frozen=True, kw_only=True):
    """The budget ended before the search knew, or with `is_late` the time did."""

    refusal: Refusal
    steps: int
    is_late: bool = False


Answer = Chosen | Impossible | Exhausted
