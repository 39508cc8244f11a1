"""The command that tells of NodeClaims, those of a cluster or of files; nothing is changed."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from dra_scheduling.basics.reasons import Refusal, fold, in_short
from dra_scheduling.cluster import Cluster
from dra_scheduling.instancetypes import INSTANCE_TYPE_LABEL, NODE_POOL_LABEL
from dra_scheduling.inventory import Nominee, nominees_of
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.nodeclaims import NodeSlices
from dra_scheduling.nodeclaims.lifecycle_steps import CONSOLIDATABLE, REGISTERED
from dra_scheduling.provisioning.pending_pod_checks import ask
from dra_scheduling.wire import KubernetesObject
from dra_simulator.access import LiveCluster
from dra_simulator.complete import complete
from dra_simulator.launch.host_json import group_in_plain_values
from dra_simulator.launch.host_tables import SERVES, called, price_text, reasons_text, types_of
from dra_simulator.launch.host_views import Surveyor, TypeGroup, grouped
from dra_simulator.launch.made_up_provider import Catalogue
from dra_simulator.launch.nodeclaim_progress import NodeClaimProgress, NodeClaimSurroundings, standing, time_now
from dra_simulator.live import everything
from dra_simulator.load import load
from dra_simulator.output import emit
from dra_simulator.problems import InputProblem, UnusableInputError
from dra_simulator.tables import Block, Table

DONE = 0
HEADERS = ("NODECLAIM", "POOL", "TYPE", "ZONE", "NODE", "AGE", "PHASE", "WAITS FOR", "PODS")
MOST_PODS = 3


class Fate(msgspec.Struct, frozen=True, kw_only=True):
    """What the instance types of a NodePool say to a pod that one of its NodeClaims was made for."""

    pod: str
    message: str = ""
    groups: tuple[TypeGroup, ...] = ()


def run_nodeclaims(arguments: argparse.Namespace) -> int:
    """List NodeClaims, or tell all about one. Raises `UnusableInputError`."""
    objects, now, problems = _input(arguments)
    cluster = Cluster(features=arguments.features)
    slices = NodeSlices()
    for value in objects:
        cluster.apply(value)
        if isinstance(value, ResourceSlice):
            slices.apply(value)
    around = NodeClaimSurroundings(cluster, slices, now)
    catalogue = Catalogue(cluster)
    if arguments.name is None:
        every = (claim for _, claim in sorted(cluster.inventory.claims.items()))
        claims = [claim for claim in every if _concerns(claim, arguments.namespace)]
        found = [_standing(claim, catalogue, around) for claim in claims]
        emit(msgspec.to_builtins(found), _list_blocks(found), arguments.output, sys.stdout)
    else:
        claim = _called(arguments.name, cluster, problems)
        one = _standing(claim, catalogue, around)
        fates = tuple(_fate(cluster, claim, nominee, now) for nominee in nominees_of(claim))
        plain = {**msgspec.to_builtins(one), "fits": [_fate_in_plain_values(claim, fate) for fate in fates]}
        emit(plain, _one_blocks(claim, one, fates), arguments.output, sys.stdout)
    if problems:
        raise UnusableInputError(*problems)
    return DONE


def _input(arguments: argparse.Namespace) -> tuple[Sequence[KubernetesObject], str, tuple[InputProblem, ...]]:
    """Return the objects, the time, and what cannot be used of files."""
    if not arguments.paths:
        return everything(LiveCluster(arguments.context)), arguments.now or time_now(), ()
    world = complete(load(arguments.paths), now=arguments.now)
    return world.objects, world.now, world.problems


def _called(name: str, cluster: Cluster, problems: Iterable[InputProblem]) -> NodeClaim:
    claim = cluster.inventory.claims.get(name)
    if claim is None:
        names = ", ".join(sorted(cluster.inventory.claims)) or "there is none"
        problem = InputProblem("nodeclaims", f"NodeClaim {name}", "-", f"expected a NodeClaim that is there: {names}")
        raise UnusableInputError(*problems, problem)
    return claim


def _concerns(claim: NodeClaim, namespace: str | None) -> bool:
    return namespace is None or any(nominee.key.namespace == namespace for nominee in nominees_of(claim))


def _standing(claim: NodeClaim, catalogue: Catalogue, around: NodeClaimSurroundings) -> NodeClaimProgress:
    named = claim.metadata.labels.get(INSTANCE_TYPE_LABEL)
    expanded = None if named is None else catalogue.called(named, claim.spec.node_class_ref.name)
    return standing(claim, expanded, around)


def _fate(cluster: Cluster, claim: NodeClaim, nominee: Nominee, now: str) -> Fate:
    name = str(nominee.key)
    pod = cluster.pod(nominee.key)
    if pod is None or pod.metadata.uid != nominee.uid:
        return Fate(pod=name, message="the pod is not there any more")
    if not cluster.is_pending(pod):
        return Fate(pod=name, message=f"is on node {pod.spec.node_name}" if pod.spec.node_name else "is not pending")
    asked = ask(cluster, pod)
    if isinstance(asked, Refusal):
        return Fate(pod=name, message=reasons_text(fold([asked])))
    template = cluster.inventory.template(claim.metadata.labels.get(NODE_POOL_LABEL, ""))
    if template is None:
        return Fate(pod=name, message="the NodePool of the NodeClaim is not there any more")
    views = (view for view in Surveyor(cluster, asked, now).types_of(template) if not view.is_foreign)
    return Fate(pod=name, groups=grouped(views))


def _list_blocks(found: Sequence[NodeClaimProgress]) -> list[Block]:
    rows = tuple(_row(one) for one in found)
    return [Table(headers=HEADERS, rows=rows, style="cyan")] if rows else ["none"]


def _row(one: NodeClaimProgress) -> tuple[str, ...]:
    pods = in_short(one.pods, MOST_PODS)
    type_ = one.instance_type or (f"one of {one.instance_types}" if one.instance_types else "any")
    cells = (one.node_claim, one.node_pool, type_, one.zone, one.node, one.age, one.phase, _waits(one), pods)
    return tuple(cell or "-" for cell in cells)


def _waits(one: NodeClaimProgress) -> str:
    # Before the node is registered no driver can have published.
    is_told = one.phase == REGISTERED and len(one.missing_drivers) > 1
    missing = f" (missing drivers: {', '.join(one.missing_drivers)})" if is_told else ""
    # Most nodes may be consolidated most of the time.
    notable = [text for text in one.disruption if text != CONSOLIDATABLE][:1]
    return "; ".join(filter(None, ("; ".join(one.waits_for) + missing, *notable)))


def _one_blocks(claim: NodeClaim, one: NodeClaimProgress, fates: Sequence[Fate]) -> list[Block]:
    lines = [f"pod {fate.pod}: {fate.message}" for fate in fates if fate.message]
    headers = ("POD", "INSTANCE TYPES", "PRICE/H", "LISTED", "REASON")
    rows = tuple(row for fate in fates for row in _fate_rows(claim, fate))
    blocks: list[Block] = [*_list_blocks([one]), Table(headers=headers, rows=rows)]
    return [*blocks, "\n".join(lines)] if lines else blocks


def _fate_rows(claim: NodeClaim, fate: Fate) -> Iterator[tuple[str, ...]]:
    for group in fate.groups:
        listed = _listed(claim, group)
        said = reasons_text(group.reasons) or SERVES
        shown = "all" if len(listed) == len(group.names) else str(len(listed)) if listed else "-"
        yield fate.pod, called(group), price_text(group.view.price), shown, said


def _listed(claim: NodeClaim, group: TypeGroup) -> tuple[str, ...]:
    """Return the types of the group that the NodeClaim may become; one that is launched is one."""
    launched = claim.metadata.labels.get(INSTANCE_TYPE_LABEL)
    allowed = types_of(claim) if launched is None else (launched,)
    return tuple(name for name in group.names if name in allowed)


def _fate_in_plain_values(claim: NodeClaim, fate: Fate) -> dict[str, object]:
    groups = [{**group_in_plain_values(group), "listed": list(_listed(claim, group))} for group in fate.groups]
    return {"pod": fate.pod, "message": fate.message, "instanceTypes": groups}
