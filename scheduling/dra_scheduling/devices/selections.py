"""Selectors over the devices of a slice: what is asked of a device, and what they select, as bits."""

from functools import lru_cache
from typing import NamedTuple

import msgspec

from dra_scheduling.devices.consumable_capacity import Amounts
from dra_scheduling.model.node_selectors import Toleration
from kube_cel import Program, compile_selector


class SelectorText(NamedTuple):
    """An expression and what people call it, for example `selector 1 of class gpu.example.com`."""

    origin: str
    expression: str


class Selection:
    """A conjunction of programs. One object stands for one content, so that answers are found by identity.

    A later program is asked only about the devices that the earlier ones selected.
    """

    __slots__ = ("origins", "programs")

    def __init__(self, texts: tuple[SelectorText, ...]) -> None:
        self.origins = tuple(text.origin for text in texts)
        self.programs: tuple[Program, ...] = tuple(compile_selector(text.expression) for text in texts)

    def may_select(self, driver: str) -> bool:
        """Whether some device of the driver could be selected, as far as the driver alone tells."""
        return all(program.may_match(driver) for program in self.programs)


@lru_cache(maxsize=4096)
def selection(texts: tuple[SelectorText, ...]) -> Selection:
    """Return the selection of these selectors; equal texts give the same object. Raises `CompileError`."""
    return Selection(texts)


class DeviceCriteria:
    """What makes a device suitable for a request: selectors, tolerated taints, amounts of capacity.

    One object stands for one content, so that answers are found by identity.
    """

    __slots__ = ("capacity", "selection", "tolerations")

    def __init__(self, selected: Selection, tolerations: tuple[Toleration, ...], capacity: Amounts) -> None:
        self.selection = selected
        self.tolerations = tolerations
        self.capacity = capacity


@lru_cache(maxsize=4096)
def wish(selected: Selection, tolerations: tuple[Toleration, ...] = (), capacity: Amounts = ()) -> DeviceCriteria:
    """Return the wish of this content; equal contents give the same object."""
    return DeviceCriteria(selected, tolerations, capacity)


class SelectorMasks(msgspec.Struct, frozen=True, kw_only=True):
    """Which devices a wish means (`matching`), and which of those may be handed out at all (`usable`).

    Not meant are devices on which a selector failed (`failed`) and selected ones that can never give the capacity asked
    for (`lacking`). `tainted` ones are meant, and not usable because a taint is not tolerated: one of `taints`.
    """

    matching: int
    usable: int
    failed: int = 0
    lacking: int = 0
    tainted: int = 0
    taints: tuple[str, ...] = ()

    @property
    def numbers(self) -> tuple[int, int, int, int, int, tuple[str, ...]]:
        """How many devices there are of each kind, and the taints."""
        return (
            self.matching.bit_count(),
            self.usable.bit_count(),
            self.failed.bit_count(),
            self.lacking.bit_count(),
            self.tainted.bit_count(),
            self.taints,
        )
