"""Who uses devices on nodes that are made: administrators, and pods that are gone before their containers are."""

from dra_builders import manifests
from dra_cluster.mirror import PODS
from dra_cluster.mixture import ADMIN_LABEL
from dra_cluster.scene import Scene
from dra_controlplane.client import ApiError
from dra_controlplane.waiting import wait_until

INVALID = 422


def admits_administrators(scene: Scene) -> None:
    """Creates the template `watch`, for admin access to a GPU, once the server knows the label of the namespace."""
    scene.world.label_namespace(**{ADMIN_LABEL: "true"})

    def is_made() -> bool:
        try:
            scene.world.create(manifests.template("watch", scene.wants("gpu", adminAccess=True)))
        except ApiError as error:
            if error.code == INVALID:
                return False
            raise
        return True

    wait_until(is_made, "the server to know the label")


def devices_of(scene: Scene, pod: str) -> list[tuple[str, str]]:
    return [(one["pool"], one["device"]) for one in scene.devices(pod)]


def test_administrators_have_a_node_made_and_leave_its_only_device_to_who_works_with_it(scene: Scene) -> None:
    scene.open_pool()
    scene.machine("gpus", scene.group("gpu", 1))
    admits_administrators(scene)
    watch = manifests.from_template("devices", "watch")
    scene.world.pod("early", watch)
    scene.claim_of("early")
    scene.pod("train", scene.wants("gpu"))
    (node,) = set(scene.runs("early", "train"))
    scene.world.pod("late", watch)

    assert scene.runs("late") == [node]
    assert [devices_of(scene, pod) for pod in ("early", "train", "late")] == [[(node, "gpu-0")]] * 3
    marks = [scene.devices(pod)[0].get("adminAccess") for pod in ("early", "train", "late")]
    assert marks == [True, None, True]
    assert len(scene.claims()) == 1


def test_the_device_of_a_pod_that_was_deleted_by_force_serves_the_next_one_and_no_node_is_made(scene: Scene) -> None:
    scene.open_pool()
    scene.machine("gpus", scene.group("gpu", 1))
    scene.pod("old", scene.wants("gpu"))
    (node,) = scene.runs("old")
    scene.world.remove(PODS, "old")
    scene.pod("next", scene.wants("gpu"))

    assert scene.runs("next") == [node]
    assert devices_of(scene, "next") == [(node, "gpu-0")]
    assert len(scene.claims()) == 1
