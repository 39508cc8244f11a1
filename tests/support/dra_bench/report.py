"""What a benchmark tells: progress while it runs, a table in the end."""

from collections.abc import Callable

import msgspec

Say = Callable[[str], None]
"""Shows a line of progress."""


class Table(msgspec.Struct, frozen=True):
    """Rows of text under names."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [self.columns, ("---",) * len(self.columns), *self.rows]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)
