"""Who is kept from tainted devices, and what he is told: the taint, and the rule that it comes from."""

from msgspec.structs import replace

from dra_builders.values import claim, device, devices, driver_class, node, pod, request, resource_slice
from dra_scheduling.cluster import Cluster
from dra_scheduling.cycle.allocate import schedule
from dra_scheduling.model.base import ObjectMeta
from dra_scheduling.model.claims import DeviceRequest
from dra_scheduling.model.device_taint_rules import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from dra_scheduling.model.node_selectors import Taint, Toleration
from dra_scheduling.state.assignments import Assignment, Outcome
from dra_scheduling.wire import KubernetesObject

BROKEN = Taint(key="example.com/broken", value="fan", effect="NoExecute")


def rule(name: str, taint: Taint = BROKEN, **selector: str) -> DeviceTaintRule:
    spec = DeviceTaintRuleSpec(taint=taint, device_selector=DeviceTaintSelector(**selector))
    return DeviceTaintRule(metadata=ObjectMeta(name=name), spec=spec)


def outcome(*objects: KubernetesObject, tolerations: tuple[Toleration, ...] = ()) -> Outcome:
    """What becomes of a pod that asks for one device."""
    cluster = Cluster()
    for value in (driver_class(), claim("c", tolerating(*tolerations)), pod("p", claims={"gpu": "c"}), *objects):
        cluster.apply(value)
    return schedule(cluster, cluster.pending()).outcomes[0]


def tolerating(*tolerations: Toleration) -> DeviceRequest:
    plain = request()
    assert plain.exactly is not None
    return replace(plain, exactly=replace(plain.exactly, tolerations=tolerations))


def test_the_message_names_the_taint_and_its_rule() -> None:
    found = outcome(node("n1"), resource_slice("s", devices(1), node="n1"), rule("maintenance"))

    assert not isinstance(found, Assignment)
    assert "not tolerated: example.com/broken=fan:NoExecute of DeviceTaintRule maintenance" in found.message


def test_the_message_names_the_taints_that_drivers_publish() -> None:
    worn = replace(device("gpu-0"), taints=(Taint(key="example.com/worn", effect="NoSchedule"),))
    found = outcome(node("n1"), resource_slice("s", [worn], node="n1"))

    assert not isinstance(found, Assignment)
    assert "not tolerated: example.com/worn:NoSchedule" in found.message


def test_a_toleration_for_a_while_is_a_toleration() -> None:
    briefly = Toleration(key=BROKEN.key, operator="Exists", effect="NoExecute", toleration_seconds=0)
    objects = (node("n1"), resource_slice("s", devices(1), node="n1"), rule("maintenance"))

    assert isinstance(outcome(*objects, tolerations=(briefly,)), Assignment)


def test_a_rule_without_effect_on_scheduling_keeps_nobody_away() -> None:
    noted = rule("noted", Taint(key="example.com/noted", effect="None"))

    assert isinstance(outcome(node("n1"), resource_slice("s", devices(1), node="n1"), noted), Assignment)
