"""How messages describe the values that a label may have."""

import pytest

from dra_scheduling.basics.requirements import Requirement
from dra_scheduling.model.nodeclaims import NodeRequirement
from dra_simulator.launch.host_views import values_text


@pytest.mark.parametrize(
    ("operator", "text"), [("Gt", "at least 5"), ("Gte", "at least 4"), ("Lt", "at most 3"), ("Lte", "at most 4")]
)
def test_a_bound_is_worded_rightly_for_every_operator(operator: str, text: str) -> None:
    written = NodeRequirement(key="example.com/slots", operator=operator, values=("4",))
    assert values_text(Requirement.of(written)) == text
