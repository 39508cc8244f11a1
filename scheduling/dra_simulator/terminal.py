"""Tables with colours."""

from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from dra_simulator.tables import GAP, Block, Table


def draw(blocks: Sequence[Block], stream: TextIO) -> None:
    """Write the blocks to a terminal, as wide as it is."""
    console = Console(file=stream)
    for number, block in enumerate(blocks):
        if number:
            console.print()
        console.print(Text(block) if isinstance(block, str) else _drawn(block))


def _drawn(table: Table) -> RichTable:
    drawn = RichTable(box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="dim")
    for column, header in enumerate(table.headers):
        # On a narrow terminal the widest columns fold; nothing of what they say is cut off.
        drawn.add_column(header, style="" if column else table.style, overflow="fold")
    for row in table.rows:
        # Text is taken as it is: brackets in a message are no markup.
        drawn.add_row(*map(Text, row))
    return drawn
