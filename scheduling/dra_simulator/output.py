"""Results as JSON, YAML or tables."""

from collections.abc import Sequence
from typing import TextIO

import msgspec
import yaml

from dra_simulator.tables import Block, show


def chosen_format(wanted: str | None, stream: TextIO) -> str:
    """Return the format that is wanted, or `table` for people and `json` for programs."""
    return wanted or ("table" if stream.isatty() else "json")


def emit(value: object, blocks: Sequence[Block], wanted: str | None, stream: TextIO) -> None:
    """Write a result in the wanted format; `blocks` are what people see of it."""
    match chosen_format(wanted, stream):
        case "json":
            stream.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
        case "yaml":
            yaml.safe_dump(value, stream, sort_keys=False, allow_unicode=True, width=120)
        case _:
            show(blocks, stream)
