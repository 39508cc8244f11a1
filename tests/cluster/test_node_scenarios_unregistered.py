"""Machines that never become nodes: one for each rest of their type, other types meanwhile."""

from datetime import UTC, datetime, timedelta

from dra_cluster.faults import Match
from dra_cluster.proxy import Proxy
from dra_cluster.scene import Scene
from dra_controlplane.client import path_of

SETTINGS = {"registration_timeout_seconds": "2"}
CREATE = Match(method="POST", path=r"/nodeclaims$")


def failures(scene: Scene, kind: str) -> int:
    return int(scene.type_status(kind).get("registrationFailures") or 0)


def until_failed(scene: Scene, kind: str, count: int) -> None:
    """Waits until machines of a type have failed so many times in a row."""
    scene.world.mirror.until(lambda: failures(scene, kind) == count, f"{count} failures of {kind}")


def rest_until(scene: Scene, kind: str, seconds: float) -> None:
    """Lets a type rest for so long from now on."""
    end = (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    scene.world.api.patch(
        path_of("dra-scheduler.dev/v1alpha1/instancetypes", kind, subresource="status"),
        {"status": {"registrationRetryAfter": end}},
    )


def test_a_machine_that_never_registers_costs_one_for_each_rest_of_its_type_while_others_are_tried(
    scene: Scene, proxy: Proxy
) -> None:
    scene.open_pool(faults={"never": "register"})
    cheap = scene.machine("cheap")
    dear = scene.machine("dear", price=9)
    before = len(proxy.writes(CREATE))
    scene.pod("train", limits={"cpu": 1})
    until_failed(scene, cheap, 1)
    until_failed(scene, dear, 1)
    scene.until_nothing_remains()
    scene.world.pending("train", "no new node", "failed to become nodes lately, tried again at")
    assert len(proxy.writes(CREATE)) - before == 2
    # Nothing changes at the end of the rest.
    rest_until(scene, cheap, 4)

    until_failed(scene, cheap, 2)
    assert failures(scene, dear) == 1
    assert len(proxy.writes(CREATE)) - before == 3
