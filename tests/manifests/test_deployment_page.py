import re
from itertools import product
from pathlib import Path

import yaml

from dra_operator.__main__ import DEFAULTS
from dra_operator.settings import SETTINGS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/deployment.md").read_text()
NODES_PAGE = (ROOT / "docs/node-provisioning.md").read_text()


def rows(section: str, page: str = PAGE) -> list[list[str]]:
    """The cells of the table in a section of the page, without its head."""
    text = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_page_lists_every_setting_with_its_default() -> None:
    listed = {code(variable)[0]: (code(default) or [""])[0] for variable, default, _ in rows("Settings")}

    assert listed == {one.variable: DEFAULTS.get(one.variable, one.default) for one in SETTINGS}


def test_the_page_about_nodes_to_come_lists_settings_with_their_defaults() -> None:
    known = {one.variable: one.default for one in SETTINGS}
    listed = {code(cells[0])[0]: code(cells[1])[0] for cells in rows("Settings", NODES_PAGE)}

    assert listed.items() <= known.items()
    kwok = {name for name in known if name.startswith("DRA_KWOK_")}
    assert {code(cells[0])[0] for cells in rows("Settings", NODES_PAGE) if code(cells[2]) == ["kwok"]} == kwok


def test_the_page_lists_every_right() -> None:
    listed: set[tuple[str, str, str]] = set()
    roles: list[str] = []
    for role, what, verbs, _ in rows("Rights"):
        roles = code(role) or roles
        listed.update(
            product(roles, code(what), re.findall(r"\b(?:get|list|watch|create|update|patch|delete)\b", verbs))
        )

    granted = {
        (role["metadata"]["name"], resource, verb)
        for path in (ROOT / "manifests/base/access").glob("*.yaml")
        for role in yaml.safe_load_all(path.read_text())
        if role["kind"] in {"ClusterRole", "Role"}
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert listed == granted


def test_every_file_that_the_pages_name_is_there() -> None:
    named = set(re.findall(r"(?:crds|manifests)(?:/[\w.-]+)*/?", PAGE + NODES_PAGE))

    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
