import pytest

from dra_scheduling.model.ids import DeviceID
from dra_scheduling.template_devices import AttributeBindings, Scope

HERE = Scope("numa", "pool", "type")
A, B, C, D, E = (DeviceID("driver", "t", name) for name in "abcde")
Groups = list[list[DeviceID]]


def components(groups: Groups) -> list[list[str]]:
    bindings = AttributeBindings({HERE: groups})
    return [sorted(device.device for device in component) for component in bindings.components(HERE)]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([], []),
        ([[]], []),
        ([[A]], []),
        ([[A, A]], []),
        ([[A, B]], [["a", "b"]]),
        ([[B, A, B]], [["a", "b"]]),
        ([[A, B, C]], [["a", "b", "c"]]),
        ([[C, D], [A, B]], [["a", "b"], ["c", "d"]]),
        ([[A, B], [B, C]], [["a", "b", "c"]]),
        ([[A, B], [C, D], [D, E], [B, C]], [["a", "b", "c", "d", "e"]]),
        ([[A, B], [B, C], [C, A]], [["a", "b", "c"]]),
    ],
)
def test_groups_that_share_a_device_are_one(groups: Groups, expected: list[list[str]]) -> None:
    assert components(groups) == expected


@pytest.mark.parametrize(
    ("declared", "scope"),
    [
        ({}, HERE),
        ({HERE: [[A, B]]}, Scope("root", "pool", "type")),
        ({HERE: [[A, B]]}, Scope("numa", "other", "type")),
        ({HERE: [[A, B]]}, Scope("numa", "pool", "other")),
        ({HERE: [[B, C]]}, HERE),
    ],
)
def test_nothing_is_bound_where_nothing_is_declared(declared: dict[Scope, Groups], scope: Scope) -> None:
    bindings = AttributeBindings(declared)

    assert not bindings.is_bound(scope, A)
    assert not bindings.are_bound(scope, A, B)
    assert not bindings.are_bound(scope, B, A)


def test_members_of_a_group_are_bound() -> None:
    assert [AttributeBindings({HERE: [[A, B], [C]]}).is_bound(HERE, one) for one in (A, B, C)] == [True, True, False]


@pytest.mark.parametrize(
    ("one", "other", "are_bound"),
    [(A, B, True), (B, A, True), (A, A, True), (A, C, False), (C, A, False), (C, C, False)],
)
def test_being_bound_is_symmetric_and_needs_a_partner(one: DeviceID, other: DeviceID, are_bound: bool) -> None:  # noqa: FBT001
    bindings = AttributeBindings({HERE: [[A, B], [C]]})

    assert bindings.are_bound(HERE, one, other) == are_bound


@pytest.mark.parametrize(
    "scope", [Scope("root", "pool", "type"), Scope("numa", "other", "type"), Scope("numa", "pool", "other")]
)
def test_a_declaration_holds_in_its_own_scope_only(scope: Scope) -> None:
    bindings = AttributeBindings({HERE: [[A, B]], scope: [[B, C]]})

    assert bindings.are_bound(HERE, A, B)
    assert not bindings.are_bound(scope, A, B)
    assert not bindings.are_bound(HERE, A, C)
