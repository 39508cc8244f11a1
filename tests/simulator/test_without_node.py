"""`dra simulate --without-node`: what would become of the pods if a node went away."""

import json

from dra_cases.command import Ended, dra
from dra_cases.planning import Json
from dra_cases.worlds import manifests, standard_classes


def asked(world: Json, *words: str) -> Ended:
    items = [*standard_classes(), *manifests(world)]
    return dra("simulate", "-", *words, text=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def without(world: Json, *nodes: str) -> Json:
    words = [word for node in nodes for word in ("--without-node", node)]
    found: Json = json.loads(asked(world, "-o", "json", *words).out)["withoutNodes"]
    return found


WORKER: Json = {"cpu": 2, "runs": "n1", "phase": "Running"}
TWO: Json = {"nodes": {"n1": {"cpu": 4}, "n2": {"cpu": 4}}, "pods": {"p": WORKER}}


def test_a_pod_goes_where_there_is_room() -> None:
    assert without(TWO, "n1") == {
        "nodes": ["n1"],
        "possible": True,
        "moves": [{"pod": "default/p", "node": "n2", "nodeClaim": "", "devices": []}],
        "stuck": [],
        "nodeClaims": [],
        "price": 0.0,
    }


def test_nodes_that_go_together_are_no_place_for_each_other() -> None:
    found = without(TWO, "n2", "n1", "n2")
    assert (found["nodes"], found["possible"], found["moves"]) == (["n1", "n2"], False, [])
    assert [one["pod"] for one in found["stuck"]] == ["default/p"]


def test_a_pod_without_another_place_gets_a_new_node() -> None:
    world: Json = {**TWO, "nodes": {"n1": {}}, "pools": {"default": {}}, "types": {"t": {"price": 1.5}}}
    found = without(world, "n1")
    (claim,) = found["nodeClaims"]
    assert found["moves"][0]["nodeClaim"] == claim["metadata"]["name"]
    assert (found["possible"], found["price"]) == (True, 1.5)


def test_devices_are_named_on_nodes_that_are_there() -> None:
    world: Json = {
        "nodes": {"n1": {}, "n2": {}},
        "slices": [{"node": name, "pool": name, "owner": [name], "devices": ["d"]} for name in ("n1", "n2")],
        "claims": {"c": {"has": ["n1/d"], "users": ["p"]}},
        "pods": {"p": {**WORKER, "claims": ["c"]}},
    }
    assert without(world, "n1")["moves"][0]["devices"] == ["a/n2/d"]


def test_the_question_changes_nothing_of_the_answer_to_the_other_one() -> None:
    world: Json = {**TWO, "pods": {"p": WORKER, "q": {"cpu": 1}}}
    plain = json.loads(asked(world, "-o", "json").out)
    found = json.loads(asked(world, "-o", "json", "--without-node", "n1").out)
    del found["withoutNodes"]
    assert found == plain


def test_a_node_that_cannot_go_is_a_failure_where_that_is_asked_for() -> None:
    assert asked(TWO, "--without-node", "n1", "--fail-on-pending").code == 0
    both = ("--without-node", "n1", "--without-node", "n2")
    assert asked(TWO, *both).code == 0
    assert asked(TWO, *both, "--fail-on-pending").code == 1


def test_a_node_that_is_not_there_ends_with_2() -> None:
    ended = asked(TWO, "--without-node", "n9")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "--without-node: Node n9: -: expected a node that is there\n"


def test_a_table_says_in_one_line_whether_it_can_go() -> None:
    ended = asked(TWO, "-o", "table", "--without-node", "n1")
    assert (
        "Without n1: every pod has a place\n\nPOD         WOULD GO TO   DEVICES\ndefault/p   node n2       -\n"
        in ended.out
    )
