import msgspec

from dra_builders.values import node, pod
from dra_operating.objects import at
from dra_operator.watch.cache import Cache, Novelty
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.pods import Node, Pod

KEY = ObjectKey("default", "p")


def test_a_new_object_is_news() -> None:
    cache = Cache()

    assert cache.put(at(pod("p"), 1)) is Novelty.NEWS
    assert cache.get(Pod, KEY) == at(pod("p"), 1)


def test_an_object_that_only_has_another_version_is_no_news() -> None:
    cache = Cache()
    cache.put(at(node("n"), 1))

    assert cache.put(at(node("n"), 2)) is Novelty.VERSION
    assert cache.get(Node, ObjectKey("", "n")) == at(node("n"), 2)


def test_a_label_is_news() -> None:
    cache = Cache()
    cache.put(at(node("n"), 1))

    assert cache.put(at(node("n", labels={"zone": "a"}), 2)) is Novelty.NEWS


def test_an_older_version_that_comes_late_changes_nothing() -> None:
    cache = Cache()
    cache.put(at(pod("p"), 12, uid="second"))

    assert cache.put(at(pod("p"), 11, uid="first")) is Novelty.NOTHING
    assert cache.get(Pod, KEY) == at(pod("p"), 12, uid="second")


def test_a_list_of_a_restored_server_may_go_back() -> None:
    cache = Cache()
    cache.put(at(pod("p"), 1_000))

    cache.put_listed(at(pod("p", node_name="n"), 5))

    assert cache.get(Pod, KEY) == at(pod("p", node_name="n"), 5)


def test_the_end_of_an_object_is_not_the_end_of_the_next_of_its_name() -> None:
    cache = Cache()
    cache.put(at(pod("p"), 12, uid="second"))

    assert cache.drop(Pod, KEY, "first") is None
    assert cache.get(Pod, KEY) is not None
    assert cache.drop(Pod, KEY, "second") is not None
    assert cache.get(Pod, KEY) is None


def test_what_a_whole_list_does_not_hold_is_outdated() -> None:
    cache = Cache()
    for name in ("kept", "gone"):
        cache.put(at(pod(name), 1))
    cache.put(at(node("n"), 1))

    outdated = cache.outdated(Pod, frozenset({"uid-default-kept"}))

    assert [value.metadata.name for value in outdated] == ["gone"]


def test_two_objects_that_differ_in_status_only_are_different() -> None:
    cache = Cache()
    cache.put(at(pod("p"), 1))
    running = msgspec.structs.replace(pod("p"), status=msgspec.structs.replace(pod("p").status, phase="Running"))

    assert cache.put(at(running, 2)) is Novelty.NEWS
