import pytest

from dra_kube.api import Json
from dra_kube.errors import UnclearError
from dra_kube.resources import Resource
from dra_operating.api import ApiInMemory, Fault
from dra_operator.api.discovery import optional, unserved
from dra_operator.api.permissions import Permission, missing, needed
from dra_operator.kinds import BETA_TAINT_RULES, INSTANCE_TYPES, NODE_CLAIMS, NODE_POOLS, TAINT_RULES, WATCHED
from dra_operator.settings import Settings


def of_roles(roles: str, **more: str) -> set[str]:
    return {str(one) for one in needed(Settings.from_environment({"DRA_ROLES": roles, **more}))}


class Reviewing(ApiInMemory):
    """Grants everything but what it is told."""

    def __init__(self, denied: Permission) -> None:
        super().__init__()
        self.denied = denied

    async def create(self, path: str, body: Json) -> Json:
        asked = body["spec"]["resourceAttributes"]
        fields = ("verb", "group", "resource", "subresource", "namespace", "name")
        return {"status": {"allowed": Permission(**{key: asked[key] for key in fields}) != self.denied}}


def test_a_scheduler_needs_no_right_to_bind() -> None:
    assert "create pods/binding in every namespace" not in of_roles("scheduler")
    assert "create bindrequests.scheduling.run.ai in every namespace" in of_roles("scheduler")


def test_a_binder_needs_the_right_that_1_36_brought() -> None:
    assert "update resourceclaims.resource.k8s.io/binding in every namespace" in of_roles("binder")


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        ("own", {"delete nodeclaims.karpenter.sh", "patch nodes", "create pods/eviction", "patch instancetypes"}),
        ("gate", {"patch nodes", "patch instancetypes"}),
        ("plan", {"patch instancetypes"}),
        ("off", set()),
    ],
)
def test_whoever_leaves_nodeclaims_to_others_needs_fewer_rights(mode: str, wanted: set[str]) -> None:
    settings = Settings.from_environment({"DRA_ROLES": "nodeclaims", "DRA_NODECLAIMS": mode})
    asked = [str(one) for one in needed(settings, (*WATCHED, NODE_CLAIMS, NODE_POOLS, INSTANCE_TYPES))]

    writes = ("delete nodeclaims.karpenter.sh", "patch nodes", "create pods/eviction", "patch instancetypes")
    assert {write for write in writes if any(one.startswith(write) for one in asked)} == wanted


def test_no_right_is_asked_for_on_what_a_cluster_does_not_serve() -> None:
    assert not [one for one in of_roles("nodeclaims") if not one.startswith(("list", "watch"))]


def test_leases_are_asked_for_where_they_are_used() -> None:
    lease = "update leases.coordination.k8s.io dra-binder in namespace home"

    assert lease in of_roles("binder", DRA_LEADER_ELECT="true", DRA_NAMESPACE="home")
    assert lease not in of_roles("binder", DRA_LEADER_ELECT="false", DRA_NAMESPACE="home")


async def test_a_permission_that_is_missing_is_named() -> None:
    denied = Permission(verb="create", group="", resource="pods", subresource="binding")
    settings = Settings.from_environment({"DRA_ROLES": "binder"})

    assert await missing(Reviewing(denied), needed(settings)) == (
        "no permission to create pods/binding in every namespace",
    )


def cluster_without(*plurals: str) -> ApiInMemory:
    api = ApiInMemory()
    for root in {resource.root for resource in WATCHED}:
        served = [{"name": one.plural} for one in WATCHED if one.root == root and one.plural not in plurals]
        if served:
            api.put(root, {"metadata": {}, "resources": served})
    return api


async def test_a_cluster_with_every_kind_is_ready() -> None:
    assert await unserved(cluster_without()) == ()


async def test_a_missing_definition_is_named_with_what_to_do() -> None:
    (line,) = await unserved(cluster_without("bindrequests"))

    assert line.startswith("the cluster does not serve bindrequests in scheduling.run.ai/v1alpha2")
    assert line.endswith("apply the CustomResourceDefinitions in crds/")


async def test_an_old_cluster_is_told_what_is_needed() -> None:
    lines = await unserved(
        cluster_without("resourceclaims", "resourceclaimtemplates", "resourceslices", "deviceclasses")
    )

    assert len(lines) == 4
    assert all(line.endswith("in resource.k8s.io/v1: Kubernetes 1.36 or newer is needed") for line in lines)


@pytest.mark.parametrize(
    ("served", "found"),
    [((), ()), ((BETA_TAINT_RULES,), (BETA_TAINT_RULES,)), ((TAINT_RULES, BETA_TAINT_RULES), (TAINT_RULES,))],
    ids=["1.36", "1.36 with the beta", "both"],
)
async def test_rules_are_read_in_the_newest_version_that_is_served(
    served: tuple[Resource, ...], found: tuple[Resource, ...]
) -> None:
    api = cluster_without()
    for resource in served:
        others = (await api.get(resource.root))["resources"] if resource is TAINT_RULES else []
        api.put(resource.root, {"metadata": {}, "resources": [*others, {"name": resource.plural}]})

    assert await unserved(api) == ()
    assert await optional(api) == found


def test_what_is_watched_besides_has_to_be_allowed() -> None:
    settings = Settings.from_environment({"DRA_ROLES": "scheduler"})
    line = "watch devicetaintrules.resource.k8s.io in every namespace"

    assert line not in map(str, needed(settings))
    assert line in map(str, needed(settings, (*WATCHED, TAINT_RULES)))


async def test_a_server_that_cannot_be_asked_serves_nothing_yet() -> None:
    api = cluster_without()
    api.faults.append(Fault(verb="get", path="resource", error=UnclearError("get", 503)))

    with pytest.raises(UnclearError):
        await unserved(api)
