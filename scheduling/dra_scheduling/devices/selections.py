"""What one request looks for in a device, as one object that answers can be kept under."""

from functools import lru_cache
from typing import NamedTuple

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
