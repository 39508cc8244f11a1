from pathlib import Path
from typing import Any

import pytest
import yaml

from kube_cel import AttributeValue, DeviceView
from kube_cel.quantity import Quantity
from kube_cel.semver import Version

TRUTH = yaml.safe_load((Path(__file__).parent / "truth.yaml").read_text())


@pytest.fixture(scope="session")
def devices() -> dict[str, DeviceView]:
    """The devices of truth.yaml by name."""
    return {name: view(written) for name, written in TRUTH["devices"].items()}


def view(written: dict[str, Any]) -> DeviceView:
    return DeviceView.of(
        written["driver"],
        {name: attribute(value) for name, value in written["attributes"].items()},
        {name: Quantity.parse(value) for name, value in written["capacity"].items()},
        allow_multiple_allocations=written.get("shared", False),
    )


def attribute(value: Any) -> AttributeValue:  # noqa: ANN401  whatever YAML holds
    match value:
        case {"version": text}:
            return Version.parse(text)
        case {"versions": texts}:
            return tuple(map(Version.parse, texts))
        case list():
            return tuple(value)
        case bool() | int() | str():
            return value
        case _:
            raise AssertionError(value)
