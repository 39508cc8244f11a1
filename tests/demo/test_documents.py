"""What the documents say about the tree is true of the tree."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "scheduling" / "dra_scheduling"
DOCUMENTS = ("README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
LINK = re.compile(r"\]\(([^)#\s]*)(#[^)\s]+)?\)")
REASON = re.compile(r'(?:reason=|_refusal\(|_waiting\()"([A-Z][A-Za-z]+)"')
CONSTANT = re.compile(r'^[A-Z_]+ = "([A-Z][A-Za-z]+)"$', re.MULTILINE)


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


# Reasons of compile errors, and those in the conditions of other objects than pods.
OTHERS = {"cel", "instancetypes", "nodeclaims", "disruption"}


def reason_words() -> Iterator[str]:
    sources = {path.name: path.read_text() for path in LIBRARY.rglob("*.py") if path.parent.name not in OTHERS}
    for text in sources.values():
        yield from REASON.findall(text)
    for name in ("allocation_refusals.py", "claim_validation.py"):
        yield from CONSTANT.findall(sources[name])


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_between_documents_leads_somewhere(name: str) -> None:
    page = ROOT / name
    targets = [match for match in LINK.findall(page.read_text()) if "://" not in match[0]]

    broken = [
        target + anchor
        for target, anchor in targets
        if not (page.parent / target).exists()
        or (anchor and anchor[1:] not in anchors((page.parent / target if target else page).read_text()))
    ]

    assert broken == []


def test_every_reason_why_a_pod_waits_is_described() -> None:
    described = set(re.findall(r"`([A-Z][A-Za-z]+)`", (ROOT / "docs" / "scheduling.md").read_text()))

    assert set(reason_words()) - described == set()


def test_every_make_target_that_a_document_names_exists() -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        target
        for name in DOCUMENTS
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / name).read_text(), re.MULTILINE)
    }

    assert named - known == set()
