"""Fixtures of the tests in which scheduler and binder share a cluster with the tests before and after."""

import uuid
from collections.abc import Generator, Iterator

import pytest

from dra_cluster.kwok import Kwok
from dra_cluster.machines import Machines
from dra_cluster.mirror import Mirror
from dra_cluster.operators import Operators, RunningOperator, run_all
from dra_cluster.planning import Planning
from dra_cluster.proxy import Proxy
from dra_cluster.witness import Witness, devices_taken, leftovers
from dra_cluster.world import World
from dra_controlplane.client import ApiClient
from dra_controlplane.installation import BASE, KWOK, apply_rights, install
from dra_controlplane.server import ControlPlane


@pytest.fixture(scope="session")
def installed(api: ApiClient) -> None:
    install(api, BASE)


@pytest.fixture(scope="session")
def strangers(api: ApiClient) -> None:
    """What others may write where the tests read.

    This Event is the one of kube-apiserver when its default ServiceCIDR could not be created at once.
    """
    about_nothing = {"kind": "ServiceCIDR", "apiVersion": "networking.k8s.io/v1"}
    api.create(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"nobody.{uuid.uuid4().hex[:16]}", "namespace": "default"},
            "involvedObject": about_nothing,
            "type": "Warning",
            "reason": "KubernetesDefaultServiceCIDRError",
            "message": "The default ServiceCIDR can not be created",
        }
    )


@pytest.fixture(scope="session")
def mirror(installed: None, strangers: None, api: ApiClient) -> Iterator[Mirror]:
    with Mirror(api) as mirror:
        yield mirror


@pytest.fixture(scope="session")
def witness(mirror: Mirror) -> Witness:
    return Witness(mirror)


@pytest.fixture(scope="session")
def proxy(control_plane: ControlPlane) -> Iterator[Proxy]:
    with Proxy(control_plane.url, control_plane.ca, control_plane.folder / "proxy") as proxy:
        yield proxy


@pytest.fixture(scope="session")
def operators(control_plane: ControlPlane, proxy: Proxy, installed: None) -> Iterator[Operators]:
    with Operators(control_plane, proxy) as operators:
        yield operators


@pytest.fixture(scope="session")
def scheduler(operators: Operators) -> RunningOperator:
    """The role `scheduler` in a process of its own; started again for the next test if a test ends it."""
    return operators.add("scheduler", roles="scheduler", account="dra-scheduler")


@pytest.fixture(scope="session")
def binder(operators: Operators) -> RunningOperator:
    """The role `binder` in a process of its own; started again for the next test if a test ends it."""
    return operators.add("binder", roles="binder", account="dra-binder")


@pytest.fixture(scope="session")
def nodeclaims(operators: Operators) -> RunningOperator:
    """The role `nodeclaims` in a process of its own; started again for the next test if a test ends it."""
    return operators.add("nodeclaims", roles="nodeclaims", account="dra-nodeclaims")


@pytest.fixture
def machines(ground: World, nodeclaims: RunningOperator) -> Iterator[Machines]:
    """An instance type, and NodeClaims that the role `nodeclaims` looks after; the test is their provider."""
    run_all(nodeclaims)
    machines = Machines(ground)
    yield machines
    machines.leave()


@pytest.fixture(scope="session")
def provider(installed: None, api: ApiClient, operators: Operators) -> RunningOperator:
    """The role `kwok` in a process of its own. It would make up machines for any test, so it is not to outlive one."""
    apply_rights(api, KWOK)
    return operators.add("kwok", roles="kwok", account="dra-kwok")


@pytest.fixture
def kwok(machines: Machines, proxy: Proxy, provider: RunningOperator) -> Iterator[Kwok]:
    """An instance type, and NodeClaims whose machines the role `kwok` makes up."""
    provider.run()
    kwok = Kwok(machines)
    yield kwok
    proxy.calm()
    provider.run()
    kwok.leave()
    provider.kill()


@pytest.fixture
def ground(
    api: ApiClient, mirror: Mirror, witness: Witness, namespace: str, proxy: Proxy, operators: Operators
) -> Iterator[World]:
    """A part of the cluster, with nobody at work yet; no device may be in two claims there."""
    operators.begin_logs()
    world = World(api, mirror, namespace)
    yield world
    try:
        shared = witness.shared_now if world.is_contested else witness.violations
        assert shared(world.driver) == []
    finally:
        proxy.calm()
        world.leave()
        mirror.forget(namespace)


@pytest.fixture
def world(ground: World, proxy: Proxy, scheduler: RunningOperator, binder: RunningOperator) -> Iterator[World]:
    """A part of the cluster with both roles at work. In the end nothing may be left over in it."""
    run_all(scheduler, binder)
    yield ground
    proxy.calm()
    run_all(scheduler, binder)
    wait_for_rest(ground, scheduler, binder)


@pytest.fixture
def planning(world: World) -> Iterator[Planning]:
    """A NodePool for which NodeClaims are planned; the test is their provider."""
    planning = Planning(world)
    planning.node_pool()
    yield planning
    planning.leave()


@pytest.fixture
def contest(world: World, control_plane: ControlPlane) -> Iterator[World]:
    """kube-scheduler is at work on the same devices: one may be given out twice, but never for good."""
    world.is_contested = True
    component = control_plane.start_scheduler()
    yield world
    # Whoever kills it in the middle of something leaves a claim behind that nobody looks after.
    world.mirror.until(lambda: not leftovers(world.mirror, world.namespace), "the schedulers to be at rest")
    component.kill()


def wait_for_rest(world: World, scheduler: RunningOperator, binder: RunningOperator) -> None:
    """Waits until nothing is under way or left over, and both count exactly the devices that the API says are taken."""

    def unrest() -> str:
        counts = {
            "API": devices_taken(world.mirror),
            "ledger": scheduler.metric('dra_scheduler_devices{state="reserved"}'),
            "binder": binder.metric('dra_scheduler_devices{state="allocated"}'),
        }
        differences = [] if len(set(counts.values())) == 1 else [f"devices taken: {counts}"]
        return "\n".join(leftovers(world.mirror, world.namespace) + differences)

    try:
        world.mirror.until(lambda: not unrest(), "rest")
    except TimeoutError:
        pytest.fail(f"not at rest: {unrest()}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shows what the operators said during a test that failed."""
    report = yield
    operators = getattr(item, "funcargs", {}).get("operators")
    if report.failed and operators is not None:
        report.sections.extend((f"log of {name}", text) for name, text in operators.logs())
    return report
