"""All roles of the operator at work, each under its own shipped account, from a cluster without a node on."""

from collections.abc import Iterator, Mapping

import pytest

from dra_cluster.fixtures import wait_for_rest
from dra_cluster.operators import Operators, RunningOperator, run_all
from dra_cluster.proxy import Proxy
from dra_cluster.scene import Scene
from dra_cluster.world import World

ROLES = ("scheduler", "binder", "nodeclaims", "kwok")
QUICK = {"batch_idle_seconds": "0.2", "batch_max_seconds": "2"}


class Whole:
    """Four processes that know nothing of each other."""

    def __init__(self, operators: Operators, settings: Mapping[str, str], name: str = "whole") -> None:
        self._roles = {
            role: operators.add(f"{name}-{role}", roles=role, account=f"dra-{role}", **{**QUICK, **settings})
            for role in ROLES
        }

    def __getitem__(self, role: str) -> RunningOperator:
        return self._roles[role]

    def run(self) -> None:
        """Starts what does not run, and waits until all are ready."""
        run_all(*self._roles.values())

    def kill(self) -> None:
        """Ends all of them as a power cut would."""
        for operator in self._roles.values():
            operator.kill()


@pytest.fixture(scope="module")
def whole(request: pytest.FixtureRequest, operators: Operators, provider: RunningOperator) -> Iterator[Whole]:
    """The roles with the settings that the test module's `SETTINGS` names; they end with the module."""
    whole = Whole(operators, getattr(request.module, "SETTINGS", {}))
    yield whole
    whole.kill()


@pytest.fixture
def nobody_else(
    scheduler: RunningOperator, binder: RunningOperator, nodeclaims: RunningOperator, provider: RunningOperator
) -> None:
    """Ends the roles that other tests share."""
    for other in (scheduler, binder, nodeclaims, provider):
        other.kill()


@pytest.fixture
def scene(ground: World, proxy: Proxy, nobody_else: None, whole: Whole) -> Iterator[Scene]:
    """A pool without a node, and all roles at work. In the end nothing at all may be left of it."""
    whole.run()
    scene = Scene(ground)
    yield scene
    proxy.calm()
    whole.run()
    scene.leave()
    wait_for_rest(ground, whole["scheduler"], whole["binder"])
