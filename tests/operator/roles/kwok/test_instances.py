"""Which machine a NodeClaim gets."""

from collections.abc import Mapping

import pytest

from dra_operator.roles.kwok.instances import LaunchableTypes
from dra_operator.roles.kwok.objects import address, node_of
from dra_scheduling.basics.features import DEFAULT_FEATURES, NODE_ALLOCATABLE, Features
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.nodeclaims.launching import chosen
from dra_scheduling.wire import read_as

TYPE, ZONE, KIND = "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "karpenter.sh/capacity-type"
ARM = {"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}
TYPES: Mapping[str, Mapping[str, object]] = {
    "big": {"offerings": [{"zone": "a", "price": 4}, {"zone": "b", "price": 1, "capacityType": "spot"}]},
    "small": {"offerings": [{"zone": "a", "price": 2}, {"zone": "b", "price": 2, "available": False}]},
    "tiny": {"offerings": [{"zone": "c", "price": 3}], "capacity": {"cpu": 1}, "requirements": [ARM]},
    "broken": {"offerings": [{"zone": "a", "price": 0}], "overhead": {"cpu": 99}},
    "elsewhere": {"offerings": [{"zone": "a", "price": 0}]},
}


def catalogue() -> LaunchableTypes:
    found = LaunchableTypes(DEFAULT_FEATURES)
    for name, spec in TYPES.items():
        labels = {"dra-scheduler.dev/node-class": "another"} if name == "elsewhere" else {}
        body = {"metadata": {"name": name, "labels": labels}, "spec": {"capacity": {"cpu": 8}, **spec}}
        found.apply(read_as(InstanceType, body))
    return found


def claim(*requirements: tuple[str, str, list[str]], name: str = "n", **requests: str) -> NodeClaim:
    written = [{"key": key, "operator": operator, "values": values} for key, operator, values in requirements]
    reference = {"group": "dra-scheduler.dev", "kind": "InstanceType", "name": "default"}
    spec = {"nodeClassRef": reference, "requirements": written, "resources": {"requests": requests}}
    return read_as(NodeClaim, {"metadata": {"name": name, "uid": "u"}, "spec": spec})


def labels(wanted: NodeClaim) -> dict[str, str]:
    instance = chosen(wanted, catalogue().of_class("default"))
    return {} if instance is None else instance.labels


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (claim(), ("big", "b", "spot")),
        (claim((KIND, "In", ["on-demand"])), ("small", "a", "on-demand")),
        (claim((ZONE, "NotIn", ["b"])), ("small", "a", "on-demand")),
        (claim((TYPE, "In", ["small", "tiny"])), ("small", "a", "on-demand")),
        (claim((TYPE, "In", ["small"]), (ZONE, "In", ["b"])), ()),
        (claim(("kubernetes.io/arch", "In", ["arm64"])), ("big", "b", "spot")),
        (claim((ZONE, "In", ["c"])), ("tiny", "c", "on-demand")),
        (claim((ZONE, "In", ["c"]), cpu="2"), ()),
        (claim(cpu="9"), ()),
        (claim((TYPE, "In", ["elsewhere", "broken"])), ()),
        (claim(("example.com/rack", "Exists", [])), ("big", "b", "spot")),
    ],
)
def test_the_cheapest_machine_is_chosen_that_the_node_claim_allows(
    wanted: NodeClaim, expected: tuple[str, ...]
) -> None:
    found = labels(wanted)

    assert tuple(found[key] for key in (TYPE, ZONE, KIND) if key in found) == expected


def test_a_label_that_only_the_node_claim_speaks_of_is_given() -> None:
    assert labels(claim(("team", "In", ["research"])))["team"] == "research"


def test_what_nobody_says_is_as_usual_and_what_somebody_says_is_not() -> None:
    assert labels(claim((TYPE, "In", ["small"])))["kubernetes.io/arch"] == "amd64"
    assert labels(claim((TYPE, "In", ["tiny"])))["kubernetes.io/arch"] == "arm64"


def test_a_type_that_has_become_unsound_is_not_had_any_more() -> None:
    types = catalogue()
    unsound = {"metadata": {"name": "big"}, "spec": {"offerings": [], "capacity": {}}}
    types.apply(read_as(InstanceType, unsound))

    instance = chosen(claim(), types.of_class("default"))
    assert instance is not None
    assert instance.expanded.name == "small"


def test_the_host_name_of_a_long_name_fits_into_a_label() -> None:
    metadata = node_of(claim(name="n" * 100), is_ready=True)["metadata"]

    assert metadata["name"] == "n" * 100
    assert len(metadata["labels"]["kubernetes.io/hostname"]) == 63


def test_a_node_declares_the_feature_without_which_a_server_refuses_slices_of_its_own_resources() -> None:
    features = Features.of({NODE_ALLOCATABLE: True})

    assert node_of(claim(), is_ready=True, features=features)["status"]["declaredFeatures"] == [NODE_ALLOCATABLE]
    assert node_of(claim(), is_ready=True)["status"]["declaredFeatures"] == []


def test_the_address_of_a_name_is_always_the_same() -> None:
    assert address("10", "n") == address("10", "n") != address("10", "m")
