import re
import socket
import time

import pytest

from dra_builders.manifests import from_template
from dra_cluster.faults import Match, answer
from dra_cluster.operators import BY_KOPF, BY_PROGRAM, Operators, RunningOperator
from dra_cluster.proxy import Proxy
from dra_cluster.world import World
from dra_controlplane.server import ControlPlane
from dra_controlplane.waiting import wait_until
from dra_scheduling.model.kinds import REGISTRY

pytestmark = pytest.mark.controlplane

ACCOUNT = "dra-scheduler"
STOP_SECONDS = 10.0
QUIET_SECONDS = 4.0


def everything(operators: Operators, name: str = "everything", **settings: str) -> RunningOperator:
    return operators.add(name, roles="scheduler,binder", account=ACCOUNT, **settings)


@pytest.mark.parametrize("command", [BY_KOPF, BY_PROGRAM], ids=["kopf run", "dra-operator"])
def test_one_process_decides_and_binds(replicas: Operators, place: World, command: tuple[str, ...]) -> None:
    operator = replicas.add("one", roles="scheduler,binder,nodeclaims", account=ACCOUNT, command=command)
    operator.run()
    place.gpu_node("n1", 3)
    place.gpu_template(place.gpu_class(extended=place.resource))
    place.pod("by-template", from_template("gpu", "gpus"))
    place.pod("by-name", limits={place.resource: 2})

    assert place.bound("by-template") == place.bound("by-name") == place.named("n1")
    code, seconds = operator.terminate()
    assert (code, seconds < STOP_SECONDS) == (0, True)


@pytest.mark.parametrize("role", ["scheduler", "binder", "nodeclaims"])
def test_a_process_watches_what_its_role_needs_and_nothing_else(replicas: Operators, role: str) -> None:
    operator = replicas.add(f"only-{role}", roles=role, account=f"dra-{role}")
    operator.run()

    watched = set(re.findall(r'dra_scheduler_watch_version\{resource="(\w+)"\}', operator.ask("/metrics")[1]))
    wanted = {kind.plural for kind in REGISTRY if role in kind.roles}
    # Kubernetes 1.36 does not serve taint rules.
    assert (watched - wanted, wanted - watched) in [(set(), set()), (set(), {"devicetaintrules"})]
    assert operator.terminate()[0] == 0


def test_a_stop_in_the_middle_of_binds_is_clean_and_the_next_start_goes_on(
    replicas: Operators, network: Proxy, place: World
) -> None:
    operator = everything(replicas)
    operator.run()
    place.gpu_node("n1", 20)
    place.gpu_template(place.gpu_class())
    held = network.disturb(Match(method="POST", path="/binding"), answer(429, retry_after=5), times=0)
    for number in range(20):
        place.pod(f"p{number}", from_template("gpu", "gpus"))
    held.wait()

    code, seconds = operator.terminate()
    network.calm()
    operator.run()

    assert (code, seconds < STOP_SECONDS) == (0, True)
    assert {place.bound(f"p{number}") for number in range(20)} == {place.named("n1")}


def test_an_idle_cluster_is_not_written_to(replicas: Operators, network: Proxy, place: World) -> None:
    operator = everything(replicas)
    operator.run()
    place.gpu_node("n1", 1)
    place.gpu_template(place.gpu_class())
    for number in range(20):
        place.pod(f"p{number}", from_template("gpu", "gpus"))
    wait_until(lambda: sum(bool(place.message(f"p{number}")) for number in range(20)) == 19, "19 pods to say why")

    def is_quiet() -> bool:
        before = len(network.writes())
        time.sleep(QUIET_SECONDS)
        return len(network.writes()) == before

    wait_until(is_quiet, "the last word about the pods")
    assert is_quiet()


def test_nothing_of_ours_is_put_on_watched_objects(replicas: Operators, place: World) -> None:
    everything(replicas).run()
    node = place.gpu_node("n1", 1)
    place.gpu_template(place.gpu_class())
    place.pod("p", from_template("gpu", "gpus"))
    place.bound("p")

    objects = [place.find_pod("p"), place.claim_of("p"), place.api.get("v1/nodes", node)]
    assert [one["metadata"].get("annotations", {}) for one in objects if "kopf" in str(one["metadata"])] == []
    assert "finalizers" not in place.find_pod("p")["metadata"]


def test_a_cluster_without_our_definition_is_waited_for(replicas: Operators, network: Proxy, place: World) -> None:
    network.disturb(Match(method="GET", path="^/apis/scheduling.run.ai/v1alpha2$"), answer(404), times=0)
    operator = everything(replicas)
    operator.start()
    wait_until(lambda: "apply the CustomResourceDefinitions" in operator.ask("/readyz")[1], "the operator to say so")
    assert operator.ask("/healthz") == (200, "ok\n")

    network.calm()
    operator.wait_ready()

    place.gpu_node("n1", 1)
    place.gpu_template(place.gpu_class())
    place.pod("p", from_template("gpu", "gpus"))
    assert place.bound("p")


def test_a_token_that_is_renewed_while_the_operator_waits_is_taken(replicas: Operators, place: World) -> None:
    operator = everything(replicas, "late")
    login = operator.kubeconfig.read_text()
    operator.kubeconfig.write_text(re.sub(r"token: .*", "token: outdated", login))
    operator.start()
    wait_until(lambda: "401" in operator.ask("/readyz")[1], "the operator to say that it is not let in")

    operator.kubeconfig.write_text(login)

    operator.wait_ready()


def test_a_missing_permission_is_named(replicas: Operators) -> None:
    operator = replicas.add("too-little", roles="scheduler", account="dra-binder")
    operator.start()

    def problems() -> str:
        status, text = operator.ask("/readyz")
        return text if status == 500 and "no permission" in text else ""

    text = wait_until(problems, "the operator to say what is missing")
    assert "no permission to create bindrequests.scheduling.run.ai in every namespace\n" in text


def test_an_address_that_is_taken_ends_the_program(replicas: Operators) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        operator = everything(replicas, http_address=address)
        operator.start()
        wait_until(lambda: not operator.is_running, "the program to end")

    assert operator.terminate()[0] == 1
    assert f"DRA_HTTP_ADDRESS={address}" in operator.log_tail()


@pytest.mark.parametrize("command", [BY_KOPF, BY_PROGRAM], ids=["kopf run", "dra-operator"])
def test_a_stop_before_the_start_has_ended_is_clean(
    replicas: Operators, network: Proxy, own_plane: ControlPlane, command: tuple[str, ...]
) -> None:
    network.disturb(Match(method="GET", path="^/apis/scheduling.run.ai/v1alpha2$"), answer(404), times=0)
    operator = replicas.add("early", roles="scheduler", account=ACCOUNT, command=command)
    operator.start()
    wait_until(lambda: operator.ask("/readyz")[0] == 500, "the operator to wait")

    code, seconds = operator.terminate()

    assert (code, seconds < STOP_SECONDS) == (0, True)


def test_a_process_ends_to_be_started_again_when_the_cluster_begins_to_serve_a_kind(
    replicas: Operators, network: Proxy, place: World
) -> None:
    operator = everything(replicas, "upgraded")
    network.disturb(Match(method="GET", path="^/apis/karpenter.sh/v1$"), answer(404), times=0)
    operator.run()
    assert "nodepools in karpenter.sh/v1" not in operator.log_tail(most=10_000_000)

    network.calm()
    assert operator.wait_end() == 1
    assert "new: nodepools in karpenter.sh/v1, nodeclaims in karpenter.sh/v1; gone: none" in operator.log_tail(
        most=100_000
    )
