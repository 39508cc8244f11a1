import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# A package called operator here would take the place of Python's own module.
NO_PACKAGE = ("operator", "binder", "scheduling", "tests")
PACKAGES = (
    "scheduling/kube_cel",
    "scheduling/dra_scheduling",
    "scheduling/dra_simulator",
    "binder/dra_kube",
    "binder/dra_binder",
    "operator/dra_operator",
)
LONGEST_MODULE = 400
SAME_IN_EACH_PLACE = frozenset(
    {
        "__init__.py",
        "__main__.py",
        # What every role of the operator has.
        "role.py",
        "writer.py",
        # What a feature gate asks of each package.
        "consumable_capacity.py",
        "node_allocatable_resources.py",
        "partitionable_devices.py",
    }
)
"""Names of files that mean the same wherever they are."""
LONGEST_TEST = 500

# One letter of each in brackets, so that this file does not hold what it looks for.
REGISTRY = re.compile(r"py[p]i\.org|python[h]osted\.org|npm[j]s\.|proxy\.go[l]ang\.org|crates[.]io|repo1?\.[m]aven")
MACHINE_PATH = re.compile(r"(?<![\w./$-])/(?:home/|root/|Users/|tm[p]/|wor[k]/main|wor[k]/shared)")


def project_files() -> Iterator[tuple[str, Path]]:
    for path in ROOT.rglob("*"):
        inside = path.relative_to(ROOT)
        hidden = any((part.startswith(".") and part != ".ci") or part == "__pycache__" for part in inside.parts)
        if path.is_file() and not hidden:
            yield inside.as_posix(), path


def product_modules() -> Iterator[tuple[str, Path]]:
    for name, path in project_files():
        if path.suffix == ".py" and name.startswith(tuple(f"{package}/" for package in PACKAGES)):
            yield name, path


def lines() -> Iterator[tuple[str, str]]:
    for name, path in project_files():
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
            yield f"{name}:{number}", line


@pytest.mark.parametrize("folder", NO_PACKAGE)
def test_a_top_level_folder_is_no_package(folder: str) -> None:
    below = ROOT.glob(f"{folder}/**/__init__.py") if folder == "tests" else [ROOT / folder / "__init__.py"]

    assert [path for path in below if path.exists() and not path.parent.name.startswith("dra_")] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_no_module_is_too_long_to_read() -> None:
    long = {
        name: length
        for name, path in project_files()
        if path.suffix == ".py"
        and (length := len(path.read_text().splitlines())) > (LONGEST_TEST if "test_" in name else LONGEST_MODULE)
    }

    assert long == {}


def test_a_public_class_has_its_name_for_itself() -> None:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for name, path in product_modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)

    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_a_file_has_its_name_for_itself_in_its_package() -> None:
    homes: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for name, path in product_modules():
        package = next(one for one in PACKAGES if name.startswith(f"{one}/"))
        is_mirror = name.startswith("scheduling/dra_scheduling/wire/")
        if path.name not in SAME_IN_EACH_PLACE and not is_mirror:
            homes[package, path.name].append(name)

    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_no_package_registry_is_named() -> None:
    assert [place for place, line in lines() if REGISTRY.search(line)] == []


def test_no_path_of_one_machine_is_named() -> None:
    assert [place for place, line in lines() if MACHINE_PATH.search(line)] == []


def test_the_licence_is_there_in_full() -> None:
    licence = (ROOT / "LICENSE").read_text()

    assert "Apache License" in licence
    assert "END OF TERMS AND CONDITIONS" in licence
