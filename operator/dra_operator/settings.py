"""The settings, each declared once: environment variables `DRA_…`, which flags of `dra-operator` override."""

import os
import socket
import uuid
from collections.abc import Mapping
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import Meta

from dra_scheduling.basics.features import DEFAULT_FEATURES, Features, features_named
from dra_scheduling.cycle.allocate import DEFAULT_BACKOFF_LIMIT

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
DEFAULT_NAMESPACE = "dra-scheduler-system"
AUTO = "auto"

RENAMED: Mapping[str, str] = {}
"""Variables of earlier versions, and what stands in their place (empty: nothing does); they are refused."""


class SettingsError(ValueError):
    """A setting that cannot be used; the text is one line with variable or flag, value and what was expected."""


class Role(StrEnum):
    """What a process does. Every process watches; only roles write."""

    SCHEDULER = "scheduler"
    BINDER = "binder"
    NODECLAIMS = "nodeclaims"
    KWOK = "kwok"


class ScoreProfile(StrEnum):
    """Which of the nodes that take a pod gets it (`dra_scheduling.fit.score_profiles`)."""

    PACK = "pack"
    KUBE_SCHEDULER = "kube-scheduler"


class NodeClaimsMode(StrEnum):
    """Who makes nodes for pods that fit nowhere."""

    OWN = "own"
    PLAN = "plan"
    GATE = "gate"
    OFF = "off"


class LogFormat(StrEnum):
    """How log lines look; AUTO is CONSOLE on a terminal and JSON elsewhere."""

    AUTO = "auto"
    CONSOLE = "console"
    JSON = "json"


class LogLevel(StrEnum):
    """The least severity of log lines."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def _meta(help_text: str, expected: str = "", **bounds: Any) -> Meta:  # noqa: ANN401  the arguments of `Meta`
    return Meta(description=help_text, extra={"expected": expected}, **bounds)


def _seconds(help_text: str, least: float, most: float) -> Meta:
    return _meta(help_text, f"seconds from {least:g} to {most:g}", ge=least, le=most)


def _whole(help_text: str, least: int, most: int) -> Meta:
    return _meta(help_text, f"a whole number from {least} to {most}", ge=least, le=most)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of one process: name, type, bounds, default and help of each."""

    roles: Annotated[
        frozenset[Role],
        _meta("Roles of this process, a comma list of scheduler, binder, nodeclaims, kwok.", min_length=1),
    ] = frozenset({Role.SCHEDULER, Role.BINDER, Role.NODECLAIMS})
    scheduler_name: Annotated[str, _meta("Schedule the pods with this spec.schedulerName.")] = "dra-scheduler"
    feature_gates: Annotated[
        Features,
        _meta(
            "Feature gates of Kubernetes, a comma list of GATE=true or GATE=false. "
            "The cluster is not asked which it has on."
        ),
    ] = DEFAULT_FEATURES
    leader_elect: Annotated[
        bool, _meta("Elect one active replica per role by Lease (dra-operator: true, kopf run: false).")
    ] = False
    http_address: Annotated[
        str,
        _meta(
            "Serve /healthz, /readyz and /metrics at this host:port. Port 0 takes a free one.",
            "host:port, such as 127.0.0.1:8080, or :8080 for every address",
            pattern=r":(\d{1,4}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])$",
        ),
    ] = "127.0.0.1:8080"
    log_format: Annotated[LogFormat, _meta("Log format. auto: console on a terminal, json elsewhere.")] = LogFormat.AUTO
    log_level: Annotated[LogLevel, _meta("Log level.")] = LogLevel.INFO
    namespace: Annotated[
        str, _meta(f"Namespace of the Leases. auto: the pod's own, or {DEFAULT_NAMESPACE} outside a pod.")
    ] = AUTO
    identity: Annotated[
        str, _meta("Name of this replica in Leases and Events. auto: the host name with a random suffix.")
    ] = AUTO
    lease_seconds: Annotated[
        int, _whole("Lease duration: other replicas wait for this many seconds after the last renewal.", 3, 600)
    ] = 15
    cycle_pods: Annotated[
        int, _whole("Decide at most this many pods before new watch events are observed.", 1, 10_000)
    ] = 100
    cooldown_seconds: Annotated[
        float, _seconds("Prefer other equivalent devices for this many seconds after a device is released.", 0, 3_600)
    ] = 30.0
    score_profile: Annotated[
        ScoreProfile,
        _meta("Choice between nodes. pack: keep large pieces free; kube-scheduler: spread by its plugins and weights."),
    ] = ScoreProfile.PACK
    bind_concurrency: Annotated[int, _whole("Bind at most this many pods at the same time.", 1, 1_000)] = 32
    backoff_limit: Annotated[
        int, _whole("spec.backoffLimit of BindRequests: failed attempts before the pod is scheduled again.", 0, 1_000)
    ] = DEFAULT_BACKOFF_LIMIT
    settle_seconds: Annotated[
        float,
        _seconds("Before binding, wait for this many seconds for writes of another scheduler of the devices.", 0, 60),
    ] = 1.0
    binding_timeout_seconds: Annotated[
        float,
        _seconds("Fail a bind if drivers have not made its devices ready after this many seconds.", 1, 86_400),
    ] = 600.0
    nodeclaims: Annotated[
        NodeClaimsMode,
        _meta(
            "NodeClaims. own: create and manage them; plan: only report which would be created; "
            "gate: only hold new nodes until their DRA drivers have published; off: ignore them."
        ),
    ] = NodeClaimsMode.OWN
    batch_idle_seconds: Annotated[
        float, _seconds("Plan nodes when no unschedulable pod has joined the batch for this many seconds.", 0, 60)
    ] = 1.0
    batch_max_seconds: Annotated[
        float, _seconds("Plan at the latest this many seconds after the first pod joined the batch.", 0, 600)
    ] = 10.0
    disruption: Annotated[
        bool,
        _meta("Remove nodes when empty, underutilized, drifted or expired, within disruption budgets."),
    ] = True
    disruption_interval_seconds: Annotated[
        float, _seconds("Look for nodes to disrupt every this many seconds.", 0.1, 3_600)
    ] = 10.0
    launch_timeout_seconds: Annotated[
        float, _seconds("Delete a NodeClaim that is not launched after this many seconds.", 1, 86_400)
    ] = 300.0
    registration_timeout_seconds: Annotated[
        float, _seconds("Delete a launched NodeClaim whose node is not registered after this many seconds.", 1, 86_400)
    ] = 900.0
    gate_timeout_seconds: Annotated[
        float,
        _seconds(
            "Give the DRA drivers of a new node this many seconds to publish. 0: do not wait for them.", 0, 86_400
        ),
    ] = 900.0
    kwok_launch_seconds: Annotated[
        float, _seconds("Seconds that the role kwok takes to launch a NodeClaim.", 0, 86_400)
    ] = 0.0
    kwok_registration_seconds: Annotated[
        float, _seconds("Seconds that a node of the role kwok takes to register.", 0, 86_400)
    ] = 0.0
    kwok_slice_seconds: Annotated[
        float, _seconds("Seconds that a fake driver takes for each of its ResourceSlices.", 0, 86_400)
    ] = 0.0
    kwok_pod_seconds: Annotated[
        float, _seconds("Seconds that pods run on fake nodes. 0: until they are deleted.", 0, 86_400)
    ] = 0.0
    watch_silence_seconds: Annotated[
        float, _seconds("Fail /readyz if a watch has been silent for this many seconds.", 1, 3_600)
    ] = 60.0
    record: Annotated[
        Path | None, _meta("Folder in which the scheduler records what it observes and decides, for dra replay.")
    ] = None

    @classmethod
    def from_environment(
        cls,
        environment: Mapping[str, str] | None = None,
        flags: Mapping[str, str] | None = None,
        *,
        renamed: Mapping[str, str] = RENAMED,
    ) -> "Settings":
        """Return the settings that the variables describe, and `flags` in their place: values by flag.

        Raises `SettingsError` for the first variable or flag that is gone or whose value cannot be used.
        """
        variables = os.environ if environment is None else environment
        given = {name: text for name, text in {**variables, **(flags or {})}.items() if text.strip()}
        _refuse_renamed(given, renamed)
        values = {setting.field: value for setting in SETTINGS if (value := setting.value(given)) is not None}
        return _resolved(cls(**values))


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting as people see it: variable, flag, default, values and help."""

    field: str
    kind: Any
    default: str
    help: str
    expected: str

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"DRA_{self.field.upper()}"

    @property
    def flag(self) -> str:
        """The flag of `dra-operator`."""
        return flag_of(self.variable)

    def value(self, given: Mapping[str, str]) -> Any:  # noqa: ANN401  of the field's type
        """Return what is given for the setting, None if nothing is. Raises `SettingsError`."""
        name = self.flag if self.flag in given else self.variable
        if name not in given:
            return None
        text = given[name].strip()
        shown = f"{name} {text}" if name == self.flag else f"{name}={text}"
        try:
            return msgspec.convert(_plain(text, self.kind), self.kind, strict=False, dec_hook=_path)
        except msgspec.ValidationError as error:
            raise SettingsError(f"{shown}: expected {self.expected}") from error
        except ValueError as error:
            raise SettingsError(f"{shown}: {error}") from error


def flag_of(variable: str) -> str:
    """Return the flag of `dra-operator` for an environment variable."""
    return f"--{variable.removeprefix('DRA_').lower().replace('_', '-')}"


def _refuse_renamed(given: Mapping[str, str], renamed: Mapping[str, str]) -> None:
    for old, new in renamed.items():
        for name, instead in ((old, new), (flag_of(old), new and flag_of(new))):
            if name in given:
                raise SettingsError(f"{name} is gone: {f'set {instead} instead' if instead else 'leave it out'}")


def _plain(text: str, kind: Any) -> Any:  # noqa: ANN401  what `msgspec.convert` takes and what it makes
    """Return the text as `msgspec` takes it: lists are comma lists, and words may be written in capitals.

    Raises `ValueError` where the library has an opinion of its own.
    """
    base = get_args(kind)[0]
    if base is Features:
        return features_named(text)
    if get_origin(base) is frozenset:
        return [entry.strip() for entry in text.split(",") if entry.strip()]
    return text.lower() if isinstance(base, type) and issubclass(base, Enum) else text


def _path(_: type, text: Any) -> Any:  # noqa: ANN401  the signature of msgspec
    return Path(text)


def _resolved(settings: Settings) -> Settings:
    """Return the settings with what is found out at the start in the place of `auto`."""
    namespace, identity = settings.namespace, settings.identity
    if namespace == AUTO:
        namespace = NAMESPACE_FILE.read_text().strip() if NAMESPACE_FILE.exists() else DEFAULT_NAMESPACE
    if identity == AUTO:
        # Two processes may share a host.
        identity = f"{socket.gethostname()}_{uuid.uuid4().hex[:8]}"
    return msgspec.structs.replace(settings, namespace=namespace, identity=identity)


def _setting(field: msgspec.structs.FieldInfo) -> Setting:
    base, meta = get_args(field.type)
    return Setting(
        field=field.name,
        kind=field.type,
        default=_shown(field.default),
        help=meta.description,
        expected=meta.extra["expected"] or _expected(base),
    )


def _expected(base: Any) -> str:  # noqa: ANN401  a type
    if get_origin(base) is frozenset:
        return f"a comma list of {', '.join(get_args(base)[0])}"
    if base is bool:
        return "true or false"
    return f"one of {', '.join(base)}" if isinstance(base, type) and issubclass(base, Enum) else "a text"


def _shown(value: Any) -> str:  # noqa: ANN401  a default of any field
    match value:
        case frozenset():
            return ",".join(role for role in Role if role in value)
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case None | Features():
            return ""
        case _:
            return str(value)


SETTINGS = tuple(map(_setting, msgspec.structs.fields(Settings)))
