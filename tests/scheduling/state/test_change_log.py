from dra_scheduling.state.change_log import KEPT_ENTRIES, ChangeLog, Everything


def test_a_reader_sees_each_node_that_changed_since_its_last_look_once() -> None:
    log = ChangeLog()
    log.everything_changed()
    cursor = log.end
    for node in ("n1", "n2", "n1"):
        log.changed(node)
    assert log.since(cursor) == frozenset({"n1", "n2"})
    assert log.since(log.end) == frozenset()


def test_a_reader_that_never_looked_is_told_to_look_at_everything() -> None:
    assert ChangeLog().since(-1) is Everything.EVERYTHING


def test_a_change_of_everything_reaches_readers_that_were_up_to_date() -> None:
    log = ChangeLog()
    cursor = log.end
    log.everything_changed()
    assert log.since(cursor) is Everything.EVERYTHING
    assert log.since(log.end) == frozenset()
    assert log.upheavals == 1


def test_a_long_log_is_dropped_and_its_late_readers_look_at_everything() -> None:
    log = ChangeLog()
    cursor = log.end
    for number in range(KEPT_ENTRIES + 1):
        log.changed(f"n{number}")
    assert log.since(cursor) is Everything.EVERYTHING
    assert log.since(log.end - 1) == frozenset({f"n{KEPT_ENTRIES}"})
