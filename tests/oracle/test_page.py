"""The page about the allocator and the table of reasons tell of the same differences."""

import re
from pathlib import Path

from dra_oracle.reasons import REASONS

PAGE = Path(__file__).parents[2] / "docs/allocator.md"


def test_the_page_has_a_row_for_every_reason_and_no_others() -> None:
    section = PAGE.read_text().split("## Where Kubernetes decides otherwise\n")[1].split("\n## ")[0]
    rows = [line.rstrip(" |").rsplit(" | ", 1)[1] for line in section.splitlines() if line.startswith("| ")]
    told = {name for cell in rows for name in re.findall(r"`([a-z]+(?:-[a-z]+)+)`", cell)}

    assert told == {reason.name for reason in REASONS}
