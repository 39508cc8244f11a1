from dra_scheduling.basics.reasons import ClusterEvent, Refusal
from dra_scheduling.fit.ranking import Fit, Ranking, Refused, Unknown, Verdict
from dra_scheduling.state.change_log import ChangeLog, LogMark


class Nodes:
    """Nodes whose verdicts a test sets; counts how often each was asked."""

    def __init__(self, **verdicts: Verdict | None) -> None:
        self.verdicts = verdicts
        self.asked: list[str] = []
        self.changes = ChangeLog()
        self.ranking = Ranking()

    def look(self, node: str) -> Verdict | None:
        self.asked.append(node)
        return self.verdicts[node]

    def best(self) -> str | None:
        self.ranking.refresh(list(self.verdicts), self.changes, self.look)
        return self.ranking.best(self.changes, self.look)

    def set(self, node: str, verdict: Verdict | None) -> None:
        self.verdicts[node] = verdict
        self.changes.changed(node)


def refused(message: str = "full", wake: ClusterEvent = ClusterEvent.ROOM) -> Refused:
    return Refused(Refusal(reason="R", message=message, wake=wake))


def test_the_smallest_score_wins_and_names_break_ties() -> None:
    assert Nodes(n2=Fit((1, 0)), n1=Fit((1, 0)), n3=Fit((2, 0))).best() == "n1"


def test_only_nodes_that_changed_are_asked_again() -> None:
    nodes = Nodes(n1=Fit((1,)), n2=Fit((2,)), n3=refused())
    nodes.best()
    nodes.asked.clear()
    nodes.set("n1", refused())
    assert nodes.best() == "n2"
    assert nodes.asked == ["n1"]


def test_a_node_that_went_away_is_neither_best_nor_counted() -> None:
    nodes = Nodes(n1=Fit((1,)), n2=refused())
    nodes.best()
    nodes.set("n1", None)
    assert nodes.best() is None
    assert nodes.ranking.summary().nodes == 1


def test_a_shared_device_taken_by_another_pod_makes_the_best_node_be_asked_again() -> None:
    nodes = Nodes(n1=Fit((1,)), n2=Fit((2,)))
    nodes.best()
    nodes.verdicts["n1"] = refused()
    nodes.changes.shared_takes += 1
    assert nodes.best() == "n2"


def test_the_summary_folds_refusals_and_collects_what_could_help() -> None:
    nodes = Nodes(n1=refused("a"), n2=refused("a"), n3=refused("b", ClusterEvent.DEVICES))
    assert nodes.best() is None
    summary = nodes.ranking.summary()
    assert [(reason.message, reason.nodes) for reason in summary.folded] == [("a", 2), ("b", 1)]
    assert summary.wake == ClusterEvent.NODE | ClusterEvent.ROOM | ClusterEvent.DEVICES
    assert not summary.is_unknown


def test_one_search_without_an_end_makes_the_summary_unknown() -> None:
    nodes = Nodes(n1=refused(), n2=Unknown(Refusal(reason="B", message="budget", wake=ClusterEvent.NOTHING)))
    assert nodes.best() is None
    assert nodes.ranking.summary().is_unknown


def test_many_changes_of_one_node_do_not_make_the_heap_grow_without_end() -> None:
    nodes = Nodes(n1=Fit((1,)), n2=Fit((5,)))
    for score in range(1_000):
        nodes.set("n1", Fit((score % 10,)))
        nodes.best()
    assert len(nodes.ranking._heap) < 100  # noqa: SLF001 - the bound is what this test is about


def test_a_node_that_was_put_off_is_asked_again_and_one_that_was_searched_in_vain_is_not() -> None:
    refusal = refused().refusal
    nodes = Nodes(n1=Unknown(refusal, is_postponed=True), n2=Unknown(refusal))
    nodes.best()
    nodes.asked.clear()
    nodes.verdicts["n1"] = Fit((1,))
    assert nodes.best() == "n1"
    assert nodes.asked == ["n1"]


def tried(nodes: Nodes) -> None:
    """Begin a statement; what nodes answered before is asked for no more."""
    nodes.best()
    nodes.changes.journal.open()
    nodes.changes.begin()
    nodes.asked.clear()


def test_a_trial_that_is_undone_leaves_nothing_to_ask_again() -> None:
    nodes = Nodes(n1=Fit((1,)), n2=Fit((2,)), n3=refused())
    tried(nodes)
    mark = nodes.changes.mark()
    nodes.set("n1", refused())
    nodes.set("n3", Fit((0,)))
    assert nodes.best() == "n3"
    assert nodes.asked == ["n1", "n3"]
    undo(nodes, mark, n1=Fit((1,)), n3=refused())
    assert nodes.best() == "n1"
    assert nodes.asked == ["n1", "n3"]
    assert nodes.ranking.summary().nodes == 1


def test_a_trial_with_devices_that_all_nodes_reach_is_undone_without_asking_them_again() -> None:
    nodes = Nodes(n1=Fit((1,)), n2=Fit((2,)), n3=refused())
    tried(nodes)
    mark = nodes.changes.mark()
    nodes.verdicts["n3"] = Fit((0,))
    nodes.changes.everything_changed()
    nodes.changes.shared_takes += 1
    assert nodes.best() == "n3"
    undo(nodes, mark, n3=refused())
    nodes.asked.clear()
    assert nodes.best() == "n1"
    assert nodes.asked == []


def test_what_nodes_that_were_not_tried_say_at_first_sight_is_kept() -> None:
    nodes = Nodes(n1=Fit((1,)), n2=Fit((2,)), n3=Fit((3,)))
    nodes.changes.journal.open()
    nodes.changes.begin()
    mark = nodes.changes.mark()
    nodes.set("n1", refused())
    assert nodes.best() == "n2"
    undo(nodes, mark, n1=Fit((1,)))
    nodes.asked.clear()
    assert nodes.best() == "n1"
    assert nodes.asked == ["n1"]


def test_what_really_changed_before_a_trial_is_asked_for_after_it() -> None:
    nodes = Nodes(n1=Fit((1,)), n2=Fit((2,)))
    nodes.best()
    nodes.set("n2", Fit((0,)))
    nodes.changes.journal.open()
    nodes.changes.begin()
    mark = nodes.changes.mark()
    nodes.set("n2", refused())
    assert nodes.best() == "n1"
    undo(nodes, mark, n2=Fit((0,)))
    assert nodes.best() == "n2"


def undo(nodes: Nodes, mark: LogMark, **verdicts: Verdict) -> None:
    nodes.verdicts |= verdicts
    nodes.changes.journal.rollback(0)
    nodes.changes.rewind(mark)


def test_nodes_come_in_order_and_those_that_lost_a_shared_device_in_between_not_at_all() -> None:
    nodes = Nodes(n3=Fit((3,)), n1=Fit((1,)), n2=Fit((2,)), n4=refused())
    nodes.best()
    assert list(nodes.ranking.in_order(nodes.changes, nodes.look)) == ["n1", "n2", "n3"]
    nodes.verdicts |= {"n1": refused(), "n2": Fit((4,))}
    nodes.changes.shared_takes += 1
    assert list(nodes.ranking.in_order(nodes.changes, nodes.look)) == ["n3", "n2"]
