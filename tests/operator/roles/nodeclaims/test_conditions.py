"""What disruption thinks of nodes is on their NodeClaims, is taken back, and is written when it changes only."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from dra_cases.fleet import BORN, Fleet, pod
from dra_kube.api import Json
from dra_operating.api import ApiInMemory
from dra_operating.clock import ManualClock
from dra_operating.loop import running, settle
from dra_operating.requests import RequestsInMemory
from dra_operator.api.events import Recorder
from dra_operator.api.leases import Leadership
from dra_operator.kinds import BY_KIND
from dra_operator.pacing import timestamp
from dra_operator.roles.nodeclaims.role import NodeClaimsRole
from dra_operator.settings import Role, Settings
from dra_operator.watch.cache import Cache
from dra_scheduling.disruption import DecisionRecord
from dra_scheduling.inventory.replacements import DISRUPTION
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node
from dra_scheduling.wire import KubernetesObject, key_of, read, write, write_value

SECONDS = 60.0
LATER: Json = {"taints": [{"key": "example.com/new", "effect": "NoSchedule"}]}
RECORD = DecisionRecord(reason="Empty", message="no pod needs it", since=BORN, node_claims=("claim-a",))


class Town(RequestsInMemory):
    """A server with the nodes of a fleet, and the role that looks after their NodeClaims there."""

    def __init__(self, after: str = "1m") -> None:
        super().__init__()
        self.fleet = Fleet(disruption={"consolidateAfter": after})
        self.cache = Cache()
        self._role: NodeClaimsRole | None = None

    def learn(self, answer: Json) -> None:
        """What is written comes back by the watch."""

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = "", accept: str = ""
    ) -> Json:
        answer = await super().request(method, path, body, content_type=content_type)
        if method == "PATCH":
            self._tell(read(self.objects[path.removesuffix("/status")]))
        return answer

    def see(self, value: KubernetesObject) -> None:
        """Let the server have an object, and everybody see it."""
        path = BY_KIND[type(value)].object_path(key_of(value))
        before = self.objects.get(path, {"metadata": {"resourceVersion": "0"}})
        metadata = replace(value.metadata, resource_version=str(int(before["metadata"]["resourceVersion"]) + 1))
        self._tell(read(self.put(path, {**write(value), "metadata": write_value(metadata)})))

    def open(self) -> None:
        """Let the server have everything that is in the fleet, with the marks of NodeClaims that are looked after."""
        inventory = self.fleet.cluster.inventory
        for pool in inventory.pools.values():
            self.see(pool)
        for kind in inventory.instance_types.values():
            self.see(kind)
        for claim in inventory.claims.values():
            self.see(replace(claim, metadata=replace(claim.metadata, finalizers=("karpenter.sh/termination",))))
        for state in self.fleet.cluster.nodes.values():
            self.see(state.node)

    def remove(self, value: KubernetesObject) -> None:
        """Let an object be gone."""
        self.cache.drop(type(value), key_of(value), value.metadata.uid)
        if self._role is not None:
            self._role.removed(value)

    @asynccontextmanager
    async def process(self) -> AsyncIterator[None]:
        """A process of the role, that knows what the server has."""
        settings = Settings.from_environment({"DRA_ROLES": "nodeclaims"})
        leadership = Leadership(Role.NODECLAIMS, lambda _: role.leadership_changed(), lambda: 0.0)
        recorder = Recorder(ApiInMemory(), "tester", ManualClock())
        role = NodeClaimsRole(settings, api=self, cache=self.cache, recorder=recorder, leadership=leadership)
        self._role = role
        for kind in BY_KIND:
            for value in self.cache.values(kind):
                role.changed(value)
        async with running(*role.jobs()):
            leadership.take()
            yield
        self._role = None

    def change(self, claim: str, **annotations: str) -> None:
        """Let the NodeClaim have these annotations and no others."""
        path = f"/apis/karpenter.sh/v1/nodeclaims/{claim}"
        found = self.objects[path]
        kept = {key: text for key, text in found["metadata"]["annotations"].items() if key != DISRUPTION}
        self.see(read({**found, "metadata": {**found["metadata"], "annotations": {**kept, **annotations}}}))

    def pods(self, *names: str, node: str = "a") -> None:
        """Let pods of these names be bound."""
        for name in names:
            self.see(read(pod(name, "")))
            self.see(read(pod(name, node)))

    def said(self, claim: str = "claim-a") -> dict[str, str]:
        """The reasons of the conditions about disruption, by type."""
        status = self.objects[f"/apis/karpenter.sh/v1/nodeclaims/{claim}"]["status"]
        kinds = {"Drifted", "Consolidatable", "DisruptionReason"}
        return {one["type"]: one["reason"] for one in status["conditions"] if one["type"] in kinds}

    async def writes_of_a_restart(self, claim: str) -> int:
        """How often a process writes that finds one NodeClaim changed, which it looks at after all others."""
        before = len(self.calls)
        async with self.process():
            for node in self.cache.of_kind(Node):
                self.see(node)
            self.change(claim, **{DISRUPTION: RECORD.text})
            await self.until(lambda: "DisruptionReason" in self.said(claim))
        return len(self.calls) - before

    def _tell(self, value: KubernetesObject) -> None:
        self.cache.put(value)
        if self._role is not None:
            self._role.changed(value)

    async def until(self, question: Callable[[], bool]) -> None:
        """Wait until something is so, and nothing is under way any more."""
        async with asyncio.timeout(SECONDS):
            while not question():  # noqa: ASYNC110  the answer comes from many places
                await asyncio.sleep(0.01)
        await settle()


@pytest.fixture
def town() -> Town:
    """One node that nobody has come to for long."""
    town = Town()
    town.fleet.node("a", "cpu-8")
    town.open()
    return town


async def test_a_change_of_the_pool_is_drift_at_once_and_its_return_none(town: Town) -> None:
    async with town.process():
        await town.until(lambda: town.said() == {"Consolidatable": "Consolidatable"})
        town.see(town.fleet.pool("pool", template=LATER))
        await town.until(lambda: town.said().get("Drifted") == "NodePoolDrifted")
        town.see(town.fleet.pool("pool"))
        await town.until(lambda: "Drifted" not in town.said())


async def test_a_type_that_is_gone_is_drift(town: Town) -> None:
    (kind,) = (one for one in town.fleet.cluster.inventory.instance_types.values() if one.name == "cpu-8")
    async with town.process():
        town.remove(kind)
        await town.until(lambda: town.said().get("Drifted") == "InstanceTypeNotFound")
        town.see(kind)
        await town.until(lambda: "Drifted" not in town.said())


async def test_a_pod_that_comes_takes_it_back_that_its_node_is_consolidatable(town: Town) -> None:
    async with town.process():
        await town.until(lambda: "Consolidatable" in town.said())
        before = timestamp()
        town.pods("one")
        await town.until(lambda: "Consolidatable" not in town.said())

    claim = read(town.objects["/apis/karpenter.sh/v1/nodeclaims/claim-a"])
    assert isinstance(claim, NodeClaim)
    assert claim.status.last_pod_event_time >= before[:19]


async def test_why_a_node_goes_is_there_for_as_long_as_it_is_to_go(town: Town) -> None:
    async with town.process():
        town.change("claim-a", **{DISRUPTION: RECORD.text})
        await town.until(lambda: town.said().get("DisruptionReason") == "Empty")
        town.change("claim-a")
        await town.until(lambda: "DisruptionReason" not in town.said())


async def test_a_process_that_follows_another_finds_everything_said(town: Town) -> None:
    town.fleet.pool("pool", template=LATER)
    town.see(town.fleet.cluster.inventory.pools["pool"])
    async with town.process():
        await town.until(lambda: town.said().keys() == {"Drifted", "Consolidatable"})
        town.pods("one")
        await town.until(lambda: town.said().keys() == {"Drifted"})
    assert await town.writes_of_a_restart("claim-a") == 1
    assert town.said() == {"Drifted": "NodePoolDrifted", "DisruptionReason": "Empty"}


async def test_a_thousand_nodes_with_nothing_new_cost_no_write() -> None:
    town = Town()
    for number in range(1_000):
        town.fleet.node(f"n{number}", "cpu-8")
    town.open()
    names = [claim.name for claim in town.cache.of_kind(NodeClaim)]
    async with town.process():
        await town.until(lambda: all("Consolidatable" in town.said(name) for name in names))
    assert await town.writes_of_a_restart(names[-1]) == 1
