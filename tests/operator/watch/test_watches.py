from dra_kube.resources import Resource
from dra_operating.clock import ManualClock
from dra_operator.kinds import CLAIMS, TAINT_RULES, WATCHED
from dra_operator.watch.watches import Watch, Watches
from dra_scheduling.model.claims import ResourceClaim


class Listener:
    def __init__(self) -> None:
        self.lists: list[set[str]] = []

    def __call__(self, resource: Resource, uids: frozenset[str]) -> None:
        self.lists.append(set(uids))


def watch(listener: Listener | None = None) -> Watch:
    return Watch(CLAIMS, ManualClock(), listener or Listener())


def listed(value: Watch, version: int, **objects: int) -> None:
    value.page(objects.items(), version, first=True, last=True)


def test_a_kind_is_synced_when_every_entry_of_its_list_was_handled() -> None:
    value = watch()
    listed(value, 10, a=3, b=4)
    assert value.admit(None, "a", 3)
    assert not value.is_synced

    assert value.admit(None, "b", 4)

    assert value.is_synced


def test_a_watch_that_does_not_tell_of_own_writes_is_behind_them() -> None:
    clock = ManualClock()
    watches = Watches(clock, Listener(), [CLAIMS])
    value = watches[ResourceClaim]
    listed(value, 10)
    assert value.learn("a", 11)
    assert value.learn("b", 12)
    clock.advance(30.0)
    assert watches.behind_own_writes(60.0) == ()
    clock.advance(30.0)
    assert watches.behind_own_writes(60.0) == (CLAIMS,)

    value.changed(11)

    assert watches.behind_own_writes(60.0) == ()
    clock.advance(60.0)
    assert watches.behind_own_writes(60.0) == (CLAIMS,)
    listed(value, 12)
    assert watches.behind_own_writes(60.0) == ()


def test_a_kind_without_objects_is_synced_by_its_list() -> None:
    value = watch()
    assert not value.is_synced

    listed(value, 10)

    assert value.is_synced


def test_a_list_in_pages_is_whole_with_its_last_page() -> None:
    listener = Listener()
    value = watch(listener)
    value.page([("a", 1)], 10, first=True, last=False)
    assert value.admit(None, "a", 1)
    assert not value.is_synced

    value.page([("b", 2)], 10, first=False, last=True)
    value.admit(None, "b", 2)

    assert value.is_synced
    assert listener.lists == [{"a", "b"}]


def test_a_list_that_broke_off_is_begun_anew() -> None:
    listener = Listener()
    value = watch(listener)
    value.page([("a", 1), ("gone", 1)], 10, first=True, last=False)

    listed(value, 20, a=1)

    assert listener.lists == [{"a"}]


def test_an_event_that_a_later_list_has_overtaken_is_no_news() -> None:
    value = watch()
    listed(value, 10)
    value.changed(11)
    listed(value, 20)

    assert not value.admit("MODIFIED", "deleted-meanwhile", 11)
    assert value.admit("ADDED", "new", 21)


def test_an_entry_of_a_list_that_another_list_has_overtaken_is_no_news() -> None:
    value = watch()
    listed(value, 10, a=3)
    listed(value, 20, a=15)

    assert not value.admit(None, "a", 3)
    assert value.admit(None, "a", 15)


def test_progress_is_the_list_at_first() -> None:
    value = watch()
    assert value.progress == 0
    listed(value, 10, a=3)
    assert value.progress == 0

    value.admit(None, "a", 3)

    assert value.progress == 10


def test_progress_waits_for_the_oldest_event_that_is_not_handled() -> None:
    value = watch()
    listed(value, 10)
    value.changed(11)
    value.changed(15)

    value.admit("MODIFIED", "b", 15)
    assert value.progress == 10

    value.admit("MODIFIED", "a", 11)
    assert value.progress == 15


def test_a_bookmark_is_progress_when_nothing_is_under_way() -> None:
    value = watch()
    listed(value, 10)
    value.changed(11)
    value.bookmark(50)
    assert value.progress == 10

    value.admit("MODIFIED", "a", 11)

    assert value.progress == 50


def test_a_new_list_does_not_take_progress_back() -> None:
    value = watch()
    listed(value, 10)
    listed(value, 20, a=12)
    assert value.progress == 10

    value.admit(None, "a", 12)

    assert value.progress == 20


def test_the_echo_of_an_own_write_is_held_back_once() -> None:
    value = watch()
    listed(value, 10)
    assert value.learn("own", 12)

    assert value.changed(11)
    assert not value.changed(12)
    value.admit("MODIFIED", "other", 11)

    assert value.progress == 12


def test_an_answer_that_the_watch_was_faster_than_teaches_nothing() -> None:
    value = watch()
    listed(value, 10)
    value.changed(12)

    assert not value.learn("own", 12)
    assert not value.learn("own", 11)


def test_an_answer_during_a_list_teaches_nothing() -> None:
    value = watch()
    listed(value, 10)
    value.page([], 20, first=True, last=False)

    assert not value.learn("own", 21)


def test_a_new_list_knows_better_than_answers_before_it() -> None:
    value = watch()
    listed(value, 10)
    value.learn("own", 12)
    listed(value, 20)

    # A server that was restored counts anew.
    assert value.changed(12)


def test_a_list_that_is_older_than_an_own_write_does_not_take_its_object_for_gone() -> None:
    listener = Listener()
    value = watch(listener)
    listed(value, 10)
    value.learn("own", 12)

    listed(value, 11)

    assert listener.lists[-1] == {"own"}
    assert not value.changed(12)


def test_a_list_that_is_older_than_an_own_write_does_not_bring_back_what_was_before_it() -> None:
    value = watch()
    listed(value, 10)
    value.learn("own", 12)

    listed(value, 11, own=9)

    assert not value.admit(None, "own", 9)
    assert value.is_synced


def test_silence_is_told_by_kind() -> None:
    clock = ManualClock()
    watches = Watches(clock, Listener())
    clock.advance(61)
    for resource in WATCHED:
        if resource is not CLAIMS:
            watches[resource.kind].spoke()

    assert watches.silent(60) == ("resourceclaims",)


def test_a_watch_that_is_asked_for_is_not_abandoned() -> None:
    clock = ManualClock()
    watches = Watches(clock, Listener())
    clock.advance(100)
    for resource in WATCHED:
        watches[resource.kind].attempted()

    assert watches.silent(60) == tuple(resource.plural for resource in WATCHED)
    assert watches.abandoned(60) == ()


def test_watches_are_level_when_everything_that_was_read_was_handled() -> None:
    watches = Watches(ManualClock(), Listener())
    listed(watches[ResourceClaim], 1, a=1)
    assert not watches.are_level()
    watches[ResourceClaim].admit(None, "a", 1)
    assert watches.are_level()
    watches[ResourceClaim].changed(2)
    assert not watches.are_level()

    watches[ResourceClaim].admit("MODIFIED", "a", 2)

    assert watches.are_level()


def test_every_kind_has_to_be_listed() -> None:
    watches = Watches(ManualClock(), Listener())
    for resource in WATCHED:
        if resource is not CLAIMS:
            listed(watches[resource.kind], 1)
    assert watches.unlisted() == ("resourceclaims",)

    listed(watches[ResourceClaim], 1)

    assert watches.are_synced


def test_a_kind_that_is_added_has_to_be_listed_too() -> None:
    watches = Watches(ManualClock(), Listener())
    watches.add(TAINT_RULES)
    for resource in WATCHED:
        listed(watches[resource.kind], 1)
    assert watches.unlisted() == ("devicetaintrules",)

    listed(watches[TAINT_RULES.kind], 1)

    assert watches.are_synced
