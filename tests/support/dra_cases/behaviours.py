"""What is known of allocators and planners, by number, and which case or test shows it.

`python -m dra_cases.behaviours` prints `docs/behaviours.md`; with numbers behind it, where each of them is shown.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "scheduling"
FILE = FOLDER / "behaviours.yaml"
PAGE = ROOT.parent / "docs" / "behaviours.md"
TEST = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)


class Series(msgspec.Struct, frozen=True):
    """Numbers from 1 to `length`, what they are about, and with which number each theme begins."""

    length: int
    about: str
    parts: dict[str, int] = {}


class Remark(msgspec.Struct, frozen=True):
    """Numbers as they are written (`K001 AL003-AL005`), and what is to be said of them."""

    of: str
    why: str


class Behaviours(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: numbers by test file and case, those decided otherwise, and those that nothing shows yet."""

    series: dict[str, Series]
    proofs: dict[str, dict[str, str]]
    decided: list[Remark]
    open: list[Remark]

    def numbers(self, written: str) -> Iterator[str]:
        """Every number of a text, ranges spelt out. Raises `ValueError` for one that no series has."""
        for word in written.split():
            first, _, last = word.partition("-")
            name, start = self._split(first)
            same, end = self._split(last or first)
            if name != same or start > end:
                msg = f"{word} is no range"
                raise ValueError(msg)
            yield from (self.number(name, each) for each in range(start, end + 1))

    def _split(self, word: str) -> tuple[str, int]:
        name, digits = word.rstrip("0123456789"), word.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        if name not in self.series or not digits or word != self.number(name, int(digits)):
            msg = f"{word} is no number of a series"
            raise ValueError(msg)
        return name, int(digits)

    def number(self, name: str, number: int) -> str:
        """A number as wide as the last one of its series: AL003, P03."""
        width = len(str(self.series[name].length))
        return f"{name}{number:0{width}}"

    def of_series(self, name: str) -> list[str]:
        return [self.number(name, each) for each in range(1, self.series[name].length + 1)]

    @property
    def shown(self) -> dict[str, list[str]]:
        """Where each number is shown, as `file: name`."""
        found: dict[str, list[str]] = {}
        for file, names in self.proofs.items():
            for name, written in names.items():
                for number in self.numbers(written):
                    found.setdefault(number, []).append(f"{file}: {name}")
        return found

    def said(self, remarks: list[Remark]) -> dict[str, str]:
        return {number: remark.why for remark in remarks for number in self.numbers(remark.of)}


def read_behaviours(text: str = "") -> Behaviours:
    """The committed file, or another one given as text."""
    return msgspec.convert(yaml.safe_load(text or FILE.read_text()), Behaviours)


def names_in(file: str) -> list[str]:
    """The cases of a YAML file, or the test functions of a module."""
    text = (FOLDER / file).read_text()
    return [case["name"] for case in yaml.safe_load(text)] if file.endswith(".yaml") else TEST.findall(text)


def page(behaviours: Behaviours) -> str:
    """The page as Markdown."""
    shown, decided, undone = (
        set(each) for each in (behaviours.shown, behaviours.said(behaviours.decided), behaviours.said(behaviours.open))
    )
    rows = [
        f"| {name} | {one.length} | {one.about} | {len(numbers & shown)} | {len(numbers & decided)} "
        f"| {len(numbers & undone)} |"
        for name, one in behaviours.series.items()
        for numbers in [set(behaviours.of_series(name))]
    ]
    parts = [
        f"* {name}: {', '.join(f'{part} from {first}' for part, first in one.parts.items())}"
        for name, one in behaviours.series.items()
        if one.parts
    ]
    return TEMPLATE.format(
        total=sum(one.length for one in behaviours.series.values()),
        series="\n".join(rows),
        parts="\n".join(parts),
        decided=rows_of(behaviours.decided),
        open=OPEN.format(rows=rows_of(behaviours.open)) if behaviours.open else "",
    )


def rows_of(remarks: list[Remark]) -> str:
    return "\n".join(f"| {one.of} | {one.why} |" for one in remarks)


TEMPLATE = """# Behaviours

<!-- Made by `python -m dra_cases.behaviours` of tests/scheduling/behaviours.yaml. -->

What is known of allocators for devices and of planning with them, as {total} numbers in series: what the tests of
Kubernetes and Karpenter demand, and the faults that were found in both. `tests/scheduling/behaviours.yaml` names the
case or test that shows each of them; the name of the case says what happens. A test holds file, cases and this page
together. To look some numbers up:

```
PYTHONPATH=tests/support .venv/bin/python -m dra_cases.behaviours AL199 K206
```

| series | numbers | about | shown | decided otherwise | open |
|---|---|---|---|---|---|
{series}

Themes begin with these numbers:

{parts}

A number that is decided otherwise may be shown as well: then the case shows what happens here. The rules themselves,
and all differences from Kubernetes and Karpenter, are in [allocator.md](allocator.md) and, for nodes to come, in
[node-provisioning.md](node-provisioning.md).

## Decided otherwise

| numbers | here |
|---|---|
{decided}
{open}"""
OPEN = """
## Open

| numbers | why |
|---|---|
{rows}
"""


def main(numbers: list[str]) -> None:
    """Print the page, or what is said of the numbers."""
    behaviours = read_behaviours()
    if not numbers:
        sys.stdout.write(page(behaviours))
    shown = behaviours.shown
    remarks = {"decided": behaviours.said(behaviours.decided), "open": behaviours.said(behaviours.open)}
    for number in behaviours.numbers(" ".join(numbers)):
        places = [
            *shown.get(number, ()),
            *(f"{word}: {said[number]}" for word, said in remarks.items() if number in said),
        ]
        sys.stdout.write("\n  ".join([number, *places]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
