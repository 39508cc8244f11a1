"""DaemonSets that take devices: a node has enough of them for its daemons and for the pods that it is made for."""

from dra_builders import manifests
from dra_cluster.machines import TYPES
from dra_cluster.operators import RunningOperator
from dra_cluster.planning import POOL_LABEL, Planning, types_of
from dra_controlplane.client import Json


def daemon_set(planning: Planning, name: str, *claims: Json) -> Json:
    """A DaemonSet that runs on nodes of the test's pool and on no others."""
    pod = manifests.pod(name, *claims)
    spec = {**pod["spec"], "nodeSelector": {POOL_LABEL: planning.pool}}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name}}
    return planning.world.create({**body, "spec": {"selector": {"matchLabels": labels}, "template": template}})


def test_a_node_is_made_with_a_device_for_its_daemon_besides_that_of_the_pod(
    planning: Planning, scheduler: RunningOperator
) -> None:
    world = planning.world
    one, two = planning.instance_type("one", gpu=1), planning.instance_type("two", gpu=2, price=2)
    template = world.create(manifests.template("gpus", manifests.request("gpu", planning.driver("gpu"))))
    entry = manifests.from_template("gpu", "gpus")
    agent = daemon_set(planning, "agent", entry)
    scheduler.wait_seen(agent, template, *(planning.api.get(TYPES, name) for name in (one, two)))

    world.pod("train", entry)

    assert types_of(planning.claim_of("train")) == [two]
