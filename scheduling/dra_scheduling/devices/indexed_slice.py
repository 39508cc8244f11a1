"""A ResourceSlice with what is worked out about its devices once and for all of its life."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from dra_scheduling.basics.features import (
    BINDING_CONDITIONS,
    COMPATIBILITY_GROUPS,
    DEVICE_TAINTS,
    PARTITIONABLE_DEVICES,
    Features,
)
from dra_scheduling.basics.requirements import term_matches
from dra_scheduling.devices.cel_views import Views, device_view
from dra_scheduling.devices.compatibility_groups import Memberships, memberships_of
from dra_scheduling.devices.evaluation_budget import EvaluationBudget
from dra_scheduling.devices.ledger import Charge
from dra_scheduling.devices.partitionable_devices import charge_of
from dra_scheduling.devices.required_features import unmet_needs
from dra_scheduling.model.device_taint_rules import DeviceTaintRule
from dra_scheduling.model.ids import DeviceID, PoolKey
from dra_scheduling.model.node_selectors import NodeSelector, NodeSelectorTerm, Taint, Toleration
from dra_scheduling.model.slices import Device, ResourceSlice
from kube_cel import EvaluationError, Program, error_text

BLOCKING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
"""A device with such a taint is for those who tolerate it; other effects, unknown ones too, mean nothing here."""
NOTHING_KNOWN = (0, 0, 0)
MAX_KEPT_ANSWERS = 256
"""Answers are kept for this many programs a slice. Users write selectors, so their number has no bound of its own."""


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


class DevicePlacement(msgspec.Struct, frozen=True, kw_only=True):
    """Where a device can be reached: on one node, on the nodes of a term, or (neither) on every node.

    `is_closed` marks a selector that is not exactly one term; such a device is reached from nowhere.
    """

    node: str = ""
    term: NodeSelectorTerm | None = None
    is_closed: bool = False

    @classmethod
    def of(cls, node_name: str, selector: NodeSelector | None) -> "DevicePlacement":
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


Placements = DevicePlacement | tuple[DevicePlacement, ...]
"""One for a whole slice, or one a device where the devices say it themselves."""

EVERY_DEVICE = -1


def reached_from(placements: Placements, place: NodePlace) -> int:
    """Return the devices that the node reaches; `EVERY_DEVICE` has every bit set, whatever their number."""
    if isinstance(placements, DevicePlacement):
        return EVERY_DEVICE if placements.is_reached_from(place) else 0
    mask = 0
    for number, placement in enumerate(placements):
        if placement.is_reached_from(place):
            mask |= 1 << number
    return mask


class SliceTaints(NamedTuple):
    """A taint of a device, and the DeviceTaintRule that it comes from; an empty name where the slice says so."""

    taint: Taint
    rule: str = ""

    def __str__(self) -> str:
        key, value, effect = self.taint.key, self.taint.value, self.taint.effect
        text = f"{key}={value}:{effect}" if value else f"{key}:{effect}"
        return f"{text} of DeviceTaintRule {self.rule}" if self.rule else text


class IndexedSlice:
    """A slice. Masks number its devices from bit 0 on, in the order in which the slice lists them."""

    __slots__ = (
        "_answers",
        "_features",
        "charges",
        "content",
        "devices",
        "everything",
        "has_conditions",
        "key",
        "memberships",
        "name",
        "needs",
        "pinned",
        "placements",
        "reach",
        "shareable",
        "taints",
        "takes_of_node",
        "unusable",
    )

    def __init__(self, content: ResourceSlice, features: Features, rules: Iterable[DeviceTaintRule] = ()) -> None:
        spec = content.spec
        self._features = features
        self.content = content
        self.name = content.metadata.name
        self.key = PoolKey(spec.driver, spec.pool.name)
        self.devices = spec.devices
        self.everything = (1 << len(spec.devices)) - 1
        self.placements = _placements(content, features)
        self.reach = _reach(self.placements)
        self.pinned = _pinned(spec.devices, self.placements)
        self.shareable = _mask_of([device.allow_multiple_allocations for device in spec.devices])
        self.has_conditions = features.has(BINDING_CONDITIONS) and any(
            device.binding_conditions or device.binding_failure_conditions for device in spec.devices
        )
        self.charges: tuple[Charge, ...] = ()
        self.memberships: tuple[Memberships, ...] = ()
        if any(device.consumes_counters for device in spec.devices):
            self.charges = tuple(charge_of(device) for device in spec.devices)
            if features.has(COMPATIBILITY_GROUPS):
                self.memberships = tuple(memberships_of(device) for device in spec.devices)
        self.takes_of_node = any(device.node_allocatable_resources for device in spec.devices)
        self.needs = unmet_needs(spec.devices, features)
        self.unusable = 0
        for mask in self.needs.values():
            self.unusable |= mask
        self.taints: dict[int, tuple[SliceTaints, ...]] = {}
        self.follow(rules)
        self._answers: dict[Program, tuple[int, int, int]] = {}

    def follow(self, rules: Iterable[DeviceTaintRule]) -> None:
        """Let the devices have their own taints and those of the rules that select them, and no others."""
        self.taints = {}
        if not self._features.has(DEVICE_TAINTS):
            return
        mine = [rule for rule in rules if self.is_selected_by(rule)]
        for number, device in enumerate(self.devices):
            taints = [SliceTaints(taint) for taint in device.taints]
            if mine:
                id_ = DeviceID(*self.key, device.name)
                taints += [SliceTaints(rule.spec.taint, rule.metadata.name) for rule in mine if _selects(rule, id_)]
            blocking = tuple(one for one in taints if one.taint.effect in BLOCKING_EFFECTS)
            if blocking:
                self.taints[number] = blocking

    def is_selected_by(self, rule: DeviceTaintRule) -> bool:
        """Whether the rule may taint devices of the pool."""
        selector, pool = rule.spec.device_selector, self.key
        return selector is not None and selector.driver in {None, pool.driver} and selector.pool in {None, pool.pool}

    def closed_to(self, tolerations: tuple[Toleration, ...]) -> dict[SliceTaints, int]:
        """Return the taints that none of the tolerations covers, with the devices that have them."""
        found: dict[SliceTaints, int] = {}
        for number, taints in self.taints.items():
            for one in taints:
                if not any(toleration.tolerates(one.taint) for toleration in tolerations):
                    found[one] = found.get(one, 0) | 1 << number
        return found

    def visible_on(self, place: NodePlace) -> int:
        """Return the devices that the node reaches."""
        return reached_from(self.placements, place) & self.everything

    def placement(self, number: int) -> DevicePlacement:
        """Return where the device can be reached."""
        return self.placements if isinstance(self.placements, DevicePlacement) else self.placements[number]

    def judge(self, program: Program, asked: int) -> tuple[int, int]:
        """Return which of the asked devices the program selects, and on which it fails.

        Every device is evaluated at most once a program, and only when somebody asks for it.
        """
        known, selected, failed = self._answers.get(program, NOTHING_KNOWN)
        if asked & ~known:
            selected, failed = self.learn(program, asked, self.views(), EvaluationBudget())
        return selected & asked, failed & asked

    def learn(self, program: Program, asked: int, views: Views, pace: EvaluationBudget) -> tuple[int, int]:
        """Evaluate the program on the asked devices as far as time allows.

        Returns all devices that are known to be selected, and all on which the program is known to fail.
        """
        known, selected, failed = self._answers.get(program, NOTHING_KNOWN)
        unknown = asked & ~known
        if not unknown:
            return selected, failed
        for devices, view in views.told_apart(program.reads, unknown):
            if pace.is_over(program.cost):
                break
            known |= devices
            try:
                if program.evaluate(view):
                    selected |= devices
            except EvaluationError:
                failed |= devices
        if len(self._answers) >= MAX_KEPT_ANSWERS:
            self._answers.clear()
        # One assignment: searches that run side by side may evaluate the same device, but none loses an answer.
        self._answers[program] = (known, selected, failed)
        return selected, failed

    def views(self) -> Views:
        """Return the devices to put several programs to, one after the other."""
        return Views(self.key.driver, self.devices)

    def error_text(self, program: Program, number: int) -> str:
        """Return why the program fails on the device; empty if it does not."""
        view = device_view(self.key.driver, self.devices[number])
        try:
            program.evaluate(view)
        except EvaluationError as error:
            return error_text(error, view)
        return ""


def _placements(content: ResourceSlice, features: Features) -> Placements:
    """Return one placement for the whole slice, or one a device where the devices say it themselves."""
    spec = content.spec
    if spec.per_device_node_selection and not features.has(PARTITIONABLE_DEVICES):
        return DevicePlacement(is_closed=True)
    if spec.per_device_node_selection:
        return tuple(
            DevicePlacement.of(device.node_name, device.node_selector)
            if device.node_name or device.node_selector or device.all_nodes
            else DevicePlacement(is_closed=True)
            for device in spec.devices
        )
    return DevicePlacement.of(spec.node_name, spec.node_selector)


def _reach(placements: Placements) -> Reach:
    if isinstance(placements, DevicePlacement):
        return placements.reach
    union = NO_NODE
    for placement in set(placements):
        union |= placement.reach
    return union


def _pinned(devices: tuple[Device, ...], placements: Placements) -> int:
    """Return the devices that tie an allocation to one node."""
    mask = 0
    for number, device in enumerate(devices):
        placement = placements if isinstance(placements, DevicePlacement) else placements[number]
        if placement.node or device.binds_to_node:
            mask |= 1 << number
    return mask


def _mask_of(truths: Iterable[bool]) -> int:
    mask = 0
    for number, truth in enumerate(truths):
        mask |= truth << number
    return mask


def _selects(rule: DeviceTaintRule, device: DeviceID) -> bool:
    selector = rule.spec.device_selector
    return selector is not None and selector.selects(device)
