"""What made-up drivers publish, with faults and without, and in which order."""

from collections.abc import Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_operator.roles.kwok.behaviour import PREFIX, Behaviour, PoolFaults, behaviour_of
from dra_operator.roles.kwok.pools import CONTENT, NOTHING, Publish, WantedPool, Withdraw, next_change, wanted
from dra_scheduling.instancetypes import Expanded, expand
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.instancetypes import DeviceGroup, InstanceDevices, InstanceOffering, InstanceType
from dra_scheduling.model.instancetypes import InstanceTypeSpec as Spec
from dra_scheduling.model.pods import Node
from dra_scheduling.model.slices import ResourceSlice
from kube_cel.quantity import Quantity

GPU, NIC = "gpu.example.com", "nic.example.com"
NODE = Node(metadata=ObjectMeta(name="n", uid="uid-of-n"))
Shape = list[tuple[int, int]]


def machine(gpus: int) -> Expanded:
    groups = (DeviceGroup(driver=GPU, name="gpu-{index}", count=gpus), DeviceGroup(driver=NIC, name="nic", count=1))
    offering = InstanceOffering(zone="a", price=Quantity.from_int(1))
    spec = Spec(offerings=(offering,), capacity={}, devices=InstanceDevices(groups=groups))
    found = expand(InstanceType(metadata=ObjectMeta(name="small"), spec=spec))
    assert isinstance(found, Expanded)
    return found


def with_settings(**settings: str) -> Behaviour:
    notes = {f"{PREFIX}{key.replace('_', '-')}": value for key, value in settings.items()}
    behaviour, problems = behaviour_of(notes, Behaviour())
    assert problems == ()
    return behaviour


def writes(wish: WantedPool, there: dict[str, ResourceSlice]) -> Iterator[tuple[str, int, int]]:
    """Carries out every write, and yields what it was, the generation, and how many slices are there after it."""
    while (change := next_change(wish, NODE, there.values())) is not None:
        name = change.slice.metadata.name
        if isinstance(change, Withdraw):
            del there[name]
        else:
            assert (change.before is not None) == (name in there)
            there[name] = change.slice
        yield type(change).__name__, change.slice.spec.pool.generation, len(there)


def published(wish: WantedPool) -> dict[str, ResourceSlice]:
    there: dict[str, ResourceSlice] = {}
    assert list(writes(wish, there)) == [("Publish", 1, number + 1) for number in range(len(there))]
    return there


def shape(wish: WantedPool) -> Shape:
    """The count that each slice says and the number of its devices."""
    return [(one.pool.resource_slice_count, len(one.devices)) for one in wish.specs]


@pytest.mark.parametrize(
    ("gpus", "settings", "expected"),
    [
        (130, {}, [(2, 128), (2, 2)]),
        (2, {"unpublished": GPU}, []),
        (2, {"unpublished": "*"}, []),
        (2, {"unpublished": NIC}, [(1, 2)]),
        (130, {"incomplete": GPU}, [(2, 128)]),
        (2, {"incomplete": GPU}, [(2, 2)]),
        (130, {"empty": GPU}, [(1, 0)]),
        (130, {"contradicting_counts": GPU}, [(2, 128), (3, 2)]),
        (2, {"contradicting_counts": GPU}, [(2, 2), (3, 0)]),
        (2, {"duplicate_names": GPU}, [(2, 2), (2, 1)]),
        (130, {"fewer_devices": GPU}, [(2, 128), (2, 1)]),
        (130, {"fewer_devices": f"{GPU}=2"}, [(1, 128)]),
        (130, {"fewer_devices": f"{GPU}=3, {NIC}"}, [(1, 127)]),
        (2, {"fewer_devices": "*=9"}, [(1, 0)]),
        (2, {"fewer_devices": f"{GPU}=1", "incomplete": "*"}, [(2, 1)]),
    ],
    ids=str,
)
def test_a_fault_shows_in_the_pool(gpus: int, settings: dict[str, str], expected: Shape) -> None:
    assert shape(wanted(machine(gpus), GPU, with_settings(**settings).pool(GPU))) == expected


def test_a_duplicate_has_the_name_of_a_device_of_another_slice() -> None:
    first, second = wanted(machine(2), GPU, PoolFaults(has_duplicate_names=True)).specs

    assert second.devices[0].name in {one.name for one in first.devices}


def test_a_pool_at_rest_is_not_written() -> None:
    wish = wanted(machine(130), GPU, PoolFaults())

    assert list(writes(wish, published(wish))) == []


def test_a_slice_that_somebody_deleted_comes_back_in_its_generation() -> None:
    wish = wanted(machine(130), GPU, PoolFaults())
    there = published(wish)
    there.pop("n-gpu.example.com-0")

    assert list(writes(wish, there)) == [("Publish", 1, 2)]


def test_a_changed_pool_is_written_as_a_whole_and_the_new_before_the_old_goes() -> None:
    there = published(wanted(machine(300), GPU, PoolFaults()))
    wish = wanted(machine(130), GPU, PoolFaults())

    assert list(writes(wish, there)) == [("Publish", 2, 3), ("Publish", 2, 3), ("Withdraw", 1, 2)]
    assert {one.spec.pool.generation for one in there.values()} == {2}


def test_a_driver_that_restarts_publishes_the_same_in_a_new_generation() -> None:
    there = published(wanted(machine(130), GPU, PoolFaults()))
    wish = wanted(machine(130), GPU, PoolFaults(restarts="1"))

    assert list(writes(wish, there)) == [("Publish", 2, 2), ("Publish", 2, 2)]


def test_a_driver_that_withdraws_takes_all_away_before_anything_comes_back() -> None:
    there = published(wanted(machine(130), GPU, PoolFaults()))
    wish = wanted(machine(130), GPU, PoolFaults(withdrawals="1"))

    assert [(kind, left) for kind, _, left in writes(wish, there)] == [
        ("Withdraw", 1),
        ("Withdraw", 0),
        ("Publish", 1),
        ("Publish", 2),
    ]


def test_a_driver_that_publishes_nothing_any_more_takes_away_what_is_there() -> None:
    there = published(wanted(machine(130), GPU, PoolFaults()))

    assert [kind for kind, _, _ in writes(NOTHING, there)] == ["Withdraw", "Withdraw"]
    assert there == {}


@pytest.mark.parametrize("after", range(4))
def test_a_change_of_mind_between_two_writes_ends_in_one_generation(after: int) -> None:
    there = published(wanted(machine(300), GPU, PoolFaults()))
    halfway = writes(wanted(machine(130), GPU, PoolFaults()), there)
    for _ in range(after):
        next(halfway, None)
    wish = wanted(machine(260), GPU, PoolFaults())
    list(writes(wish, there))

    assert len({one.spec.pool.generation for one in there.values()}) == 1
    assert [len(one.spec.devices) for _, one in sorted(there.items())] == [128, 128, 4]


WISHES = st.builds(
    lambda gpus, faults: wanted(machine(gpus), GPU, faults),
    st.sampled_from([2, 130, 300]),
    st.builds(
        PoolFaults,
        is_unpublished=st.booleans(),
        is_incomplete=st.booleans(),
        has_duplicate_names=st.booleans(),
        restarts=st.sampled_from(["", "1"]),
        withdrawals=st.sampled_from(["", "1"]),
    ),
)


@given(st.lists(st.tuples(WISHES, st.integers(0, 4)), max_size=4), WISHES)
def test_a_pool_gets_there_from_any_state_and_its_newest_generation_is_always_of_one_content(
    interrupted: list[tuple[WantedPool, int]], wish: WantedPool
) -> None:
    there: dict[str, ResourceSlice] = {}
    for earlier, count in [*interrupted, (wish, 20)]:
        for _ in islice(writes(earlier, there), count):
            newest = max((one.spec.pool.generation for one in there.values()), default=0)
            now = [one for one in there.values() if one.spec.pool.generation == newest]
            assert len({one.metadata.annotations[CONTENT] for one in now}) <= 1

    assert next_change(wish, NODE, there.values()) is None
    assert [one.spec.devices for _, one in sorted(there.items())] == [one.devices for one in wish.specs]
    assert len({one.spec.pool.generation for one in there.values()}) <= 1


def test_slices_of_an_earlier_node_of_the_name_go_first() -> None:
    wish = wanted(machine(2), GPU, PoolFaults())
    there = published(wish)
    reborn = Node(metadata=ObjectMeta(name="n", uid="another"))

    change = next_change(wish, reborn, there.values())
    assert isinstance(change, Withdraw)
    assert isinstance(next_change(wish, reborn, ()), Publish)


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("launch-delay", "soon", "expected a duration such as 500ms or 1m30s"),
        ("launch-delay", "-1s", "expected a duration"),
        ("never", "launch, sleep", "expected a comma list of launch, register, ready, heartbeat"),
        ("fewer-devices", "gpu.example.com=some", "expected a comma list such as gpu.nvidia.com=2"),
        ("colour", "red", "unknown, expected one of launch-delay"),
    ],
)
def test_an_annotation_that_cannot_be_used_is_told_and_changes_nothing(key: str, text: str, expected: str) -> None:
    usual = Behaviour(slice_delay=1.0)
    behaviour, problems = behaviour_of({f"{PREFIX}{key}": text}, usual)

    assert behaviour == usual
    assert f"{PREFIX}{key}" in problems[0]
    assert expected in problems[0]


def test_annotations_of_others_are_not_looked_at() -> None:
    assert behaviour_of({"example.com/launch-delay": "1s"}, Behaviour()) == (Behaviour(), ())


def test_a_setting_for_one_driver_goes_before_that_for_all() -> None:
    behaviour = with_settings(fewer_devices=f"{GPU}=2,*=1", slice_delay="500ms")

    assert behaviour.slice_delay == 0.5
    assert [behaviour.pool(driver).missing_devices for driver in (GPU, NIC)] == [2, 1]
