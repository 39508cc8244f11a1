from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_builders.values import device_class
from dra_scheduling.extended_resources.class_index import ClassIndex
from dra_scheduling.extended_resources.resource_names import implicit_name
from dra_scheduling.model.slices import DeviceClass

GPU = "example.com/gpu"
OLD, NEW = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"

CLASSES = st.builds(
    lambda name, resource, created: device_class(name, extended_resource_name=resource, created=created),
    st.sampled_from(["a", "b", "c", "d"]),
    st.sampled_from(["", GPU, "example.com/nic", "cpu", implicit_name("a")]),
    st.sampled_from(["", OLD, NEW]),
)
NAMES = [GPU, "example.com/nic", "cpu", *(implicit_name(name) for name in "abcd")]


def index_of(*classes: DeviceClass) -> ClassIndex:
    index = ClassIndex()
    for item in classes:
        index.apply(item)
    return index


def answers(index: ClassIndex) -> dict[str, Sequence[DeviceClass]]:
    return {name: index.candidates(name) for name in NAMES}


def served_by(index: ClassIndex, resource_name: str) -> str | None:
    item = index.serving(resource_name)
    return None if item is None else item.metadata.name


@given(steps=st.lists(st.one_of(CLASSES, st.sampled_from(["a", "b", "c", "d"])), max_size=12))
def test_the_answers_depend_on_the_set_of_classes_only(steps: list[DeviceClass | str]) -> None:
    index, present = ClassIndex(), dict[str, DeviceClass]()
    for step in steps:
        if isinstance(step, str):
            index.remove(step)
            present.pop(step, None)
        else:
            index.apply(step)
            present[step.metadata.name] = step

    afresh = index_of(*sorted(present.values(), key=lambda item: item.metadata.name, reverse=True))
    assert answers(index) == answers(afresh)
    assert dict(index.classes) == present


def test_the_newer_class_serves_a_name_that_two_claim() -> None:
    index = index_of(
        device_class("b", extended_resource_name=GPU, created=NEW),
        device_class("a", extended_resource_name=GPU, created=OLD),
    )

    assert served_by(index, GPU) == "b"


def test_the_first_by_name_serves_where_two_classes_are_equally_old() -> None:
    index = index_of(
        device_class("b", extended_resource_name=GPU, created=OLD),
        device_class("a", extended_resource_name=GPU, created=OLD),
    )

    assert served_by(index, GPU) == "a"


def test_the_runner_up_serves_once_the_first_is_gone() -> None:
    index = index_of(
        device_class("a", extended_resource_name=GPU, created=OLD),
        device_class("b", extended_resource_name=GPU, created=NEW),
    )

    index.remove("b")

    assert served_by(index, GPU) == "a"


def test_deleting_the_loser_leaves_the_winner() -> None:
    index = index_of(
        device_class("a", extended_resource_name=GPU, created=OLD),
        device_class("b", extended_resource_name=GPU, created=NEW),
    )

    index.remove("a")

    assert served_by(index, GPU) == "b"


def test_a_class_that_changes_its_name_leaves_the_old_one() -> None:
    index = index_of(device_class("a", extended_resource_name=GPU))

    index.apply(device_class("a", extended_resource_name="example.com/other"))

    assert served_by(index, GPU) is None
    assert served_by(index, "example.com/other") == "a"


def test_every_class_answers_to_its_implicit_name_even_if_it_lost_the_explicit_one() -> None:
    index = index_of(
        device_class("a", extended_resource_name=GPU, created=OLD),
        device_class("b", extended_resource_name=GPU, created=NEW),
    )

    assert served_by(index, implicit_name("a")) == "a"
    assert served_by(index, implicit_name("b")) == "b"
    assert served_by(index, implicit_name("c")) is None


def test_an_explicit_name_never_shadows_another_class() -> None:
    index = index_of(device_class("a"), device_class("b", extended_resource_name=implicit_name("a"), created=NEW))

    assert index.candidates(implicit_name("a")) == (device_class("a"),)


@pytest.mark.parametrize(
    "name", ["cpu", "gpu", "hugepages-2Mi", "kubernetes.io/gpu", "requests.example.com/gpu", "Example.com/gpu", "a/b/c"]
)
def test_names_that_cannot_be_extended_resources_are_ignored(name: str) -> None:
    index = index_of(device_class("a", extended_resource_name=name))

    assert index.serving(name) is None


def test_the_revision_grows_with_what_classes_say() -> None:
    index = index_of(device_class("a"))
    before = index.revision

    index.apply(device_class("a"))
    index.remove("missing")
    assert index.revision == before

    index.apply(device_class("a", "device.driver == 'x'"))
    assert index.revision > before
