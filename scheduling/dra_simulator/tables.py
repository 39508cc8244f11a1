"""Tables for people: aligned text, with colours on a terminal only."""

from collections.abc import Sequence
from typing import TextIO

import msgspec

GAP = "   "


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows under headers. `style` is the colour of the first column on a terminal."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    style: str = "bold"


Block = Table | str
"""A table, or a line of text."""


def show(blocks: Sequence[Block], stream: TextIO) -> None:
    """Write the blocks, an empty line between them; a table without rows is left out."""
    shown = [block for block in blocks if isinstance(block, str) or block.rows]
    if stream.isatty():
        # Most runs write to a pipe, and need not wait for what colours take.
        from dra_simulator.terminal import draw  # noqa: PLC0415

        draw(shown, stream)
    else:
        stream.write("\n\n".join(block if isinstance(block, str) else _plain(block) for block in shown) + "\n")


def _plain(table: Table) -> str:
    rows = (table.headers, *table.rows)
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.headers))]
    return "\n".join(
        GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
