import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_scheduling.instancetypes import Expanded, expand
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.wire import read_as

PAGE = (Path(__file__).parents[3] / "docs/node-provisioning.md").read_text()


def example() -> dict[str, Any]:
    (block,) = re.findall(r"```yaml\n(apiVersion: dra-scheduler.dev.*?)```", PAGE, re.DOTALL)
    document: dict[str, Any] = yaml.safe_load(block)
    return document


def test_the_example_is_sound_and_has_the_devices_that_the_text_speaks_of() -> None:
    result = expand(read_as(InstanceType, example()))

    assert isinstance(result, Expanded)
    assert result.drivers == {"dra.net": 16, "gpu.nvidia.com": 8}
    assert [sorted(one.device for one in bound.devices) for bound in result.devices.bound] == [
        ["efa-0", "efa-1", "gpu-0"]
    ]


@pytest.mark.parametrize(("indexes", "message"), [([0, 16], "dra.net has no device efa-16"), ([0, 15], "")])
def test_a_mistake_in_it_is_named_as_the_page_shows(indexes: list[int], message: str) -> None:
    document = example()
    document["spec"]["devices"]["bindings"][0]["devices"][1]["indexes"] = indexes

    result = expand(read_as(InstanceType, document))

    shown = () if isinstance(result, Expanded) else tuple(map(str, result))
    assert shown == ((f"spec.devices.bindings[0].devices[1]: {message}",) if message else ())
    assert all(line in PAGE for line in shown)
