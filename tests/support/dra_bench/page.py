"""`docs/benchmarks.md`: what a person wrote there stays, the results of a section are put in their place."""

import re
from pathlib import Path

from dra_bench.machine import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"


def put(page: str, section: str, results: str) -> str:
    """Return the page with the results between the two marks of the section. Raises `ValueError` without them."""
    marks = re.compile(f"(<!-- {section} -->\n).*?(<!-- /{section} -->)", re.DOTALL)
    if not marks.search(page):
        raise ValueError(f"there is no <!-- {section} --> and <!-- /{section} --> in the page")
    return marks.sub(lambda found: found[1] + results + found[2], page)


def write(section: str, results: str, path: Path = PAGE) -> None:
    """Put the results into the file."""
    path.write_text(put(path.read_text(), section, results))
