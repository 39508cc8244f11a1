"""A ResourceSlice with what is worked out about its devices once and for all of its life."""

from collections.abc import Iterator, Mapping

import msgspec

from dra_scheduling.cel import DeviceView, EvaluationError, Program
from dra_scheduling.model.ids import PoolKey
from dra_scheduling.model.nodeselection import NodeSelector, NodeSelectorTerm
from dra_scheduling.model.slices import Device, ResourceSlice
from dra_scheduling.pools.bits import members
from dra_scheduling.pools.features import UNSUPPORTED_NEEDS
from dra_scheduling.pools.views import device_view
from dra_scheduling.requirements import term_matches

MAX_KEPT_ANSWERS = 256
"""Answers are kept for this many programs a slice. Users write selectors, so their number has no bound of its own."""

DRIVER_ONLY = frozenset({("driver", "", "")})


class NodePlace(msgspec.Struct, frozen=True):
    """All that an allocation knows of a node."""

    name: str
    labels: dict[str, str]


class Reach(msgspec.Struct, frozen=True):
    """The nodes that something concerns: these, or possibly every node."""

    nodes: frozenset[str] = frozenset()
    is_everywhere: bool = False

    def __or__(self, other: "Reach") -> "Reach":
        if self.is_everywhere or other.is_everywhere:
            return EVERY_NODE
        return Reach(self.nodes | other.nodes)

    def concerns(self, node: str) -> bool:
        """Whether this node may be concerned."""
        return self.is_everywhere or node in self.nodes


NO_NODE = Reach()
EVERY_NODE = Reach(is_everywhere=True)


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where a device can be reached: on one node, on the nodes of a term, or (neither) on every node.

    `is_closed` marks a selector that is not exactly one term; such a device is reached from nowhere.
    """

    node: str = ""
    term: NodeSelectorTerm | None = None
    is_closed: bool = False

    @classmethod
    def of(cls, node_name: str, selector: NodeSelector | None) -> "Placement":
        """Return the placement that the node fields of a slice or a device describe."""
        if node_name:
            return cls(node=node_name)
        if selector is None:
            return cls()
        terms = selector.node_selector_terms
        return cls(term=terms[0]) if len(terms) == 1 else cls(is_closed=True)

    @property
    def reach(self) -> Reach:
        """The nodes that could reach the device, whatever labels they have."""
        if self.is_closed:
            return NO_NODE
        return Reach(frozenset((self.node,))) if self.node else EVERY_NODE

    def is_reached_from(self, place: NodePlace) -> bool:
        """Whether the node reaches the device."""
        if self.is_closed:
            return False
        if self.node:
            return self.node == place.name
        return self.term is None or term_matches(self.term, place.name, place.labels)


Placements = Placement | tuple[Placement, ...]
"""One for a whole slice, or one a device where the devices say it themselves."""

EVERY_DEVICE = -1


def reached_from(placements: Placements, place: NodePlace) -> int:
    """Return the devices that the node reaches; `EVERY_DEVICE` has every bit set, whatever their number."""
    if isinstance(placements, Placement):
        return EVERY_DEVICE if placements.is_reached_from(place) else 0
    mask = 0
    for number, placement in enumerate(placements):
        if placement.is_reached_from(place):
            mask |= 1 << number
    return mask


class Piece:
    """A slice. Masks number its devices from bit 0 on, in the order in which the slice lists them."""

    __slots__ = (
        "_answers",
        "content",
        "devices",
        "everything",
        "key",
        "name",
        "needs",
        "pinned",
        "placements",
        "reach",
        "unusable",
    )

    def __init__(self, content: ResourceSlice) -> None:
        spec = content.spec
        self.content = content
        self.name = content.metadata.name
        self.key = PoolKey(spec.driver, spec.pool.name)
        self.devices = spec.devices
        self.everything = (1 << len(spec.devices)) - 1
        self.placements = _placements(content)
        self.reach = _reach(self.placements)
        self.pinned = _pinned(spec.devices, self.placements)
        self.needs = _needs(spec.devices)
        self.unusable = 0
        for mask in self.needs.values():
            self.unusable |= mask
        self._answers: dict[Program, list[int]] = {}

    def visible_on(self, place: NodePlace) -> int:
        """Return the devices that the node reaches."""
        return reached_from(self.placements, place) & self.everything

    def placement(self, number: int) -> Placement:
        """Return where the device can be reached."""
        return self.placements if isinstance(self.placements, Placement) else self.placements[number]

    def judge(self, program: Program, asked: int) -> tuple[int, int]:
        """Return which of the asked devices the program selects, and on which it fails.

        Every device is evaluated at most once a program, and only when somebody asks for it.
        """
        answer = self._answers.get(program)
        if answer is None:
            if len(self._answers) >= MAX_KEPT_ANSWERS:
                self._answers.clear()
            answer = self._answers[program] = [0, 0, 0]
        unknown = asked & ~answer[0]
        if unknown:
            self._evaluate(program, unknown, answer)
        return answer[1] & asked, answer[2] & asked

    def error_text(self, program: Program, number: int) -> str:
        """Return why the program fails on the device; empty if it does not."""
        try:
            program.evaluate(device_view(self.key.driver, self.devices[number]))
        except EvaluationError as error:
            return str(error)
        return ""

    def _evaluate(self, program: Program, unknown: int, answer: list[int]) -> None:
        for devices, view in self._told_apart(program, unknown):
            try:
                if program.evaluate(view):
                    answer[1] |= devices
            except EvaluationError:
                answer[2] |= devices
        answer[0] |= unknown

    def _told_apart(self, program: Program, devices: int) -> Iterator[tuple[int, DeviceView]]:
        """Yield sets of devices that are all the same to the program, each as the program sees it.

        Views are not kept: they are built faster than they are worth in memory, the answers being kept.
        """
        if program.reads is not None and program.reads <= DRIVER_ONLY:
            yield devices, DeviceView.of_driver(self.key.driver)
            return
        for number in members(devices):
            yield 1 << number, device_view(self.key.driver, self.devices[number])


def _placements(content: ResourceSlice) -> Placements:
    """Return one placement for the whole slice, or one a device where the devices say it themselves."""
    spec = content.spec
    if spec.per_device_node_selection:
        return tuple(
            Placement.of(device.node_name, device.node_selector)
            if device.node_name or device.node_selector or device.all_nodes
            else Placement(is_closed=True)
            for device in spec.devices
        )
    return Placement.of(spec.node_name, spec.node_selector)


def _reach(placements: Placements) -> Reach:
    if isinstance(placements, Placement):
        return placements.reach
    union = NO_NODE
    for placement in set(placements):
        union |= placement.reach
    return union


def _pinned(devices: tuple[Device, ...], placements: Placements) -> int:
    """Return the devices that tie an allocation to one node."""
    mask = 0
    for number, device in enumerate(devices):
        placement = placements if isinstance(placements, Placement) else placements[number]
        if placement.node or device.binds_to_node:
            mask |= 1 << number
    return mask


def _needs(devices: tuple[Device, ...]) -> Mapping[str, int]:
    """Return, for every feature that is not offered, the devices that need it; features nobody needs are left out."""
    found: dict[str, int] = {}
    for need in UNSUPPORTED_NEEDS:
        mask = 0
        for number, device in enumerate(devices):
            if need.is_needed_by(device):
                mask |= 1 << number
        if mask:
            found[need.name] = mask
    return found
