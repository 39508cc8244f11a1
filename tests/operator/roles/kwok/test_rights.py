"""What the account of made-up machines may do, and what the role asks for."""

import re
from pathlib import Path

import yaml

from dra_operator.api.permissions import needed
from dra_operator.kinds import OPTIONAL, WATCHED
from dra_operator.roles.kwok.behaviour import READERS
from dra_operator.settings import Settings

ROOT = Path(__file__).parents[4]
ACCESS = list(yaml.safe_load_all((ROOT / "manifests/overlays/kwok/access.yaml").read_text()))
ENVIRONMENT = {"DRA_ROLES": "kwok", "DRA_LEADER_ELECT": "true", "DRA_NAMESPACE": "dra-scheduler-system"}
ROLES = [one for one in ACCESS if one["kind"] in {"Role", "ClusterRole"}]
Right = tuple[str, str, str, str]


def granted() -> set[Right]:
    """Namespace (empty: every one), group, resource and verb of every rule."""
    return {
        (role["metadata"].get("namespace", ""), group, resource, verb)
        for role in ROLES
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def wanted() -> set[Right]:
    asked = needed(Settings.from_environment(ENVIRONMENT), (*WATCHED, *OPTIONAL))
    return {
        (one.namespace, one.group, f"{one.resource}/{one.subresource}" if one.subresource else one.resource, one.verb)
        for one in asked
    }


def test_the_account_may_do_what_the_role_asks_for_and_no_more() -> None:
    # What is watched may be read as well, and Events are best effort: nobody asks for them.
    reading = {(*one[:3], "get") for one in wanted() if one[3] == "watch"}
    events = {("", "", "events", verb) for verb in ("get", "create", "patch")}

    assert granted() == wanted() | reading | events


def test_every_role_of_the_account_is_bound_to_it() -> None:
    bindings = [one for one in ACCESS if one["kind"].endswith("Binding")]
    bound = {(one["metadata"].get("namespace"), one["roleRef"]["kind"], one["roleRef"]["name"]) for one in bindings}

    assert all([one["name"] for one in binding["subjects"]] == ["dra-kwok"] for binding in bindings)
    assert bound >= {(one["metadata"].get("namespace"), one["kind"], one["metadata"]["name"]) for one in ROLES}


def test_nothing_is_asked_for_where_there_are_no_node_claims() -> None:
    asked = {str(one) for one in needed(Settings.from_environment({"DRA_ROLES": "kwok"}), WATCHED)}

    assert not any(one.startswith(("create", "patch", "delete")) and "lease" not in one for one in asked)


def test_the_page_lists_every_annotation() -> None:
    page = (ROOT / "docs/node-provisioning.md").read_text()
    table = page.partition("### Faults and pauses")[2].partition("\n## ")[0]

    assert re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE) == list(READERS)
