"""Files, folders and standard input."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dra_simulator.load import load

Write = Callable[[str, str], str]
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: %s}\n"


def names(*paths: str) -> list[object]:
    loaded = load(paths)
    assert loaded.problems == ()
    return [manifest.raw["metadata"]["name"] for manifest in loaded.manifests]  # type: ignore[index]


def problems(*paths: str) -> list[str]:
    return [str(problem) for problem in load(paths).problems]


def test_a_folder_is_read_with_everything_below_it_in_order(write: Write) -> None:
    write("folder/b.yaml", NODE % "b")
    write("folder/a/z.yml", NODE % "z")
    write("folder/a.json", '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}')
    write("folder/readme.txt", "not: read")
    write("folder/.hidden.yaml", NODE % "hidden")
    write("folder/.git/c.yaml", NODE % "hidden")
    assert names("folder") == ["a", "b", "z"]


def test_a_file_given_by_name_is_read_whatever_it_is_called(write: Write) -> None:
    assert names(write("cluster.dump", NODE % "a")) == ["a"]


def test_lists_of_any_kind_are_taken_apart(write: Write) -> None:
    write("list.yaml", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: a}}")
    write(
        "typed.yaml", "apiVersion: v1\nkind: NodeList\nmetadata: {resourceVersion: '1'}\nitems: [{metadata: {name: b}}]"
    )
    write(
        "nested.yaml",
        "kind: List\napiVersion: v1\nitems: [{kind: NodeList, apiVersion: v1, items: [{metadata: {name: c}}]}]",
    )
    write("empty.yaml", "apiVersion: v1\nkind: PodList\nitems: null")
    assert names("list.yaml", "typed.yaml", "nested.yaml", "empty.yaml") == ["a", "b", "c"]


def test_files_of_a_folder_that_nobody_meant_are_counted_only(write: Write) -> None:
    write("chart/values.yaml", "replicas: 3")
    write("chart/list.yaml", "- a\n- b")
    loaded = load(["chart"])
    assert (loaded.manifests, loaded.problems, loaded.others) == ((), (), 2)


def test_a_file_given_by_name_has_to_hold_objects(write: Write) -> None:
    assert problems(write("list.yaml", "- a\n- b")) == [
        "list.yaml: document 1: $: expected an object with apiVersion and kind, got list"
    ]


@pytest.mark.parametrize("path", ["empty.yaml", "folder"])
def test_a_path_that_holds_nothing_does_not_look_as_if_all_were_well(write: Write, path: str) -> None:
    write("empty.yaml", "# nothing\n")
    write("folder/readme.txt", "not: read")
    assert problems(path) == [f"{path}: input: -: expected at least one object, as YAML or JSON"]


def test_each_broken_file_is_one_line_and_stops_no_other(write: Write) -> None:
    write("broken.yaml", "a: 1\n---\nb: [\n")
    write("latin.yaml", "")
    Path("latin.yaml").write_bytes(b"name: caf\xe9")
    write("good.yaml", NODE % "a")
    write("items.yaml", "kind: List\napiVersion: v1\nitems: 7")
    loaded = load(["absent.yaml", "broken.yaml", "latin.yaml", "items.yaml", "good.yaml"])
    assert [str(problem) for problem in loaded.problems] == [
        "absent.yaml: file: -: expected a file that can be read: No such file or directory",
        "broken.yaml: document 2: line 4, column 1: expected a value",
        "latin.yaml: file: byte 9: expected text in UTF-8",
        "items.yaml: document 1, List: $.items: expected a list, got int",
    ]
    assert len(loaded.manifests) == 2


def test_a_bad_item_of_a_list_stops_no_other(write: Write) -> None:
    loaded = load([write("list.yaml", "kind: List\napiVersion: v1\nitems: [7, {kind: Node}]\n---\n8\n---\nkind: Node")])
    assert [str(problem) for problem in loaded.problems] == [
        "list.yaml: document 1, List, $.items[0]: $: expected an object with apiVersion and kind, got int",
        "list.yaml: document 2: $: expected an object with apiVersion and kind, got int",
    ]
    assert len(loaded.manifests) == 2


def test_a_file_that_begins_with_a_byte_order_mark_is_read(write: Write) -> None:
    write("bom.yaml", "")
    Path("bom.yaml").write_bytes(b"\xef\xbb\xbf" + (NODE % "a").encode())
    assert names("bom.yaml") == ["a"]
