from pathlib import Path

import pytest
import yaml

from kube_cel import DeviceView, compile_selector

LANGUAGE = yaml.safe_load((Path(__file__).parent / "language.yaml").read_text())


@pytest.mark.parametrize("expression", LANGUAGE["grammar"])
def test_the_grammar_is_read_as_kubernetes_reads_it(expression: str, devices: dict[str, DeviceView]) -> None:
    assert compile_selector(expression).evaluate(devices["fast"])


@pytest.mark.parametrize("expression", LANGUAGE["libraries"])
def test_the_libraries_compute_what_they_do_in_kubernetes(expression: str, devices: dict[str, DeviceView]) -> None:
    assert compile_selector(expression).evaluate(devices["fast"])
