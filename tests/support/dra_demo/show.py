"""Puts the demo on the screen: on a terminal a table that is kept up to date, elsewhere a line for every change."""

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from dra_demo.check import Finding
from dra_demo.rows import Row

REFRESHES_A_SECOND = 8


class Screen:
    """Where everything is printed. Times are seconds since the demo began."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = time.monotonic()
        self._live: Live | None = None
        self._lines: dict[str, str] = {}

    @property
    def is_terminal(self) -> bool:
        """Whether somebody is watching."""
        return self._console.is_terminal

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Show that a step is under way, and then how long it took."""
        started = time.monotonic()
        with self._spinner(what):
            yield
        self.say(Text.assemble(("✓ ", "green"), f"{what} ({time.monotonic() - started:.1f} s)"))

    @contextmanager
    def live(self) -> Iterator[None]:
        """Keep a table at the bottom of the terminal while the context is open."""
        if not self.is_terminal:
            yield
            return
        with Live(_table(()), console=self._console, refresh_per_second=REFRESHES_A_SECOND) as live:
            self._live = live
            try:
                yield
            finally:
                self._live = None

    def heading(self, text: str) -> None:
        """Announce what happens next."""
        self.say("")
        self.say(Text(text, style="bold"))

    def update(self, rows: Sequence[Row]) -> None:
        """Show the rows as they are now."""
        if self._live is not None:
            self._live.update(_table(rows))
            return
        for row in rows:
            line = _line(row)
            if self._lines.get(row.pod) != line:
                self._lines[row.pod] = line
                self.say(f"{time.monotonic() - self._started:6.1f} s  {line}")

    def finding(self, finding: Finding) -> None:
        """Show whether something is true."""
        mark = ("✓ ", "green") if finding.is_true else ("✗ ", "bold red")
        self.say(Text.assemble(mark, finding.text, *(f"\n    {problem}" for problem in finding.problems)))

    def table(self, header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
        """Show something that does not change."""
        if self.is_terminal:
            table = Table(*header, box=box.SIMPLE)
            for line in lines:
                table.add_row(*line)
            self._console.print(table)
        else:
            for line in lines:
                self.say("  " + "  ".join(line))

    def say(self, text: Text | str) -> None:
        """Print one line."""
        self._console.print(text, soft_wrap=True, highlight=False, markup=False)

    def _spinner(self, what: str) -> AbstractContextManager[object]:
        if self.is_terminal:
            return self._console.status(f"{what} …")
        self.say(f"  {what} …")
        return nullcontext()


def _table(rows: Sequence[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, expand=True)
    table.add_column("pod", no_wrap=True)
    table.add_column("asks for", ratio=2, overflow="fold")
    table.add_column("node", no_wrap=True)
    table.add_column("driver/pool/device and claim, or why it waits", ratio=3)
    for row in rows:
        node = Text(row.node, style="green") if row.node else Text("pending", style="yellow")
        table.add_row(row.pod, row.asks, node, _detail(row))
    return table


def _detail(row: Row) -> Text:
    if not row.node:
        return Text(row.reason, style="yellow")
    claims = (f"claim {name}" for name in row.claims)
    return Text("\n").join((*(Text(device) for device in row.devices), *(Text(claim, style="dim") for claim in claims)))


def _line(row: Row) -> str:
    if not row.node:
        return f"{row.pod} ({row.asks}): pending{f', {row.reason}' if row.reason else ''}"
    devices = f" with {', '.join(row.devices)}" if row.devices else ""
    claims = f" of claim {', '.join(row.claims)}" if row.claims else ""
    return f"{row.pod} ({row.asks}): bound to {row.node}{devices}{claims}"
