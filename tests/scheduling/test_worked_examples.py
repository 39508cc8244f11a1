"""The worked examples at the heads of modules come out as they say."""

import doctest
from types import ModuleType

import pytest

from dra_scheduling.allocation import prioritized_list, search
from dra_scheduling.fit import pod_class


@pytest.mark.parametrize("module", [search, prioritized_list, pod_class], ids=lambda module: str(module.__name__))
def test_an_example_comes_out_as_it_says(module: ModuleType) -> None:
    found = doctest.testmod(module)

    assert found.attempted > 0
    assert found.failed == 0
