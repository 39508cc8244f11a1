from dra_cluster.objects import from_template
from dra_cluster.world import World, consumers, devices


def test_a_pod_gets_the_device_of_its_template_claim(world: World) -> None:
    node = world.gpu_node("n1", 8)
    world.gpu_template(world.gpu_class())
    pod = world.pod("trainer", from_template("gpu", "gpus"))

    assert world.bound("trainer") == node
    claim = world.claim_of("trainer")
    assert len(devices(claim)) == 1
    assert consumers(claim) == ["trainer"]
    assert pod
