import argparse

import pytest

from dra_bench import binds, newnodes, page
from dra_bench.__main__ import SECTIONS, names
from dra_bench.binds import Binds
from dra_bench.clock import Took, milliseconds
from dra_bench.gate import requests_in
from dra_bench.load import writes_in
from dra_bench.processes import Cost
from dra_bench.report import Table
from dra_bench.upstream import Theirs

PAGE = "# Page\n\n<!-- binds -->\nold\n<!-- /binds -->\n\n<!-- start-up -->\n<!-- /start-up -->\n"
METRICS = """
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",resource="pods",subresource="binding",verb="POST"} 7
apiserver_request_total{code="409",resource="pods",subresource="binding",verb="POST"} 1
apiserver_request_total{code="200",resource="pods",subresource="",verb="PATCH"} 2
apiserver_request_total{code="200",resource="pods",subresource="",verb="LIST"} 3
"""

OWN_METRICS = """
dra_scheduler_api_requests_total{code="200",resource="nodes",verb="patch"} 2.0
dra_scheduler_api_requests_total{code="409",resource="nodes",verb="patch"} 1.0
dra_scheduler_api_requests_total{code="200",resource="",verb="get"} 5.0
dra_scheduler_api_requests_created{code="409",resource="nodes",verb="patch"} 1.8e+09
dra_scheduler_watch_events_total{novelty="news",resource="nodes"} 9.0
"""
STATUS = b'{"conditions":[{"type":"Initialized","status":"%s"}]}'
CLAIM = b'{"type":"MODIFIED","object":{"metadata":{"name":"n"},"status":' + STATUS + b"}}"


def measured(scheduler: str, pods_per_second: float) -> Binds:
    return Binds(
        scheduler=scheduler,
        kind="plain",
        pods=2_000,
        pods_per_second=pods_per_second,
        cpu_ms_per_pod=4.0,
        writes_per_pod=2.0,
        writes={},
        costs={"etcd": Cost(1.0, 50.0)},
    )


def test_results_take_the_place_of_older_ones_of_their_section_only() -> None:
    assert page.put(PAGE, "binds", "new\n") == PAGE.replace("old", "new")


def test_a_page_without_a_place_for_the_results_is_refused() -> None:
    with pytest.raises(ValueError, match="no <!-- decisions -->"):
        page.put(PAGE, "decisions", "new\n")


def test_the_page_of_the_project_has_a_place_for_every_section() -> None:
    text = page.PAGE.read_text()

    for section in SECTIONS:
        assert page.put(text, section, "new\n") != text


def test_a_table_reads_as_markdown() -> None:
    assert Table(("a", "b"), (("1", "2"),)).markdown() == "| a | b |\n| --- | --- |\n| 1 | 2 |\n"


def test_writes_are_counted_by_verb_and_resource_whatever_their_answer() -> None:
    assert writes_in(METRICS) == {"POST pods/binding": 8, "PATCH pods": 2}


def test_requests_of_a_role_are_counted_by_verb_and_resource_whatever_their_answer() -> None:
    assert requests_in(OWN_METRICS) == {"patch nodes": 3}


@pytest.mark.parametrize(("status", "name"), [(b"True", b"n"), (b"Unknown", None)])
def test_a_node_claim_is_open_once_its_watch_says_so(status: bytes, name: bytes | None) -> None:
    assert newnodes.opened(CLAIM % status) == name


def test_rates_are_compared_with_that_of_kube_scheduler() -> None:
    table = binds.table([measured("kube-scheduler", 200.0), measured("dra-scheduler", 300.0)])

    ratio = table.columns.index("ratio")
    assert [row[ratio] for row in table.rows] == ["1.00", "1.50"]


def test_a_group_stands_for_its_sections_and_none_is_measured_twice() -> None:
    assert names("memory, allocator,candidates") == ("memory", "searches", "one-pod", "candidates")


def test_an_unknown_section_is_refused_with_those_there_are() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"there is no section speed, only decisions, .*allocator"):
        names("speed")


@pytest.mark.parametrize(("value", "text"), [(0.123, "0.12"), (12.34, "12.3"), (1234.5, "1,234")])
def test_milliseconds_show_the_digits_that_count(value: float, text: str) -> None:
    assert milliseconds(value) == text


def test_kubernetes_time_is_compared_with_ours_by_the_clock() -> None:
    assert Theirs(30.0, is_finished=True, steps=1).cells(Took(10.0, 2.0)) == ("30.0", "3.0")


def test_what_kubernetes_did_not_finish_is_a_lower_bound() -> None:
    assert Theirs(5_000.0, is_finished=False, steps=1).cells(Took(0.5, 0.5)) == ("> 5,000", "> 10,000")
