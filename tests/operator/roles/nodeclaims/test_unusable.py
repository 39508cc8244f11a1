"""Objects that an API server takes, and that nobody here can read."""

from collections.abc import Mapping
from typing import Any

import pytest

from dra_kube.api import Json
from dra_kube.resources import Kind
from dra_operating.api import ApiInMemory
from dra_operating.clock import ManualClock
from dra_operating.loop import running, settle
from dra_operating.requests import RequestsInMemory
from dra_operator.api.events import Recorder
from dra_operator.api.leases import Leadership
from dra_operator.kinds import BY_KIND, INSTANCE_TYPES, NODE_CLAIMS, NODE_POOLS
from dra_operator.roles.nodeclaims.role import NodeClaimsRole
from dra_operator.settings import Role, Settings
from dra_operator.watch.cache import Cache
from dra_operator.watch.intake import BadInput, Intake
from dra_operator.watch.watches import Watches
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.model.nodepools import NodePool

HUGE = "1e400"
OWN: Json = {"group": "dra-scheduler.dev", "kind": "InstanceType", "name": "default"}
OTHER: Json = {"group": "karpenter.test", "kind": "TestNodeClass", "name": "default"}
TYPE: Json = {"offerings": [{"zone": "a", "price": HUGE}], "capacity": {"cpu": "1"}}
BROKEN: Mapping[str, tuple[Kind, Json, str, str]] = {
    "a price": (InstanceType, TYPE, "Valid", "spec.offerings[0].price"),
    "room": (InstanceType, {**TYPE, "offerings": [], "capacity": {"cpu": HUGE}}, "Valid", "spec.capacity"),
    "a limit": (
        NodePool,
        {"template": {"spec": {"nodeClassRef": OWN, "requirements": []}}, "limits": {"cpu": HUGE}},
        "ValidationSucceeded",
        "spec.limits",
    ),
    "a request": (
        NodeClaim,
        {"nodeClassRef": OWN, "requirements": [], "resources": {"requests": {"cpu": HUGE}}},
        "ValidationSucceeded",
        "spec.resources.requests",
    ),
}


class Office(RequestsInMemory):
    """The role, what it is told of, and the server that it writes to."""

    def __init__(self) -> None:
        super().__init__()
        cache, recorder = Cache(), Recorder(ApiInMemory(), "tester", ManualClock())
        self.leadership = Leadership(Role.NODECLAIMS, lambda _: self.role.leadership_changed(), lambda: 0.0)
        settings = Settings.from_environment({"DRA_ROLES": "nodeclaims"})
        self.role = NodeClaimsRole(settings, api=self, cache=cache, recorder=recorder, leadership=self.leadership)
        watches = Watches(ManualClock(), lambda _, __: None)
        for resource in (INSTANCE_TYPES, NODE_POOLS, NODE_CLAIMS):
            watches.add(resource)
        bad_input = BadInput(recorder, supply=self.role)
        self.intake = Intake(cache, watches, bad_input, [self.role])

    async def see(self, kind: Kind, spec: Json) -> str:
        """Let an object be in the cluster, or be changed; return its path."""
        resource = BY_KIND[kind]
        path = f"/apis/{resource.api_version}/{resource.plural}/o"
        before = self.objects.get(path, {"metadata": {"name": "o", "uid": "u"}})
        self.put(path, {**before, "apiVersion": resource.api_version, "kind": kind.__name__, "spec": spec})
        await self.show(kind, path)
        return path

    async def show(self, kind: Kind, path: str) -> None:
        """Let everybody see what the server has."""
        self.intake.observe(kind, "MODIFIED", self.objects[path])
        await settle()

    def said(self, path: str) -> dict[str, tuple[str, str]]:
        conditions: list[dict[str, Any]] = (self.objects[path].get("status") or {}).get("conditions") or []
        return {one["type"]: (one["status"], one["message"]) for one in conditions}


@pytest.mark.parametrize("name", BROKEN)
async def test_an_object_that_cannot_be_read_says_so_with_the_path(name: str) -> None:
    kind, spec, condition, where = BROKEN[name]
    office = Office()
    async with running(*office.role.jobs()):
        office.leadership.take()
        path = await office.see(kind, spec)
        status, message = office.said(path)[condition]

        assert (status, message.startswith(where), HUGE in message) == ("False", True, True)
        writes = len(office.calls)
        await office.show(kind, path)
        assert len(office.calls) == writes


async def test_an_object_that_can_be_read_again_says_so() -> None:
    office = Office()
    async with running(*office.role.jobs()):
        office.leadership.take()
        path = await office.see(InstanceType, TYPE)
        await office.see(InstanceType, {**TYPE, "offerings": [{"zone": "a", "price": "1"}]})

        assert office.said(path)["Valid"] == ("True", "")


async def test_objects_of_others_are_left_alone() -> None:
    office = Office()
    async with running(*office.role.jobs()):
        office.leadership.take()
        kind, spec, _, _ = BROKEN["a request"]
        path = await office.see(kind, {**spec, "nodeClassRef": OTHER})

        assert (office.said(path), office.calls) == ({}, [])


async def test_who_takes_over_says_what_was_seen_before() -> None:
    office = Office()
    async with running(*office.role.jobs()):
        path = await office.see(InstanceType, TYPE)
        assert office.said(path) == {}
        office.leadership.take()
        await settle()

        assert office.said(path)["Valid"][0] == "False"


@pytest.mark.parametrize("way", ["event", "list"])
@pytest.mark.parametrize("name", BROKEN)
async def test_an_object_that_has_gone_is_forgotten(name: str, way: str) -> None:
    kind, spec, _, _ = BROKEN[name]
    office = Office()
    async with running(*office.role.jobs()):
        path = await office.see(kind, spec)
        if way == "event":
            office.intake.observe(kind, "DELETED", office.objects[path])
        else:
            office.intake.listed(BY_KIND[kind], frozenset({"another"}))
        office.leadership.take()
        await settle()

        assert office.calls == []


@pytest.mark.parametrize("way", ["event of another kind", "event of a namesake", "list that has it"])
async def test_an_object_that_is_there_is_not_forgotten(way: str) -> None:
    office = Office()
    async with running(*office.role.jobs()):
        path = await office.see(InstanceType, TYPE)
        if way == "event of another kind":
            office.intake.observe(NodePool, "DELETED", office.objects[path])
        elif way == "event of a namesake":
            office.intake.observe(
                InstanceType, "DELETED", {"metadata": {**office.objects[path]["metadata"], "uid": "v"}}
            )
        else:
            office.intake.listed(INSTANCE_TYPES, frozenset({"u"}))
        office.leadership.take()
        await settle()

        assert office.said(path)["Valid"][0] == "False"
