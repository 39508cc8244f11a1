import msgspec
import pytest

from dra_builders.values import pod
from dra_scheduling.basics.reasons import ClusterEvent
from dra_scheduling.model.pods import Container, ContainerPort, Pod, PodSpec
from dra_scheduling.state.host_ports import ANY_ADDRESS, HostPort, host_ports, port_refusal
from dra_scheduling.wire.objects import read


def with_port(port: ContainerPort, **spec: bool) -> Pod:
    return msgspec.structs.replace(
        pod("p"),
        spec=PodSpec(containers=(Container(name="c", ports=(port,)),), host_network=spec.get("host_network", False)),
    )


def test_only_ports_of_the_host_count() -> None:
    assert host_ports(with_port(ContainerPort(container_port=80))) == ()
    assert host_ports(with_port(ContainerPort(container_port=80, host_port=8080))) == (
        HostPort(ANY_ADDRESS, "TCP", 8080),
    )


def test_on_the_host_network_every_container_port_is_a_host_port() -> None:
    assert host_ports(with_port(ContainerPort(container_port=80), host_network=True)) == (
        HostPort(ANY_ADDRESS, "TCP", 80),
    )


def test_sidecars_hold_their_ports_and_init_containers_do_not() -> None:
    ports = (ContainerPort(host_port=1),)
    sidecar = Container(name="s", ports=ports, restart_policy="Always")
    spec = PodSpec(init_containers=(sidecar, Container(name="i", ports=(ContainerPort(host_port=2),))))

    held = host_ports(msgspec.structs.replace(pod("p"), spec=spec))
    assert [port.port for port in held] == [1]


def test_the_address_is_read_from_the_objects_of_the_api() -> None:
    ports = [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1", "protocol": "UDP"}]
    raw = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "x"}}
    value = read({**raw, "spec": {"containers": [{"name": "c", "ports": ports}]}})

    assert isinstance(value, Pod)
    assert host_ports(value) == (HostPort("10.0.0.1", "UDP", 8080),)


@pytest.mark.parametrize(
    ("taken", "is_refused"),
    [
        (HostPort(ANY_ADDRESS, "TCP", 8080), True),
        (HostPort("10.0.0.1", "TCP", 8080), True),
        (HostPort("10.0.0.2", "TCP", 8080), False),
        (HostPort(ANY_ADDRESS, "UDP", 8080), False),
        (HostPort(ANY_ADDRESS, "TCP", 8081), False),
    ],
)
def test_a_port_clashes_on_the_same_address_or_on_all(taken: HostPort, *, is_refused: bool) -> None:
    refusal = port_refusal((HostPort("10.0.0.1", "TCP", 8080),), {taken})

    assert (refusal is not None) == is_refused


def test_a_port_on_all_addresses_clashes_with_every_address() -> None:
    refusal = port_refusal((HostPort(ANY_ADDRESS, "TCP", 8080),), {HostPort("10.0.0.2", "TCP", 8080)})

    assert refusal is not None
    assert refusal.message == "without free host port 8080/TCP"
    assert ClusterEvent.ROOM in refusal.wake
