"""Whether a host of a plan takes a pod, and what it would become with it.

All kinds of host are asked the same questions in the same order: taints, ports, requirements, room, devices, and then
everything again under what the devices require.
"""

from collections.abc import Mapping

import msgspec

from dra_scheduling.basics.reasons import ClusterEvent, Refusal, in_short
from dra_scheduling.basics.requirements import Requirements
from dra_scheduling.basics.resources import Resources
from dra_scheduling.fit.node_resources_fit import insufficient
from dra_scheduling.fit.pod_class import ExtendedNeed
from dra_scheduling.inventory.machine_room import MachineRoom
from dra_scheduling.provisioning.host_refusals import ANY_CHANGE, FULL, TAKEN, host_refusal
from dra_scheduling.provisioning.host_rules import avoided, narrowed, refused_by_rules
from dra_scheduling.provisioning.host_spec import Origin
from dra_scheduling.provisioning.node_allocatable_resources import Shares, beyond, plus
from dra_scheduling.provisioning.open_domains import in_open_domains
from dra_scheduling.provisioning.pending_pod import PendingPod
from dra_scheduling.provisioning.plan_context import PlanContext
from dra_scheduling.provisioning.planned_node import HostPlacement, PlannedNode
from dra_scheduling.provisioning.pod_requirements import Variant
from dra_scheduling.state.host_ports import daemon_port_refusal
from dra_scheduling.template_devices import Allotment, Denied, UnfinishedSearch

MOST_NAMED = 3


def known_refusal(host: PlannedNode, asked: PendingPod, context: PlanContext) -> Refusal | None:
    """Return why the host cannot take the pod where that is known from others: nothing is ever taken back."""
    if host.is_full:
        return FULL
    return TAKEN if asked.content in host.denied and not _is_recorded(asked, context) else None


def unsuited(host: PlannedNode, asked: PendingPod, variant: Variant) -> Refusal | None:
    """Return why taints or labels keep the pod away, whatever the machines have."""
    found = _suited(host, asked, variant)
    return found if isinstance(found, Refusal) else None


def evaluate_host(
    host: PlannedNode, asked: PendingPod, variant: Variant, context: PlanContext
) -> HostPlacement | Refusal:
    """Return what the host would become with the pod, or the first reason why it cannot take it."""
    if not asked.domain_checks:
        return _evaluate(host, asked, variant, context)
    choices = in_open_domains(host, asked, variant)
    if isinstance(choices, Refusal):
        return unsuited(host, asked, variant) or choices
    refusal: Refusal | None = None
    for choice in choices:
        found = _evaluate(host, asked, choice, context)
        if isinstance(found, HostPlacement):
            return found
        refusal = refusal or found
    return refusal or _evaluate(host, asked, variant, context)


def _evaluate(host: PlannedNode, asked: PendingPod, variant: Variant, context: PlanContext) -> HostPlacement | Refusal:
    context.effort.asked += 1
    requirements = _suited(host, asked, variant)
    if isinstance(requirements, Refusal):
        return requirements
    offered = host.offered(host.types, requirements)
    if not offered:
        return _nothing_offered(host, variant)
    types = _left_for(host, asked, offered, requirements)
    if isinstance(types, Refusal):
        return types
    if asked.shape.has_devices:
        types &= ~host.reserve_for_daemons(context).contested_within(requirements)
        if not types:
            return host_refusal("DaemonSetsContend", "its DaemonSets ask for more devices than there are")
    elif context.of_node is not None:
        host.reserve_for_daemons(context)
    return _best_kind(host, asked, requirements, types, context)


def _suited(host: PlannedNode, asked: PendingPod, variant: Variant) -> Requirements | Refusal:
    """Return what is known of the labels of the host with the pod, or why it is not for the pod."""
    spec = host.spec
    checks = asked.checks if spec.is_guarded else asked.plain_checks
    refusal = avoided(spec, asked.pod) if variant.avoids and spec.taints else None
    known = narrowed(spec, host.requirements, variant)
    if refusal is None and checks:
        # What labels the host cannot have is of less interest than what keeps pods off it whatever its labels are.
        within = host.requirements if isinstance(known, Refusal) else known
        refusal = refused_by_rules(checks, host.under(within))
    return refusal or known


def _nothing_offered(host: PlannedNode, variant: Variant) -> Refusal:
    wanted = ", ".join(sorted(one.key for one in variant.requirements or ()))
    about = f" with what the pod requires of {wanted}" if wanted else ""
    used_up = f": {in_short(host.spec.used_up, MOST_NAMED, '; ')}" if host.spec.used_up else ""
    return host_refusal("NoOffering", f"none of its instance types is available{about}{used_up}")


def _left_for(host: PlannedNode, asked: PendingPod, offered: int, requirements: Requirements) -> int | Refusal:
    """Return the types that pods can rely on, and on which no DaemonSet has a host port that the pod wants."""
    types = host.spec.rests.left(offered, has_devices=asked.shape.has_devices)
    if isinstance(types, Refusal):
        return types
    refusal: Refusal | None = None
    for (port, daemon), machines in host.spec.table.holding_port(asked.shape.ports, requirements).items():
        if types & machines:
            refusal = refusal or daemon_port_refusal(port, daemon)
            types &= ~machines
    return refusal if refusal is not None and not types else types


def _best_kind(
    host: PlannedNode, asked: PendingPod, requirements: Requirements, types: int, context: PlanContext
) -> HostPlacement | Refusal:
    """Return the cheapest placement among machines that serve extended resources in one way: one pod never mixes."""
    table, refusals = host.spec.table, list[Refusal]()
    best: tuple[float, HostPlacement] | None = None
    kinds = [(kind, members & types) for kind, members in table.by_offer(asked.shape.extended) if members & types]
    if len(kinds) > 1:
        kinds.sort(key=lambda one: table.cheapest(one[1], requirements))
    for kind, members in kinds:
        # The cheapest of a kind may not serve the pod: a kind is passed over only if all of it is dearer.
        if best is not None and table.cheapest(members, requirements) >= best[0]:
            break
        need = asked.shape.need_on(kind, context.classes)
        found = need if isinstance(need, Refusal) else _on_kind(host, asked, need, requirements, members, context)
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


def _on_kind(
    host: PlannedNode,
    asked: PendingPod,
    need: ExtendedNeed,
    requirements: Requirements,
    types: int,
    context: PlanContext,
) -> HostPlacement | Refusal:
    """Return the placement with devices, on those of the types that have room for the pod."""
    room = host.spec.table.room(requirements)
    fitting = types & host.fitting(need.node, room)
    if not fitting:
        return _no_room(host, types, need.node, room)
    if not host.has_choice(fitting, requirements):
        return _too_little_choice(host)
    claims = asked.claims(need)
    if claims is None:
        return HostPlacement(types=fitting, requirements=requirements, need=need)
    budget = context.budget.after(context.effort.of_pod)
    answer = context.allocator.allocate(claims, host.spec.candidate(requirements, fitting), budget)
    context.effort.spend(answer.steps)
    if isinstance(answer, Denied | UnfinishedSearch):
        is_for_all = fitting == host.types and requirements == host.requirements
        if isinstance(answer, Denied) and is_for_all and asked.content and not _is_recorded(asked, context):
            host.deny(asked.content, context)
        return _beside_daemons(host, answer.refusal, requirements)
    shares: Shares = {}
    if context.of_node is not None:
        shares = context.of_node.shares(asked, need, host.spec, fitting, answer)
    draft = HostPlacement(types=fitting, requirements=requirements, need=need, allotment=answer)
    return _with_devices(host, draft, answer, shares)


def _with_devices(
    host: PlannedNode, draft: HostPlacement, answer: Allotment, shares: Shares
) -> HostPlacement | Refusal:
    """Filter all types again: devices may have taken away offerings by where they are, and room of their nodes."""
    table, requirements = host.spec.table, draft.requirements
    if host.spec.node is None:
        requirements = requirements.narrowed(answer.requirements)
    left = host.offered(draft.types, requirements) & table.with_devices_of(answer.types)
    if not left:
        text = "no instance type satisfies both scheduling and dynamic resource requirements"
        return host_refusal("NoInstanceType", text)
    refusals = [one for one in shares.values() if isinstance(one, Refusal)]
    left &= _with_shares(host, shares, table.room(requirements))
    if not left:
        text = "no instance type has room for all that the pod and its devices take"
        return refusals[0] if refusals else host_refusal("InsufficientResource", text)
    if not host.has_choice(left, requirements):
        return _too_little_choice(host)
    preferred = left & table.with_devices_of(_preferred(answer))
    if preferred and host.spec.origin is Origin.NEW and host.has_choice(preferred, requirements):
        left = preferred
    of_node: Mapping[str, Mapping[str, int]] = {
        name: beyond(share, draft.need) for name, share in shares.items() if not isinstance(share, Refusal)
    }
    return msgspec.structs.replace(draft, types=left, requirements=requirements, of_node=of_node)


def _with_shares(host: PlannedNode, shares: Shares, room: MachineRoom) -> int:
    """Return the machines that have room for a pod that takes so much of each kind with its devices."""
    table, mask = host.spec.table, host.spec.table.everything
    for name, share in shares.items():
        fitting = 0
        if not isinstance(share, Refusal):
            fitting = room.fitting(plus(plus(host.used, host.of_node.get(name, {})), share))
        mask &= ~table.with_devices_of((name,)) | fitting
    return mask


def _no_room(host: PlannedNode, types: int, need: Resources, room: MachineRoom) -> Refusal:
    for name, amount in need.items():
        used = host.used.get(name, 0)
        if not types & room.fitting({name: used + amount}):
            return insufficient(name, amount, room.most(name, types) - used, ANY_CHANGE | ClusterEvent.ROOM)
    return host_refusal("InsufficientResource", "no instance type has room for all that the pod requests")


def _too_little_choice(host: PlannedNode) -> Refusal:
    wanted = ", ".join(f"{least} of {key}" for key, least in host.spec.min_values)
    return host_refusal("MinValues", f"too few values would remain possible, minValues asks for {wanted}")


def _beside_daemons(host: PlannedNode, refusal: Refusal, requirements: Requirements) -> Refusal:
    """Return the refusal of devices with who else has some: nobody sees them on a node that is not there."""
    holders = host.daemons_within(requirements)
    if not holders or ClusterEvent.DEVICES not in refusal.wake:
        return refusal
    names = ", ".join(map(str, holders[:MOST_NAMED]))
    return msgspec.structs.replace(refusal, message=f"{refusal.message} besides those of DaemonSet {names}")


def _is_recorded(asked: PendingPod, context: PlanContext) -> bool:
    return any(item.claim.key in context.allocator.records for item in asked.resolved.claims)


def _preferred(answer: Allotment) -> frozenset[str]:
    """Return the types that serve the pod with the best alternatives that any of them has."""
    best = min((one.choice for one in answer.served), default=())
    return frozenset(one.name for one in answer.served if one.choice == best) or frozenset(answer.types)
