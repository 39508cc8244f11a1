"""A node that pods are planned for: one that is there, one being set up, or a NodeClaim that may become many types.

All four kinds of host are one class, so that all are asked the same questions in the same order: taints, requirements,
room, devices, and then everything again under what the devices require.
"""

from collections.abc import Mapping

import msgspec

from dra_scheduling.allocation.search_budget import SearchBudget
from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.basics.requirements import Requirements
from dra_scheduling.basics.resources import Resources
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.fit.node_resources_fit import insufficient
from dra_scheduling.fit.pod_class import ExtendedNeed
from dra_scheduling.fit.preferences import AVOIDING_EFFECT
from dra_scheduling.fit.taint_toleration import REFUSING_EFFECTS, taint_text, untolerated
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL
from dra_scheduling.inventory.machine_room import MachineRoom
from dra_scheduling.model.pods import Pod
from dra_scheduling.provisioning.daemonset_devices import Daemons, Reserved
from dra_scheduling.provisioning.host_refusals import ANY_CHANGE, FULL, TAKEN, conflict_refusal, host_refusal
from dra_scheduling.provisioning.host_spec import HostSpec, Origin
from dra_scheduling.provisioning.node_allocatable_resources import OfNode, Shares, beyond, plus
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.provisioning.pod_requirements import Variant
from dra_scheduling.state.host_ports import HostPort, daemon_port_refusal, port_refusal
from dra_scheduling.template_devices import Allotment, Denied, TemplateAllocator, UnfinishedSearch

MOST_NAMED = 3


class Effort:
    """What the plan has taken so far: how often hosts were asked about a pod, and the steps of searches for devices."""

    __slots__ = ("asked", "of_pod", "steps")

    def __init__(self) -> None:
        self.asked = 0
        self.steps = 0
        self.of_pod = 0
        """The steps for the pod that is being planned."""

    def spend(self, steps: int) -> None:
        """Count the steps of a search."""
        self.steps += steps
        self.of_pod += steps


class Market(msgspec.Struct, frozen=True, kw_only=True):
    """What all hosts of a plan have in common. `budget` is for all that is asked for one pod.

    `of_node` is there where devices may take of the nodes' own resources.
    """

    allocator: TemplateAllocator
    classes: ClassIndex
    daemons: Daemons
    of_node: OfNode | None = None
    budget: SearchBudget
    effort: Effort


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """What a host becomes if it takes the pod; nothing is reserved yet.

    `of_node` is what its devices take of each kind of machine beyond what the pod itself needs.
    """

    types: int
    requirements: Requirements
    need: ExtendedNeed
    allotment: Allotment | None = None
    of_node: Mapping[str, Mapping[str, int]] = {}


class PlannedNode:
    """A host with the pods planned for it. `types` are those of the table that it may still become, as bits."""

    __slots__ = (
        "_charged",
        "_daemons",
        "_denied",
        "_of_node",
        "devices_kept",
        "ground",
        "is_full",
        "is_plain",
        "pods",
        "ports",
        "requirements",
        "types",
        "used",
    )

    def __init__(self, ground: HostSpec, requirements: Requirements, types: int, used: Mapping[str, int]) -> None:
        self.ground = ground
        self.requirements = requirements
        self.types = types
        self.used = dict(used)
        self.ports: tuple[HostPort, ...] = ()
        self.pods: list[Pod] = []
        self.devices_kept = False
        self.is_full = False
        """Whether there is no room even for the smallest pod of the plan."""
        self._denied: set[tuple[bytes, ...]] = set()
        self.is_plain = not types & ~ground.table.plain
        """Whether it has no devices. Pods that need none go to such hosts first."""
        self._charged: dict[str, dict[str, int]] = {}
        self._daemons: Reserved | None = None
        self._of_node: dict[str, Mapping[str, int]] = {}

    def known_refusal(self, asked: PendingPod, market: Market) -> Refusal | None:
        """Return why the host cannot take the pod where that is known from others: nothing is ever taken back."""
        if self.is_full:
            return FULL
        return TAKEN if asked.content in self._denied and not _is_recorded(asked, market) else None

    def has_room_for(self, more: Mapping[str, int]) -> bool:
        """Whether some type has room for so much more."""
        return bool(self.types & self._fitting(more, self.ground.table.most_room))

    def not_for(self, asked: PendingPod, variant: Variant) -> Refusal | None:
        """Return why taints or labels keep the pod away, whatever the machines have."""
        found = self._tainted(asked.pod, variant) or self._narrowed(variant)
        return found if isinstance(found, Refusal) else None

    def consider(self, asked: PendingPod, variant: Variant, market: Market) -> Seat | Refusal:
        """Return what the host would become with the pod, or the first reason why it cannot take it."""
        market.effort.asked += 1
        refusal = self._tainted(asked.pod, variant) or port_refusal(asked.shape.ports, self.ports)
        if refusal is not None:
            return refusal
        requirements = self._narrowed(variant)
        if isinstance(requirements, Refusal):
            return requirements
        offered = self._offered(self.types, requirements)
        if not offered:
            return self._nothing_offered(variant)
        types = self._left_for(asked, offered, requirements)
        if isinstance(types, Refusal):
            return types
        if asked.shape.has_devices:
            types &= ~self._after_daemons(market).contested_within(requirements)
            if not types:
                return host_refusal("DaemonSetsContend", "its DaemonSets ask for more devices than there are")
        elif market.of_node is not None:
            self._after_daemons(market)
        return self._best_kind(asked, requirements, types, market)

    def is_narrowed_by(self, seat: Seat) -> bool:
        """Whether the seat rules out what a NodeClaim that is written already may still become."""
        if self.ground.origin not in {Origin.PLANNED, Origin.SETTING_UP} or self.ground.node is not None:
            return False
        is_settled = self.ground.table.is_settled(self.types, self.requirements, seat.requirements)
        return seat.types != self.types or not is_settled

    def take(self, asked: PendingPod, seat: Seat, market: Market) -> None:
        """Reserve what the seat says; types that left let go of their devices."""
        self.types = seat.types
        self.requirements = seat.requirements
        self.charge(asked, seat.need)
        self._add_of_node(seat.of_node)
        if seat.allotment is not None:
            market.allocator.commit(seat.allotment)
            self.devices_kept = True
        self._keep_devices(market)

    def narrow(self, types: int, requirements: Requirements, market: Market) -> bool:
        """Let the host be only these types under these requirements; return whether that leaves enough choice.

        Types that left let go of their devices.
        """
        self.requirements = requirements
        self.types &= types & self.ground.table.offered(requirements)
        self._keep_devices(market)
        return bool(self.types) and self._has_choice(self.types, requirements)

    def let_go(self, market: Market) -> None:
        """Reserve nothing any more: the host is not to be."""
        market.allocator.retain(self.ground.name, ())

    def charge(self, asked: PendingPod, need: ExtendedNeed) -> None:
        """Let the pod take its room, whatever devices it has."""
        for name, amount in need.node.items():
            self.used[name] = self.used.get(name, 0) + amount
        self._charged[asked.pod.metadata.uid] = need.node.amounts
        self.ports += asked.shape.ports
        self.pods.append(asked.pod)

    def uncharge(self, asked: PendingPod) -> None:
        """Give back what a pod that was charged took."""
        uid = asked.pod.metadata.uid
        for name, amount in self._charged.pop(uid, {}).items():
            self.used[name] -= amount
        ports = list(self.ports)
        for port in asked.shape.ports:
            ports.remove(port)
        self.ports = tuple(ports)
        self.pods = [pod for pod in self.pods if pod.metadata.uid != uid]

    def kind_of(self, names: frozenset[str]) -> frozenset[str]:
        """Return which of these resources its machines offer themselves; all of them agree once a pod is on it."""
        return next((offer for offer, mask in self.ground.table.by_offer(names) if mask & self.types), frozenset())

    def _keep_devices(self, market: Market) -> None:
        """Let go of the devices of types that left, and of those for DaemonSets where the host cannot be any more."""
        if self.devices_kept:
            market.allocator.retain(self.ground.name, self.ground.table.kin_names(self.types))
        if self.ground.node is None and self._daemons is not None and self._daemons.holders:
            market.allocator.confine(self.ground.name, self.requirements)

    def _after_daemons(self, market: Market) -> Reserved:
        """Let DaemonSets have their devices before any pod has; return what that came to."""
        if self._daemons is None:
            self._daemons = market.daemons.reserve(self.ground, self.requirements, self.types)
            market.effort.steps += self._daemons.steps
            self.devices_kept |= bool(self._daemons.holders)
            self._add_of_node(self._daemons.of_node)
        return self._daemons

    def _beside_daemons(self, refusal: Refusal, requirements: Requirements) -> Refusal:
        """Return the refusal of devices with who else has some: nobody sees them on a node that is not there."""
        holders = () if self._daemons is None else self._daemons.holders_within(requirements)
        if not holders or ClusterEvent.DEVICES not in refusal.wake:
            return refusal
        names = ", ".join(map(str, holders[:MOST_NAMED]))
        return msgspec.structs.replace(refusal, message=f"{refusal.message} besides those of DaemonSet {names}")

    def _add_of_node(self, more: Mapping[str, Mapping[str, int]]) -> None:
        for name, amounts in more.items():
            self._of_node[name] = plus(self._of_node.get(name, {}), amounts)

    def _tainted(self, pod: Pod, variant: Variant) -> Refusal | None:
        effects = REFUSING_EFFECTS | {AVOIDING_EFFECT} if variant.avoids else REFUSING_EFFECTS
        taint = next(untolerated(self.ground.taints, pod, effects), None)
        return None if taint is None else host_refusal("UntoleratedTaint", taint_text(taint))

    def _narrowed(self, variant: Variant) -> Requirements | Refusal:
        node = self.ground.node
        if node is not None:
            if variant.matches(node.name, node.labels):
                return self.requirements
            return host_refusal("NodeAffinityMismatch", "outside of the pod's node selector or affinity")
        if variant.requirements is None:
            return host_refusal("NodeAffinityMismatch", "the pod wants a node by its name, which a new one cannot have")
        wrong = self.requirements.conflict(variant.requirements)
        if wrong is not None:
            return conflict_refusal(wrong, self.requirements.of(wrong.key))
        return self.requirements.narrowed(variant.requirements)

    def _offered(self, types: int, requirements: Requirements) -> int:
        return types if self.ground.node is not None else types & self.ground.table.offered(requirements)

    def _nothing_offered(self, variant: Variant) -> Refusal:
        wanted = ", ".join(sorted(one.key for one in variant.requirements or ()))
        about = f" with what the pod requires of {wanted}" if wanted else ""
        return host_refusal("NoOffering", f"none of its instance types is available{about}")

    def _left_for(self, asked: PendingPod, offered: int, requirements: Requirements) -> int | Refusal:
        """Return the types that pods can rely on, and on which no DaemonSet has a host port that the pod wants."""
        types = self.ground.rests.left(offered, has_devices=asked.shape.has_devices)
        if isinstance(types, Refusal):
            return types
        refusal: Refusal | None = None
        for (port, daemon), machines in self.ground.table.holding_port(asked.shape.ports, requirements).items():
            if types & machines:
                refusal = refusal or daemon_port_refusal(port, daemon)
                types &= ~machines
        return refusal if refusal is not None and not types else types

    def _best_kind(self, asked: PendingPod, requirements: Requirements, types: int, market: Market) -> Seat | Refusal:
        """Return the cheapest seat on machines that serve extended resources in the same way: one pod never mixes."""
        table, refusals = self.ground.table, list[Refusal]()
        best: tuple[float, Seat] | None = None
        kinds = [(kind, members & types) for kind, members in table.by_offer(asked.shape.extended) if members & types]
        if len(kinds) > 1:
            kinds.sort(key=lambda one: table.cheapest(one[1], requirements))
        for kind, members in kinds:
            # The cheapest of a kind may not serve the pod: a kind is passed over only if all of it is dearer.
            if best is not None and table.cheapest(members, requirements) >= best[0]:
                break
            need = asked.shape.need_on(kind, market.classes)
            found = need if isinstance(need, Refusal) else self._seat(asked, need, requirements, members, market)
            if isinstance(found, Refusal):
                refusals.append(found)
            elif len(kinds) == 1:
                return found
            else:
                price = table.cheapest(found.types, found.requirements)
                best = (price, found) if best is None or price < best[0] else best
        if best is not None:
            return best[1]
        # The kind that comes nearest says most: one that was searched before one that lacks the resource.
        return max(refusals, key=lambda refusal: refusal.reason not in {"ResourceNotServed", "InsufficientResource"})

    def _seat(
        self, asked: PendingPod, need: ExtendedNeed, requirements: Requirements, types: int, market: Market
    ) -> Seat | Refusal:
        room = self.ground.table.room(requirements)
        fitting = types & self._fitting(need.node, room)
        if not fitting:
            return self._no_room(types, need.node, room)
        if not self._has_choice(fitting, requirements):
            return self._too_little_choice()
        claims = asked.claims(need)
        if claims is None:
            return Seat(types=fitting, requirements=requirements, need=need)
        budget = market.budget.after(market.effort.of_pod)
        answer = market.allocator.allocate(claims, self.ground.candidate(requirements, fitting), budget)
        market.effort.spend(answer.steps)
        if isinstance(answer, Denied | UnfinishedSearch):
            is_for_all = fitting == self.types and requirements == self.requirements
            if isinstance(answer, Denied) and is_for_all and asked.content and not _is_recorded(asked, market):
                self._denied.add(asked.content)
            return self._beside_daemons(answer.refusal, requirements)
        shares: Shares = {}
        if market.of_node is not None:
            shares = market.of_node.shares(asked, need, self.ground, fitting, answer)
        draft = Seat(types=fitting, requirements=requirements, need=need, allotment=answer)
        return self._again(draft, answer, shares)

    def _again(self, draft: Seat, answer: Allotment, shares: Shares) -> Seat | Refusal:
        """Filter all types again: devices may have taken away offerings by where they are, and room of their nodes."""
        requirements = draft.requirements
        if self.ground.node is None:
            requirements = requirements.narrowed(answer.requirements)
        left = self._offered(draft.types, requirements) & self.ground.table.with_devices_of(answer.types)
        if not left:
            text = "no instance type satisfies both scheduling and dynamic resource requirements"
            return host_refusal("NoInstanceType", text)
        refusals = [one for one in shares.values() if isinstance(one, Refusal)]
        left &= self._with_shares(shares, self.ground.table.room(requirements))
        if not left:
            text = "no instance type has room for all that the pod and its devices take"
            return refusals[0] if refusals else host_refusal("InsufficientResource", text)
        if not self._has_choice(left, requirements):
            return self._too_little_choice()
        preferred = left & self.ground.table.with_devices_of(_preferred(answer))
        if preferred and self.ground.origin is Origin.NEW and self._has_choice(preferred, requirements):
            left = preferred
        of_node = {name: beyond(share, draft.need) for name, share in shares.items() if not isinstance(share, Refusal)}
        return msgspec.structs.replace(draft, types=left, requirements=requirements, of_node=of_node)

    def _fitting(self, more: Resources | Mapping[str, int], room: MachineRoom) -> int:
        table, total = self.ground.table, plus(self.used, more)
        mask = room.fitting(total)
        for name, of_devices in self._of_node.items():
            mask &= ~table.with_devices_of((name,)) | room.fitting(plus(total, of_devices))
        return mask

    def _with_shares(self, shares: Shares, room: MachineRoom) -> int:
        """Return the machines that have room for a pod that takes so much of each kind with its devices."""
        table, mask = self.ground.table, self.ground.table.everything
        for name, share in shares.items():
            fitting = 0
            if not isinstance(share, Refusal):
                fitting = room.fitting(plus(plus(self.used, self._of_node.get(name, {})), share))
            mask &= ~table.with_devices_of((name,)) | fitting
        return mask

    def _no_room(self, types: int, need: Resources, room: MachineRoom) -> Refusal:
        for name, amount in need.items():
            used = self.used.get(name, 0)
            if not types & room.fitting({name: used + amount}):
                return insufficient(name, amount, room.most(name, types) - used, ANY_CHANGE | ClusterEvent.ROOM)
        return host_refusal("InsufficientResource", "no instance type has room for all that the pod requests")

    def _has_choice(self, types: int, requirements: Requirements) -> bool:
        table = self.ground.table
        return all(
            (types.bit_count() if key == INSTANCE_TYPE_LABEL else table.values_of(key, types, requirements)) >= least
            for key, least in self.ground.min_values
        )

    def _too_little_choice(self) -> Refusal:
        wanted = ", ".join(f"{least} of {key}" for key, least in self.ground.min_values)
        return host_refusal("MinValues", f"too few values would remain possible, minValues asks for {wanted}")


def _is_recorded(asked: PendingPod, market: Market) -> bool:
    return any(item.claim.key in market.allocator.records for item in asked.resolved.claims)


def _preferred(answer: Allotment) -> frozenset[str]:
    """Return the types that serve the pod with the best alternatives that any of them has."""
    best = min((one.choice for one in answer.served), default=())
    return frozenset(one.name for one in answer.served if one.choice == best) or frozenset(answer.types)
