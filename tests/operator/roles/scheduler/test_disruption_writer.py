"""The scheduler's thread and the writer take nodes away together, over a server in memory that fails now and then."""

import copy
from typing import Any

import pytest
from msgspec.structs import replace

from dra_cases.fleet import BORN, Fleet
from dra_kube.api import Json
from dra_kube.errors import ConflictError, MissingError, UnclearError
from dra_operating.api import ApiInMemory
from dra_operating.clock import ManualClock
from dra_operator.api.events import EventMessage, EventType, Recorder
from dra_operator.kinds import NODE_CLAIMS, NODES, PODS
from dra_operator.roles.scheduler.disruption_writer import DisruptionWriter
from dra_operator.watch.cache import Cache
from dra_scheduling.basics.times import seconds_of
from dra_scheduling.cycle.disrupt import MOST_TOLD, TOLD_SECONDS, Disruptor, StayNotices
from dra_scheduling.cycle.events import DisruptionWrites
from dra_scheduling.cycle.reporter import SILENT
from dra_scheduling.cycle.timers import NO_DEADLINES
from dra_scheduling.disruption import Close, Create, DecisionRecord, Ineligible, MarkNodeClaim, Stay, Step
from dra_scheduling.disruption.decision_annotations import annotated
from dra_scheduling.inventory.replacements import DISRUPTION, REPLACES
from dra_scheduling.model.claims import ResourceClaim
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.pods import Node, Pod
from dra_scheduling.model.slices import ResourceSlice
from dra_scheduling.wire import key_of, read, write

START = seconds_of("2026-01-02T00:00:00Z")
WATCHED = 20.0
"""So long somebody has been looking already."""


class Server:
    """NodeClaims and nodes by path; every change is seen by the cluster at once."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.objects: dict[str, Json] = {}
        self.lists: dict[str, Json] = {}
        self.writes: list[str] = []
        self.fails_at = -1
        self.fails_late = False
        self._version = 0
        for claim in tuple(fleet.cluster.inventory.claims.values()):
            self.put(f"{NODE_CLAIMS.path}/{claim.name}", write(claim))
        for state in tuple(fleet.cluster.nodes.values()):
            self.put(f"{NODES.path}/{state.node.name}", write(state.node))

    def put(self, path: str, body: Json) -> Json:
        self._version += 1
        metadata = {**body["metadata"], "resourceVersion": str(self._version)}
        self.objects[path] = {**copy.deepcopy(body), "metadata": {"uid": f"uid-of-{path}", **metadata}}
        self.learn(self.objects[path])
        return self.objects[path]

    def learn(self, answer: Json) -> None:
        self.fleet.cluster.apply(read(answer))

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = "", accept: str = ""
    ) -> Json:
        if method == "GET":
            found = self.lists.get(path) or self.objects.get(path)
            if found is None:
                raise MissingError("get", 404)
            return copy.deepcopy(found)
        number = len(self.writes)
        self.writes.append(f"{method} {path.rpartition('/')[2]}")
        if number == self.fails_at and not self.fails_late:
            raise UnclearError("write", 0)
        answer = self._write(method, path, body or {})
        if number == self.fails_at:
            raise UnclearError("write", 0)
        return answer

    def _write(self, method: str, path: str, body: Json) -> Json:
        if method == "POST":
            place = f"{path}/{body['metadata']['name']}"
            if place in self.objects:
                raise ConflictError("create", 409)
            return self.put(place, body)
        found = self.objects[path]
        guard = body["preconditions"] if method == "DELETE" else body["metadata"]
        if any(guard[name] != found["metadata"][name] for name in ("uid", "resourceVersion")):
            raise ConflictError("write", 409)
        if method == "DELETE":
            del self.objects[path]
            value = read(found)
            self.fleet.cluster.remove(type(value), key_of(value))
            return {}
        notes = {**(found["metadata"].get("annotations") or {}), **guard.get("annotations", {})}
        kept = {key: text for key, text in notes.items() if text is not None}
        spec = {**found.get("spec", {}), **body.get("spec", {})}
        return self.put(path, {**found, "spec": spec, "metadata": {**found["metadata"], "annotations": kept}})


def disruptor_of(fleet: Fleet) -> Disruptor:
    return Disruptor(fleet.cluster, 10.0, deadlines=NO_DEADLINES, reporter=SILENT)


class Listener(Recorder):
    """Keeps what is told."""

    def __init__(self) -> None:
        super().__init__(ApiInMemory(), "tester", ManualClock())
        self.told: list[tuple[str, str, str]] = []
        self.severities: list[EventType] = []

    def tell(self, notice: EventMessage) -> None:
        self.severities.append(notice.severity)
        self.told.append((notice.regarding.name, notice.reason, notice.message))


class World:
    """One pod on a node that is too large, a scheduler core, and a writer."""

    def __init__(self) -> None:
        self.fleet = Fleet()
        self.fleet.node("a", "gpu-4")
        self.fleet.pod("one", "a", gpus=1)
        self.server = Server(self.fleet)
        self.recorder = Listener()
        self.now = START - WATCHED
        self.is_leading = True
        self.restart()
        self.steps()
        self.now = START

    def restart(self) -> None:
        """Forget everything that is not on the server."""
        self.disruptor = disruptor_of(self.fleet)
        self.writer = DisruptionWriter(
            self.server,
            Cache(),
            self.recorder,
            ended=self.ended,
            may_write=lambda: self.is_leading,
        )

    def ended(self, writes: DisruptionWrites) -> None:
        self.disruptor.written(writes.created)

    def steps(self) -> tuple[Step, ...]:
        return self.disruptor.steps(self.now, is_quiet=True)

    async def pass_time(self, seconds: int, *, comes_up: bool = True, restarts: bool = False) -> None:
        """Let so many seconds pass, second by second; NodeClaims come up at once where they do.

        Where it restarts it does after every write.
        """
        for _ in range(seconds):
            before = len(self.server.writes)
            self.now += 1.0
            await self.writer.write(self.steps())
            if comes_up:
                self.bring_up()
            self.move()
            if restarts and len(self.server.writes) > before:
                self.restart()

    def move(self) -> None:
        """Let the pod have a successor on another node once its own is deleted."""
        cluster = self.fleet.cluster
        pod = cluster.pod(ObjectKey("default", "one"))
        if pod is not None and "claim-a" not in self.claims():
            cluster.remove(Pod, pod.key)
            cluster.remove(ResourceClaim, ObjectKey("default", "one-gpus"))
            cluster.remove(Node, ObjectKey("", "a"))
            self.fleet.pod("two", next(iter(cluster.nodes)), gpus=1)

    def bring_up(self) -> None:
        for path, body in tuple(self.server.objects.items()):
            value = read(body)
            if isinstance(value, NodeClaim) and not value.status.node_name:
                name = value.name.replace("pool-", "node-")
                kind = next(one.values[0] for one in value.spec.requirements if one.key.endswith("instance-type"))
                notes = dict(value.metadata.annotations)
                self.fleet.node(name, kind, name_of_claim=value.name, notes=notes)
                for found in (self.fleet.cluster.inventory.claims[value.name], self.fleet.cluster.nodes[name].node):
                    place = path if isinstance(found, NodeClaim) else f"{NODES.path}/{name}"
                    self.server.put(place, write(found))

    def claims(self) -> list[str]:
        """The NodeClaims on the server."""
        return [path.rpartition("/")[2] for path in self.server.objects if path.startswith(NODE_CLAIMS.path)]


@pytest.fixture
def world() -> World:
    return World()


async def test_a_node_is_replaced_and_deleted_and_people_are_told(world: World) -> None:
    await world.pass_time(10)

    assert [write.split()[0] for write in world.server.writes] == ["POST", "PATCH", "PATCH", "DELETE"]
    assert "claim-a" not in world.claims()
    assert len(world.claims()) == 1
    assert [(name, reason) for name, reason, _ in world.recorder.told if name == "claim-a"] == [
        ("claim-a", "Disrupting"),
        ("claim-a", "Disrupted"),
    ]
    assert "Node is to go (Underutilized): for 1 instead of 3.5 an hour" in world.recorder.told[0][2]


async def test_no_node_goes_while_the_server_has_pods_on_it_that_have_not_been_seen(world: World) -> None:
    unseen = {"metadata": {"name": "late", "namespace": "default", "uid": "u", "resourceVersion": "1"}, "spec": {}}
    path = f"{PODS.path}?fieldSelector=spec.nodeName%3Da"
    world.server.lists[path] = {"items": [unseen]}
    await world.pass_time(10)
    assert "claim-a" in world.claims()
    world.server.lists.clear()
    await world.pass_time(10)

    assert "claim-a" not in world.claims()


async def closed_with_a_replacement_without_devices(world: World) -> list[ResourceSlice]:
    """Let it come so far that a node is to go, and what replaces it has come without its devices."""
    await world.pass_time(2)
    node = next(name for name in world.fleet.cluster.nodes if name != "a")
    slices = world.fleet.expanded["gpu-1"].slices_for_node(node, node_uid=f"uid-{node}")
    for one in slices:
        world.fleet.cluster.remove(ResourceSlice, key_of(one))
    return list(slices)


async def test_no_decision_is_given_up_for_devices_that_are_seen_a_moment_later(world: World) -> None:
    slices = await closed_with_a_replacement_without_devices(world)
    await world.pass_time(1)
    for one in slices:
        world.fleet.cluster.apply(one)
    await world.pass_time(5)

    assert "claim-a" not in world.claims()
    assert [reason for name, reason, _ in world.recorder.told if name == "claim-a"] == ["Disrupting", "Disrupted"]


async def test_a_decision_is_given_up_for_devices_that_do_not_come(world: World) -> None:
    await closed_with_a_replacement_without_devices(world)
    await world.pass_time(5)

    assert "claim-a" in world.claims()
    assert [reason for name, reason, _ in world.recorder.told if name == "claim-a"] == [
        "Disrupting",
        "DisruptionGivenUp",
    ]


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("restarts", [False, True])
async def test_a_write_whose_end_is_unknown_makes_no_second_node(
    world: World,
    number: int,
    is_late: bool,  # noqa: FBT001
    restarts: bool,  # noqa: FBT001
) -> None:
    world.server.fails_at, world.server.fails_late = number, is_late

    await world.pass_time(60, restarts=restarts)

    assert "claim-a" not in world.claims()
    assert len(world.claims()) == 1
    assert world.fleet.cluster.inventory.claims.keys() == set(world.claims())


async def test_nothing_goes_before_what_replaces_it_has_come_up(world: World) -> None:
    await world.pass_time(60, comes_up=False)

    assert "claim-a" in world.claims()
    assert len(world.claims()) == 2
    assert (world.disruptor.next_time() or 0.0) <= world.now + 1.0


async def test_nothing_new_is_decided_while_pods_wait(world: World) -> None:
    disruptor = disruptor_of(world.fleet)

    assert disruptor.steps(START, is_quiet=False) == ()
    assert disruptor.next_time() == START + 1.0


async def test_a_replica_that_does_not_lead_takes_nothing_away(world: World) -> None:
    world.is_leading = False
    await world.pass_time(5)

    assert world.server.writes == []
    assert list(world.fleet.cluster.inventory.claims) == ["claim-a"]


async def test_a_deletion_that_something_was_written_before_is_thought_over(world: World) -> None:
    await world.pass_time(2)
    claim = world.fleet.cluster.inventory.claims["claim-a"]
    assert DISRUPTION in claim.metadata.annotations
    newer = annotated(claim, {"somebody": "else"})
    path = f"{NODE_CLAIMS.path}/claim-a"
    steps = world.disruptor.steps(world.now + 1.0, is_quiet=True)
    world.server.put(path, write(newer))

    await world.writer.write(steps)

    assert path in world.server.objects


async def test_whoever_has_only_just_begun_to_look_does_not_know_whether_a_node_is_quiet(world: World) -> None:
    world.restart()
    await world.pass_time(15)
    assert world.server.writes == []

    await world.pass_time(20)
    assert "claim-a" not in world.claims()


async def test_a_node_that_has_replaced_another_waits_for_the_pods_from_there() -> None:
    fleet = Fleet()
    fleet.node("old")
    old = fleet.claim_of("old")
    fleet.cluster.apply(replace(old, metadata=replace(old.metadata, deletion_timestamp=BORN)))
    record = DecisionRecord(
        reason="Drifted", message="", since=BORN, node_claims=("claim-old",), replacements=("claim-new",)
    )
    fleet.node("new", notes={REPLACES: record.text})
    disruptor = disruptor_of(fleet)
    assert [disruptor.steps(START + seconds, is_quiet=True) for seconds in (0, 20, 40)] == [()] * 3
    fleet.remove_node(old)

    assert [bool(disruptor.steps(START + seconds, is_quiet=True)) for seconds in (60, 70, 80)] == [False, False, True]


async def test_a_node_whose_pods_came_and_went_a_moment_ago_is_not_quiet(world: World) -> None:
    fleet = Fleet(disruption={"consolidateAfter": "30s", "consolidationPolicy": "WhenEmpty"})
    fleet.node("a")
    fleet.pod("agent", "a", owner="DaemonSet")
    disruptor = disruptor_of(fleet)
    fleet.pod("short", "a")
    assert disruptor.steps(START, is_quiet=True) == ()
    pod = fleet.cluster.pod(ObjectKey("default", "short"))
    assert pod is not None
    fleet.cluster.apply(replace(pod, status=replace(pod.status, phase="Succeeded")))

    seen: list[Any] = [disruptor.steps(START + seconds, is_quiet=True) for seconds in range(11, 71, 10)]

    assert [bool(steps) for steps in seen] == [False, False, False, True, False, False]


async def test_people_are_told_once_why_a_node_stays(world: World) -> None:
    world.fleet.mark("a", do_not_disrupt="true")
    world.server.put(f"{NODE_CLAIMS.path}/claim-a", write(world.fleet.claim_of("a")))

    await world.pass_time(60)

    sentence = "Node stays: it has the annotation karpenter.sh/do-not-disrupt"
    assert world.recorder.told == [("claim-a", "Unconsolidatable", sentence)]
    assert world.recorder.severities == [EventType.NORMAL]
    assert world.server.writes == []


async def test_nobody_is_told_why_a_node_stays_while_another_one_goes(world: World) -> None:
    world.fleet.node("b", notes={"karpenter.sh/do-not-disrupt": "true"})
    world.fleet.pod("other", "b", gpus=1)

    first, *_ = world.disruptor.steps(START, is_quiet=True)

    assert not isinstance(first, Stay)


@pytest.mark.parametrize(
    ("message", "seconds", "is_told"),
    [
        ("one", TOLD_SECONDS, False),
        ("other", TOLD_SECONDS - 1.0, False),
        ("other", TOLD_SECONDS, True),
    ],
)
def test_only_another_sentence_is_told_and_not_soon(
    message: str,
    seconds: float,
    is_told: bool,  # noqa: FBT001
) -> None:
    told = StayNotices()
    told.news(staying("one"), START)

    assert bool(told.news(staying(message), START + seconds)) == is_told


def test_many_nodes_that_stay_are_told_of_one_part_after_the_other() -> None:
    told, kept = StayNotices(), staying("one", count=MOST_TOLD + 1)

    assert [len(told.news(kept, START)) for _ in range(3)] == [MOST_TOLD, 1, 0]


def test_what_was_told_of_a_node_claim_that_is_gone_is_forgotten() -> None:
    told, kept = StayNotices(), staying("one", count=2)
    told.news(kept, START)

    told.keep_only(frozenset({kept[1].claim.metadata.uid}))

    assert [stay.claim for stay in told.news(kept, START)] == [kept[0].claim]


def staying(message: str, count: int = 1) -> list[Ineligible]:
    fleet = Fleet()
    for number in range(count):
        fleet.node(f"n{number}")
    return [Ineligible(claim=fleet.claim_of(f"n{number}"), message=message, is_lasting=True) for number in range(count)]


def test_nothing_new_is_decided_before_the_pods_of_a_node_that_went_have_successors() -> None:
    fleet = Fleet(disruption={"consolidateAfter": "Never"})
    for name, kind in (("a", "gpu-1"), ("b", "gpu-2"), ("room", "gpu-1")):
        fleet.node(name, kind)
    fleet.pod("one", "a", gpus=1)
    fleet.pod("two", "b", gpus=1)
    fleet.remove_kind("gpu-2")
    going = fleet.claim_of("a")
    record = DecisionRecord(reason="Drifted", message="", since=BORN, node_claims=(going.name,))
    fleet.cluster.apply(annotated(going, {DISRUPTION: record.text}))
    disruptor = disruptor_of(fleet)
    assert [type(step) for step in disruptor.steps(START, is_quiet=False)] == [Close]
    disruptor.written(frozenset())

    fleet.cluster.remove(Pod, ObjectKey("default", "one"))
    fleet.cluster.remove(ResourceClaim, ObjectKey("default", "one-gpus"))
    fleet.remove_node(going)
    assert disruptor.steps(START + 11.0, is_quiet=True) == ()
    assert disruptor.next_time() == START + 12.0
    fleet.pod("successor", "room", gpus=1)

    assert [type(step) for step in disruptor.steps(START + 12.0, is_quiet=True)] == [Create, MarkNodeClaim]
