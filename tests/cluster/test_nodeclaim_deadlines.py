from collections.abc import Iterator

import pytest

from dra_builders import manifests
from dra_cluster.faults import Hold, Match
from dra_cluster.machines import DRIVERS_TAINT, TYPES, Machines
from dra_cluster.operators import Operators, RunningOperator
from dra_cluster.proxy import Proxy

FAILURE_WRITES = {
    "give it up": Match(method="PATCH", path=r"/nodeclaims/n-[^/]+/status", body='"DRADriverPoolsTimeout"'),
    "count the failure": Match(method="PATCH", path=r"/instancetypes/[^/]+/status", body='"deviceFailures"'),
    "delete it": Match(method="DELETE", path=r"/nodeclaims/n-"),
}
IMPATIENT = "2"


@pytest.fixture
def impatient(
    request: pytest.FixtureRequest, operators: Operators, machines: Machines, nodeclaims: RunningOperator
) -> Iterator[RunningOperator]:
    """The role with little patience for one part of a life, `gate` unless a test names it, instead of the usual one."""
    nodeclaims.kill()
    setting = {f"{getattr(request, 'param', 'gate')}_timeout_seconds": IMPATIENT}
    operator = operators.add("impatient", roles="nodeclaims", account="dra-nodeclaims", **setting)
    operator.run()
    yield operator
    operator.kill()


def test_a_driver_that_never_publishes_costs_its_node_and_gives_the_type_a_rest(
    machines: Machines, impatient: RunningOperator
) -> None:
    machines.instance_type()
    name = machines.up("n", machines.world.driver)
    machines.world.told(name, "DRADriverPoolsTimeout", machines.world.driver)
    machines.until(name, "Drained", "True")
    status = machines.api.get(TYPES, machines.type)["status"]

    assert status["deviceFailures"] == 1
    assert status["retryAfter"] > machines.get(name)["metadata"]["deletionTimestamp"]
    assert not machines.is_open(name)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("write", FAILURE_WRITES)
def test_a_failure_is_counted_once_whenever_the_process_is_killed(
    machines: Machines, impatient: RunningOperator, proxy: Proxy, write: str, moment: str
) -> None:
    hold = Hold()
    proxy.disturb(FAILURE_WRITES[write], hold.before() if moment == "before" else hold.after())
    machines.instance_type()
    name = machines.up("n", machines.world.driver)
    hold.reached()
    impatient.kill()
    hold.drop()
    impatient.run()
    machines.until(name, "Drained", "True")

    assert machines.condition(name)["reason"] == "DRADriverPoolsTimeout"
    assert machines.api.get(TYPES, machines.type)["status"]["deviceFailures"] == 1


@pytest.mark.parametrize("impatient", ["launch"], indirect=True)
def test_a_claim_that_nobody_launches_is_deleted(machines: Machines, impatient: RunningOperator) -> None:
    name = machines.claim("n")

    machines.gone(name)
    machines.world.told(name, "LaunchTimeout")


@pytest.mark.parametrize("impatient", ["registration"], indirect=True)
def test_a_machine_without_a_node_is_deleted_and_gives_its_type_a_rest(
    machines: Machines, impatient: RunningOperator
) -> None:
    machines.instance_type()
    name = machines.claim("n")
    machines.launch(name)

    machines.gone(name)
    machines.world.told(name, "RegistrationTimeout")
    status = machines.api.get(TYPES, machines.type)["status"]
    assert (status["registrationFailures"], status.get("deviceFailures")) == (1, None)


def test_beside_karpenter_only_the_startup_taint_is_ours(
    operators: Operators, machines: Machines, nodeclaims: RunningOperator
) -> None:
    nodeclaims.kill()
    operator = operators.add("gate", roles="nodeclaims", account="dra-nodeclaims", nodeclaims="gate")
    operator.run()
    name = machines.up("n", machines.world.driver, group="karpenter.test", taints=[DRIVERS_TAINT])
    own = machines.up("own", machines.world.driver, taints=[DRIVERS_TAINT])
    before = machines.get(name)
    machines.world.publish(own, manifests.numbered(2))
    machines.world.mirror.until(lambda: DRIVERS_TAINT["key"] not in machines.taints(own), "the taint to go")
    assert DRIVERS_TAINT["key"] in machines.taints(name)
    machines.world.publish(name, manifests.numbered(2))
    machines.world.mirror.until(lambda: DRIVERS_TAINT["key"] not in machines.taints(name), "the taint to go")
    operator.kill()

    assert machines.get(name) == before
    assert machines.taints(name) == ["karpenter.sh/unregistered"]
