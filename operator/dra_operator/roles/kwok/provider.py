"""Machines for NodeClaims: launched, up as nodes, and gone again. Each look takes the next step that the API shows."""

from dra_operator.api.events import EventMessage, EventType, Recorder, Regarding
from dra_operator.kinds import INSTANCE_TYPES, PODS
from dra_operator.logs import log
from dra_operator.roles.kwok.behaviour import Behaviour, Pauses
from dra_operator.roles.kwok.instances import FINALIZER, LaunchableTypes, is_decided
from dra_operator.roles.kwok.node_index import NodeIndex
from dra_operator.roles.kwok.objects import condition_status, launched_status
from dra_operator.roles.kwok.pools import Withdraw
from dra_operator.roles.kwok.writer import KwokWriter
from dra_operator.watch.freshness import BEHIND_SECONDS, Freshness, on_node
from dra_scheduling.model.conditions import Condition
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node
from dra_scheduling.nodeclaims.launching import Instance, chosen
from dra_scheduling.nodeclaims.lifecycle_steps import DRAINED, LAUNCHED, REGISTERED

NO_CAPACITY = "InsufficientCapacity"
NAME_TAKEN = "NodeNameTaken"
NAME_TAKEN_SECONDS = 10.0
PHASES = ("launch", "register", "ready")

_log = log("kwok")


def may_be_removed(claim: NodeClaim) -> bool:
    """Whether the NodeClaim has no need of its machine any more."""
    drained = claim.condition(DRAINED)
    return claim.metadata.is_deleting and drained is not None and drained.is_true


class FakeProvider:
    """What a cloud does. `look` returns after how many seconds to look again, 0 if only news can change anything."""

    __slots__ = ("_catalogue", "_freshness", "_index", "_pauses", "_recorder", "_writer")

    def __init__(
        self,
        writer: KwokWriter,
        *,
        index: NodeIndex,
        catalogue: LaunchableTypes,
        pauses: Pauses,
        recorder: Recorder,
        freshness: Freshness,
    ) -> None:
        self._writer = writer
        self._freshness = freshness
        self._index = index
        self._catalogue = catalogue
        self._pauses = pauses
        self._recorder = recorder

    async def look(self, claim: NodeClaim, behaviour: Behaviour) -> float:
        """Take the next step for a NodeClaim. Raises `ApiError`."""
        if claim.metadata.is_deleting:
            return await self._remove(claim)
        launched = claim.condition(LAUNCHED)
        if launched is not None and launched.status == "False":
            await self._writer.delete_claim(claim)
            return 0.0
        if launched is None or not launched.is_true:
            return await self._launch(claim, behaviour)
        node = self._index.node(claim.name)
        return await (self._come_up(claim, behaviour) if node is None else self._show_ready(claim, node, behaviour))

    def forget(self, claim: NodeClaim) -> None:
        """Wait for nothing of a NodeClaim any more."""
        for phase in PHASES:
            self._pauses.end((claim.metadata.uid, phase))

    async def _launch(self, claim: NodeClaim, behaviour: Behaviour) -> float:
        if "launch" in behaviour.never:
            return 0.0
        left = self._pauses.left((claim.metadata.uid, "launch"), behaviour.launch_delay)
        if left:
            return left
        expanded = self._catalogue.launched(claim) if is_decided(claim) else None
        if expanded is not None:
            await self._writer.show(claim, launched_status(claim, expanded.capacity, expanded.offered))
            return 0.0
        instance = self._chosen(claim)
        if instance is None:
            if not await self._freshness.has_all(INSTANCE_TYPES):
                return BEHIND_SECONDS
            instance = self._chosen(claim)
        if instance is None:
            await self._refuse(claim)
            return 0.0
        _log.info("launch", nodeclaim=claim.name, type=instance.expanded.name)
        await self._writer.decide(claim, instance.labels)
        return 0.0

    def _chosen(self, claim: NodeClaim) -> Instance | None:
        return chosen(claim, self._catalogue.of_class(claim.spec.node_class_ref.name), self._index.machines_in_use())

    async def _refuse(self, claim: NodeClaim) -> None:
        message = "no instance type that it allows has room for it and an offering that is available"
        self._tell(claim, NO_CAPACITY, message)
        refused = Condition(type=LAUNCHED, status="False", reason=NO_CAPACITY, message=message)
        await self._writer.show(claim, condition_status(claim, refused))

    async def _come_up(self, claim: NodeClaim, behaviour: Behaviour) -> float:
        registered = claim.condition(REGISTERED)
        if "register" in behaviour.never or (registered is not None and registered.is_true):
            # A node that was there and is gone was taken away: no kubelet brings it back.
            return 0.0
        left = self._pauses.left((claim.metadata.uid, "register"), behaviour.registration_delay)
        if left:
            return left
        is_ready = not behaviour.ready_delay and "ready" not in behaviour.never
        if await self._writer.create_node(claim, is_ready=is_ready):
            return 0.0
        self._tell(claim, NAME_TAKEN, f"another node has the name {claim.name}")
        return NAME_TAKEN_SECONDS

    async def _show_ready(self, claim: NodeClaim, node: Node, behaviour: Behaviour) -> float:
        if "heartbeat" in behaviour.never:
            return 0.0
        wanted = "ready" not in behaviour.never
        is_ready = node.ready is not None and node.ready.status == "True"
        if wanted == is_ready:
            return 0.0
        left = self._pauses.left((claim.metadata.uid, "ready"), behaviour.ready_delay) if wanted else 0.0
        if not left:
            await self._writer.show_ready(node, is_ready=wanted)
        return left

    async def _remove(self, claim: NodeClaim) -> float:
        if FINALIZER not in claim.metadata.finalizers:
            return 0.0
        is_drained = may_be_removed(claim)
        if self._index.node(claim.name) is not None and not is_drained:
            return 0.0
        # The watch may be behind: a node whose creation was never answered is there all the same.
        uid = await self._writer.uid_of_node(claim)
        if uid is not None and not is_drained:
            return 0.0
        # Pods go as well if somebody has deleted the node under them, but not from another node of its name.
        is_ours = uid is not None or not await self._writer.is_name_taken(claim)
        if is_ours and not await self._freshness.has_all(PODS, on_node(claim.name)):
            return BEHIND_SECONDS
        for pod in self._index.pods(claim.name) if is_ours else ():
            await self._writer.end_pod(pod)
        if uid is not None:
            _log.info("remove", nodeclaim=claim.name)
            await self._writer.delete_node(claim.name, uid)
        for one in self._index.slices(claim.name):
            await self._writer.withdraw(Withdraw(one))
        await self._writer.delete_lease(claim.name)
        await self._writer.release(claim)
        return 0.0

    def _tell(self, claim: NodeClaim, reason: str, message: str) -> None:
        notice = EventMessage(regarding=Regarding.of(claim), severity=EventType.WARNING, reason=reason, message=message)
        self._recorder.tell(notice)
