"""Which slices belong to a node, and what is left of a shared device when pods go."""

import pytest
from msgspec.structs import replace

from dra_cases.planning import Json, Plan, slice_of
from dra_scheduling.devices import NodePlace, PoolIndex
from dra_scheduling.model.base import OwnerReference
from dra_scheduling.template_devices import Allotment, Published

JOB: Json = {"resource": "jobs", "apiGroup": "batch", "name": "u1", "uid": "u1"}


@pytest.mark.parametrize(
    ("owners", "counts"),
    [
        ([], True),
        (["Node/ready"], True),
        (["Node/new"], False),
        (["DaemonSet/new", "Pod/new"], True),
        (["DaemonSet/driver", "Node/new"], False),
        (["DaemonSet/driver", "Node/ready"], True),
    ],
)
def test_a_slice_counts_once_the_node_that_owns_it_is_ready(owners: list[str], counts: bool) -> None:  # noqa: FBT001
    piece = slice_of(0, {"devices": ["d"]})
    kinds = [owner.split("/") for owner in owners]
    references = tuple(OwnerReference(api_version="v1", kind=kind, name=name, uid=name) for kind, name in kinds)
    index = PoolIndex()
    index.apply(replace(piece, metadata=replace(piece.metadata, owner_references=references)))

    assert bool(Published(index, frozenset({"ready"})).on_node(NodePlace("n1", {}))) == counts


@pytest.mark.parametrize(
    ("old", "other", "memory", "cores"),
    [
        (["u2"], ["u3"], 4, 2),
        (["u1"], ["u3"], 12, 4),
        (["u2"], ["u1"], 8, 2),
        (["u1"], ["u1"], 16, 4),
        (["u1", "u3"], ["u3"], 4, 2),
        (["u1", JOB], ["u3"], 4, 2),
    ],
)
def test_the_shares_of_claims_whose_pods_all_go_are_there_again(
    old: list[Json | str], other: list[Json | str], memory: int, cores: int
) -> None:
    def can_have(memory: int, cores: int) -> bool:
        case: Json = {
            "slices": [{"devices": [{"name": "d", "shared": True, "has": {"memory": 16, "cores": 4}}]}],
            "deleting": ["u1"],
            "claims": {
                "old": {"has": [{"device": "p/d", "takes": {"a/memory": 8, "a/cores": 2}}], "users": old},
                "other": {"has": [{"device": "p/d", "takes": {"a/memory": 4}}], "users": other},
                "c": [{"name": "r", "takes": {"memory": memory, "cores": cores}}],
            },
        }
        return isinstance(Plan(case).ask("nc", ["c"]), Allotment)

    assert [can_have(memory, cores), can_have(memory + 1, cores), can_have(memory, cores + 1)] == [True, False, False]
