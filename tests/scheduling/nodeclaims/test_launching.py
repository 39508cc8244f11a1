from dra_scheduling.instancetypes import Expanded, expand
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.nodeclaims.launching import chosen
from dra_scheduling.wire import read_as

RACK = "example.com/rack"


def of_rack(name: str, price: str) -> Expanded:
    requirement = {"key": RACK, "operator": "In", "values": [name]}
    spec = {"offerings": [{"zone": "z", "price": price}], "capacity": {"cpu": 1}, "requirements": [requirement]}
    found = expand(read_as(InstanceType, {"metadata": {"name": name}, "spec": spec}))
    assert isinstance(found, Expanded)
    return found


def claim(*requirements: dict[str, object]) -> NodeClaim:
    ref = {"group": "dra-scheduler.dev", "kind": "InstanceType", "name": "default"}
    spec = {"nodeClassRef": ref, "requirements": list(requirements)}
    return read_as(NodeClaim, {"metadata": {"name": "n"}, "spec": spec})


TYPES = (of_rack("cheap", "1"), of_rack("dear", "2"))


def test_a_label_that_the_node_claim_does_not_mention_is_what_the_type_says() -> None:
    found = chosen(claim(), TYPES)
    assert found is not None
    assert (found.expanded.name, found.labels[RACK]) == ("cheap", "cheap")


def test_a_label_that_the_node_claim_mentions_chooses_the_type() -> None:
    found = chosen(claim({"key": RACK, "operator": "In", "values": ["dear"]}), TYPES)
    assert found is not None
    assert (found.expanded.name, str(found.offering.price)) == ("dear", "2")


def test_a_label_that_must_not_be_there_rules_the_type_out() -> None:
    assert chosen(claim({"key": RACK, "operator": "DoesNotExist"}), TYPES) is None
