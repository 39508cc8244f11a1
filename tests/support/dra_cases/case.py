"""One case: a YAML file of manifests that anybody can hand to `dra simulate`, with a `Case` document among them.

Its fields, where every pod that is to be scheduled has to be in one of the two maps:

    shows: one sentence about the world
    assignments:
      trainer:                                # a pod of namespace default, or namespace/name
        node: n1                              # or a list: any of these
        devices: {gpu: [driver/pool/device]}  # by the pod's claim name; a number where any devices do
        extended: 2                           # devices of extended resources, likewise
        bindRequest: {...}                    # anything else that the BindRequest must hold
    pending:
      late:
        message: text                         # or a list of texts; all must be in the message
        reasons: {InsufficientResource: 2}    # reason words and on how many nodes each holds (0: the pod as such)
    mostSteps: 20                             # the search may not take more
    featureGates: {DRAAdminAccess: false}     # features that are switched, by the names of Kubernetes
    again: true                               # once all pods have ended, the same comes of others like them
    offline: why an API server cannot be brought into this state
"""

from pathlib import Path

import msgspec

from dra_scheduling.basics.features import Features
from dra_simulator.documents import documents

FOLDER = Path(__file__).parents[2] / "cases"
KIND = "Case"
API_VERSION = "cases.dra-scheduler.dev/v1"


class ExpectedAssignment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Where a pod must go, and with what."""

    node: str | tuple[str, ...]
    devices: dict[str, int | tuple[str, ...]] = {}
    extended: int | tuple[str, ...] = 0
    bind_request: dict[str, object] = {}


class ExpectedPending(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Why a pod must stay pending."""

    message: str | tuple[str, ...]
    reasons: dict[str, int] = {}


class Expectation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What a case says must happen."""

    api_version: str
    kind: str
    shows: str
    assignments: dict[str, ExpectedAssignment] = {}
    pending: dict[str, ExpectedPending] = {}
    most_steps: int = 1_000
    feature_gates: dict[str, bool] = {}
    again: bool = False
    offline: str = ""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A case and where it stands; `objects` are its manifests as plain mappings."""

    path: Path
    expectation: Expectation
    objects: tuple[dict[str, object], ...]

    @property
    def name(self) -> str:
        """The name of the file, which says what the case shows."""
        return self.path.stem

    @property
    def features(self) -> Features:
        """The features that are on."""
        return Features.of(self.expectation.feature_gates)

    @property
    def switches(self) -> str:
        """The same as an argument of `dra`."""
        return ",".join(f"{name}={value}" for name, value in self.expectation.feature_gates.items())


def cases() -> tuple[Case, ...]:
    """Return all cases by name."""
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.yaml")))


def full_name(pod: str) -> str:
    """Return `namespace/name` of a pod that may be written without its namespace."""
    return pod if "/" in pod else f"default/{pod}"


def _read(path: Path) -> Case:
    found = [msgspec.convert(document, dict[str, object]) for document in documents(path.read_text())]
    expectations = [document for document in found if document["kind"] == KIND]
    if len(expectations) != 1 or expectations[0]["apiVersion"] != API_VERSION:
        raise ValueError(f"{path.name}: expected one document of {API_VERSION} {KIND}")
    return Case(
        path=path,
        expectation=msgspec.convert(expectations[0], Expectation),
        objects=tuple(document for document in found if document["kind"] != KIND),
    )
