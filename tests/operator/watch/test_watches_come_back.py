import http.client
import time

import pytest

from dra_builders.manifests import from_template
from dra_cluster.faults import Hold, Match, accept_and_mute, answer
from dra_cluster.mirror import PODS
from dra_cluster.operators import Operators, RunningOperator
from dra_cluster.proxy import Proxy
from dra_cluster.world import World
from dra_controlplane.server import ControlPlane
from dra_controlplane.waiting import wait_until

pytestmark = pytest.mark.controlplane

BACK_SECONDS = 60.0


@pytest.fixture
def operator(replicas: Operators, place: World) -> RunningOperator:
    operator = replicas.add("watching", roles="scheduler,binder", account="dra-scheduler")
    operator.run()
    place.gpu_node("n1", 2)
    place.gpu_template(place.gpu_class())
    place.pod("first", from_template("gpu", "gpus"))
    place.bound("first")
    return operator


def assert_comes_back(place: World, seconds: float = BACK_SECONDS) -> None:
    """Holds when new objects of every kind are seen in time: a node, its slice, a pod and its claim."""
    name = f"after-{time.monotonic_ns()}"
    place.node(name)
    place.publish(place.named(name), [{"name": "gpu-0"}])
    place.gpu_template(place.gpu_class(stem=name), stem=name)
    place.pod("a", from_template("gpu", name))
    place.pod("b", from_template("gpu", name))

    assert {place.bound(pod, seconds=seconds) for pod in "ab"} == {place.named("n1"), place.named(name)}


def test_a_server_that_was_away(operator: RunningOperator, own_plane: ControlPlane, place: World) -> None:
    own_plane.restart_apiserver()

    assert_comes_back(place)


def test_a_time_in_which_nobody_is_let_in(operator: RunningOperator, network: Proxy, place: World) -> None:
    refused = network.disturb(Match(), answer(401), times=0)
    network.end_watches()
    refused.wait()
    time.sleep(10)
    network.calm()

    assert_comes_back(place)


def test_a_time_in_which_a_kind_is_not_served(operator: RunningOperator, network: Proxy, place: World) -> None:
    unknown = network.disturb(Match(method="GET", path="/v1alpha2/bindrequests"), answer(404), times=0)
    network.end_watches("/bindrequests")
    unknown.wait()
    time.sleep(5)
    network.calm()

    assert operator.is_running
    assert_comes_back(place)


def test_watches_that_are_open_and_silent(operator: RunningOperator, network: Proxy, place: World) -> None:
    assert network.freeze_watches() >= 7

    assert_comes_back(place)


def test_a_version_that_is_too_old(operator: RunningOperator, network: Proxy, place: World) -> None:
    assert network.end_watches() >= 7

    assert_comes_back(place)


def test_watches_that_are_refused_as_too_old(operator: RunningOperator, network: Proxy, place: World) -> None:
    refused = network.disturb(Match(method="GET", path="watch=true"), answer(410), times=0)
    assert network.end_watches() >= 7
    refused.wait()
    time.sleep(5)
    network.calm()

    assert operator.is_running
    assert_comes_back(place)


def test_watches_that_are_accepted_and_mute_on_every_kind(replicas: Operators, network: Proxy, place: World) -> None:
    operator = replicas.add("deaf", roles="scheduler,binder", account="dra-scheduler", watch_silence_seconds="5")
    operator.run()
    place.gpu_node("n1", 2)
    network.disturb(Match(method="GET", path="watch=true"), accept_and_mute(), times=0)
    network.end_watches()

    time.sleep(2)

    # Everything there is to know has to come by lists now, the echoes of own writes included.
    assert_comes_back(place, seconds=150.0)
    said = operator.log_tail(most=1_000_000)
    assert "a watch has missed something" in said
    network.calm()
    wait_until(lambda: "missed" not in operator.ask("/readyz")[1], "every kind to be listed anew", seconds=90.0)


def test_a_pod_that_went_while_nobody_watched_has_gone(operator: RunningOperator, network: Proxy, place: World) -> None:
    place.pod("second", from_template("gpu", "gpus"))
    place.bound("second")
    place.pod("third", from_template("gpu", "gpus"))
    place.pending("third", "0/")
    hold = Hold()
    network.disturb(Match(method="GET", path=r"^/api/v1/pods\?limit"), hold.before())
    network.disturb(Match(method="GET", path=r"^/apis/resource.k8s.io/v1/resourceclaims\?limit"), hold.before())
    network.end_watches("/pods")
    network.end_watches("/resourceclaims")
    hold.reached()
    place.remove(PODS, "second")
    wait_until(lambda: not place.claim_of("second"), "the claim to be gone")

    hold.release()

    assert place.bound("third") == place.named("n1")


def test_silence_is_told(operator: RunningOperator, replicas: Operators, network: Proxy) -> None:
    watchful = replicas.add("watchful", roles="scheduler", account="dra-scheduler", watch_silence_seconds="3")
    watchful.run()
    network.disturb(Match(method="GET", path="/deviceclasses"), answer(500), times=0)
    network.freeze_watches("/deviceclasses")

    def silence() -> str:
        status, text = watchful.ask("/readyz")
        return text if status == 500 and "deviceclasses" in text else ""

    assert "deviceclasses: nothing heard for 3 s\n" in wait_until(silence, "the operator to say so")


def test_a_cluster_in_which_nothing_changes_leaves_the_operator_ready(replicas: Operators, place: World) -> None:
    # The server sends no bookmark while nothing changes, and a watch is opened anew every 25 seconds.
    operator = replicas.add("quiet", roles="scheduler", account="dra-scheduler", watch_silence_seconds="30")
    operator.run()
    answers = []
    for _ in range(40):
        answers.append(operator.ask("/readyz"))
        time.sleep(1)

    assert [(status, text) for status, text in answers if status != http.client.OK] == []
