from pathlib import Path

import pytest

from dra_controlplane.client import Json
from dra_controlplane.installation import resources
from dra_kube.resources import Resource
from dra_operator.api.permissions import Permission, needed
from dra_operator.kinds import OPTIONAL, WATCHED
from dra_operator.settings import Role, Settings
from dra_scheduling.model.kinds import REGISTRY

ROOT = Path(__file__).parents[2]
BASE = list(resources(ROOT / "manifests/base"))
DOCUMENTS = list(resources(ROOT / "manifests/overlays/development"))
ROLES = [document for document in DOCUMENTS if document["kind"] in {"ClusterRole", "Role"}]
BINDINGS = [document for document in DOCUMENTS if document["kind"] in {"ClusterRoleBinding", "RoleBinding"}]


def name_of(value: Json | Resource) -> str:
    return value.plural if isinstance(value, Resource) else f"{value['kind']}-{value['metadata']['name']}"


def rule_for(role: str, group: str, resource: str) -> list[Json]:
    return [
        rule
        for document in ROLES
        if document["metadata"]["name"] == role
        for rule in document["rules"]
        if group in rule["apiGroups"] and resource in rule["resources"]
    ]


@pytest.mark.parametrize("role", ROLES, ids=name_of)
def test_a_role_names_what_it_allows(role: Json) -> None:
    for rule in role["rules"]:
        assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
        assert "secrets" not in rule["resources"]


@pytest.mark.parametrize("binding", BINDINGS, ids=name_of)
def test_a_binding_joins_a_role_and_accounts_that_are_there(binding: Json) -> None:
    there = {(document["kind"], document["metadata"]["name"]) for document in DOCUMENTS}

    assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) in there
    assert {(subject["kind"], subject["name"]) for subject in binding["subjects"]} <= there
    assert {subject["namespace"] for subject in binding["subjects"]} == {"dra-scheduler-system"}


@pytest.mark.parametrize("role", [Role.SCHEDULER, Role.BINDER, Role.NODECLAIMS])
def test_a_role_may_do_what_it_asks_for_at_its_start(role: Role) -> None:
    environment = {"DRA_ROLES": role.value, "DRA_LEADER_ELECT": "true", "DRA_NAMESPACE": "dra-scheduler-system"}
    wanted = needed(Settings.from_environment(environment), (*WATCHED, *OPTIONAL))

    assert wanted
    assert [str(one) for one in wanted if not is_granted(one, f"dra-{role}", BASE)] == []


def test_one_process_may_play_all_roles_in_development() -> None:
    roles = "scheduler,binder,nodeclaims"
    environment = {"DRA_ROLES": roles, "DRA_LEADER_ELECT": "true", "DRA_NAMESPACE": "dra-scheduler-system"}
    wanted = needed(Settings.from_environment(environment), (*WATCHED, *OPTIONAL))

    assert [str(one) for one in wanted if not is_granted(one, "dra-scheduler", DOCUMENTS)] == []
    assert [str(one) for one in wanted if not is_granted(one, "dra-scheduler", BASE)] != []


def is_granted(wanted: Permission, account: str, documents: list[Json]) -> bool:
    rules = [
        rule
        for binding in documents
        if binding["kind"] == "ClusterRoleBinding" or (binding["kind"] == "RoleBinding" and wanted.namespace)
        if account in {subject["name"] for subject in binding["subjects"]}
        for role in documents
        if (role["kind"], role["metadata"]["name"]) == (binding["roleRef"]["kind"], binding["roleRef"]["name"])
        for rule in role["rules"]
    ]
    resource = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
    return any(
        wanted.verb in rule["verbs"]
        and wanted.group in rule["apiGroups"]
        and resource in rule["resources"]
        and wanted.name in rule.get("resourceNames", [wanted.name])
        for rule in rules
    )


@pytest.mark.parametrize("role", [Role.SCHEDULER, Role.BINDER, Role.NODECLAIMS])
def test_a_role_may_watch_what_it_keeps_in_memory_and_nothing_else(role: Role) -> None:
    allowed = {
        (group, plural)
        for document in ROLES
        if document["metadata"]["name"] == f"dra-{role}"
        for rule in document["rules"]
        if "watch" in rule["verbs"]
        for group in rule["apiGroups"]
        for plural in rule["resources"]
    }

    assert allowed == {(kind.group, kind.plural) for kind in REGISTRY if role.value in kind.roles}


@pytest.mark.parametrize("role", [Role.SCHEDULER, Role.BINDER, Role.NODECLAIMS])
def test_each_role_may_hold_its_own_lease_only(role: Role) -> None:
    rules = rule_for(f"dra-{role}", "coordination.k8s.io", "leases")

    assert sorted((rule["verbs"], rule.get("resourceNames")) for rule in rules) == [
        (["create"], None),
        (["get", "update"], [f"dra-{role}"]),
    ]
