"""Plays the scenes, one after the other, and watches what becomes of each."""

import time
from collections.abc import Callable, Mapping

from dra_builders.manifests import namespace
from dra_controlplane.client import ApiClient
from dra_controlplane.installation import OPERATOR_NAMESPACE, SCHEDULER_ACCOUNT
from dra_demo.check import Finding, findings
from dra_demo.objects import GROUP, NAMESPACE
from dra_demo.program import Operator
from dra_demo.rights import may, user_of
from dra_demo.rows import Row, rows
from dra_demo.show import Screen
from dra_demo.state import State, load, node_of, scheduled_condition
from dra_demo.world import CLUSTER, DESCRIPTION, SCENES, Place, Scene, places

LOOK_SECONDS = 0.2
SCENE_SECONDS = 60.0
# People read more slowly than pods are bound.
READING_SECONDS = 1.5
# A message on a waiting pod may follow what it is about by a second.
QUIET_SECONDS = 2.0
FORBIDDEN = (("list", "secrets"), ("create", "pods"), ("delete", "nodes"))


class Play:
    """The demo on a running cluster with a running operator; `api` has an administrator's rights."""

    def __init__(self, api: ApiClient, operator: Operator, screen: Screen) -> None:
        self._api = api
        self._operator = operator
        self._screen = screen
        self._rows: tuple[Row, ...] = ()

    def set_up(self) -> None:
        """Create nodes, the DeviceClass and what the drivers publish."""
        for item in (namespace(NAMESPACE), *CLUSTER):
            self._api.create(item)
        self._screen.table(("node", "devices by", "what it has"), DESCRIPTION)

    def run(self) -> None:
        """Play every scene; one that does not end as it must is left after a while, for the check to say so."""
        with self._screen.live():
            for scene in SCENES:
                self._play(scene)
            self._watch(self._quiet())

    def check(self, account: ApiClient) -> bool:
        """Say of everything that was shown whether it is true, and return whether all of it is."""
        self._screen.heading("Is it true? Read from the server again:")
        results = [_account(account), *findings(self._rows, load(self._api), places())]
        for finding in results:
            self._screen.finding(finding)
        return all(finding.is_true for finding in results)

    def _play(self, scene: Scene) -> None:
        self._screen.heading(scene.title)
        for item in scene.created:
            self._api.create(item)
        for name in scene.deleted:
            self._api.delete(f"{GROUP}/resourceslices", name)
        earliest = time.monotonic() + (READING_SECONDS if self._screen.is_terminal else 0.0)
        self._watch(lambda state: _has_ended(scene.places, state) and time.monotonic() >= earliest)

    def _watch(self, has_ended: Callable[[State], bool]) -> None:
        deadline = time.monotonic() + SCENE_SECONDS
        while True:
            self._operator.check()
            state = load(self._api)
            self._rows = rows(state, places())
            self._screen.update(self._rows)
            if has_ended(state) or time.monotonic() > deadline:
                return
            time.sleep(LOOK_SECONDS)

    def _quiet(self) -> Callable[[State], bool]:
        last, since = self._rows, time.monotonic()

        def is_quiet(_: State) -> bool:
            nonlocal last, since
            if self._rows != last:
                last, since = self._rows, time.monotonic()
            return time.monotonic() - since >= QUIET_SECONDS

        return is_quiet


def _has_ended(places: Mapping[str, Place], state: State) -> bool:
    return all(name in state.pods and _is_there(name, place, state) for name, place in places.items())


def _is_there(name: str, place: Place, state: State) -> bool:
    pod = state.pods[name]
    if not place.nodes:
        return scheduled_condition(pod).get("reason") == "Unschedulable"
    status = state.bind_requests.get(name, {}).get("status") or {}
    return bool(node_of(pod)) and status.get("phase") == "Succeeded"


def _account(account: ApiClient) -> Finding:
    user, expected = user_of(account), f"system:serviceaccount:{OPERATOR_NAMESPACE}:{SCHEDULER_ACCOUNT}"
    problems = [f"expected {expected}"] if user != expected else []
    problems += [f"may {verb} {resource}" for verb, resource in FORBIDDEN if may(account, verb, resource)]
    forbidden = ", ".join(f"{verb} {resource}" for verb, resource in FORBIDDEN)
    return Finding(f"the operator logs in as {user}, which may not {forbidden}", tuple(problems))
