"""The settings: environment variables `DRA_…`, which flags of `dra-operator` override."""

import os
import socket
import uuid
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from dra_scheduling.basics.features import Features, features_named
from dra_scheduling.cycle.allocate import DEFAULT_BACKOFF_LIMIT

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
DEFAULT_NAMESPACE = "dra-scheduler-system"


class SettingsError(ValueError):
    """A setting that cannot be used; the text is one line with variable or flag, value and what was expected."""


class Role(StrEnum):
    """What a process does. Every process watches; only roles write."""

    SCHEDULER = "scheduler"
    BINDER = "binder"
    NODECLAIMS = "nodeclaims"
    KWOK = "kwok"


class NodeClaimsMode(StrEnum):
    """Who makes nodes for pods that fit nowhere."""

    OWN = "own"
    PLAN = "plan"
    GATE = "gate"
    OFF = "off"


class LogFormat(StrEnum):
    """How log lines look."""

    CONSOLE = "console"
    JSON = "json"


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One variable: `parse` turns its text into the value of the field of that name, or raises `ValueError`."""

    field: str
    default: str
    meaning: str
    parse: Callable[[str], object]

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"DRA_{self.field.upper()}"

    @property
    def flag(self) -> str:
        """The flag of `dra-operator`."""
        return f"--{self.field.replace('_', '-')}"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of one process; `SETTINGS` says what each means."""

    roles: frozenset[Role]
    scheduler_name: str
    feature_gates: Features
    leader_elect: bool
    http_address: str
    log_format: LogFormat | None
    log_level: str
    namespace: str
    identity: str
    lease_seconds: int
    cycle_pods: int
    cooldown_seconds: float
    bind_concurrency: int
    backoff_limit: int
    settle_seconds: float
    binding_timeout_seconds: float
    nodeclaims: NodeClaimsMode
    batch_idle_seconds: float
    batch_max_seconds: float
    disruption: bool
    disruption_interval_seconds: float
    launch_timeout_seconds: float
    registration_timeout_seconds: float
    gate_timeout_seconds: float
    kwok_launch_seconds: float
    kwok_registration_seconds: float
    kwok_slice_seconds: float
    kwok_pod_seconds: float
    watch_silence_seconds: float
    record: Path | None

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] | None = None, flags: Mapping[str, str] | None = None
    ) -> "Settings":
        """Return the settings that the variables describe, and `flags` in their place: values by flag.

        Raises `SettingsError` for the first variable or flag whose value cannot be used.
        """
        given = os.environ if environment is None else environment
        values = {setting.field: _value(setting, given, flags or {}) for setting in SETTINGS}
        return cls(**values)  # type: ignore[arg-type]


def _value(setting: Setting, given: Mapping[str, str], flags: Mapping[str, str]) -> object:
    is_flag = setting.flag in flags
    text = (flags[setting.flag] if is_flag else given.get(setting.variable, "")).strip() or setting.default
    try:
        return setting.parse(text)
    except ValueError as error:
        told = f"{setting.flag} {text}" if is_flag else f"{setting.variable}={text}"
        raise SettingsError(f"{told}: {error}") from error


def _roles(text: str) -> frozenset[Role]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = ", ".join(Role)
    if not names or not set(names) <= set(Role):
        raise ValueError(f"expected a comma list of {known}")
    return frozenset(Role(name) for name in names)


def _truth(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError("expected true or false")
    return text.lower() == "true"


def _node_claims_mode(text: str) -> NodeClaimsMode:
    if text not in set(NodeClaimsMode):
        raise ValueError(f"expected one of {', '.join(NodeClaimsMode)}")
    return NodeClaimsMode(text)


def _log_format(text: str) -> LogFormat | None:
    if text == "auto":
        return None
    if text not in set(LogFormat):
        raise ValueError(f"expected one of auto, {', '.join(LogFormat)}")
    return LogFormat(text)


def _log_level(text: str) -> str:
    levels = ("debug", "info", "warning", "error")
    if text.lower() not in levels:
        raise ValueError(f"expected one of {', '.join(levels)}")
    return text.lower()


def _address(text: str) -> str:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535:  # noqa: PLR2004  the last TCP port
        raise ValueError("expected host:port, such as 127.0.0.1:8080, or :8080 for every address")
    return f"{host}:{port}"


def _name(text: str) -> str:
    if not text:
        raise ValueError("expected a name")
    return text


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise ValueError(f"expected a whole number from {least} to {most}")
        return int(text)

    return parse


def _seconds(least: float, most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        problem = f"expected seconds from {least:g} to {most:g}"
        try:
            value = float(text)
        except ValueError:
            raise ValueError(problem) from None
        if not least <= value <= most:
            raise ValueError(problem)
        return value

    return parse


def _folder(text: str) -> Path | None:
    return Path(text) if text else None


def _own_namespace(text: str) -> str:
    if text != "auto":
        return text
    return NAMESPACE_FILE.read_text().strip() if NAMESPACE_FILE.exists() else DEFAULT_NAMESPACE


def _own_identity(text: str) -> str:
    # Two processes may share a host.
    return f"{socket.gethostname()}_{uuid.uuid4().hex[:8]}" if text == "auto" else text


SETTINGS = (
    Setting(
        field="roles",
        default="scheduler,binder,nodeclaims",
        meaning="comma list of scheduler, binder, nodeclaims, kwok",
        parse=_roles,
    ),
    Setting(
        field="scheduler_name",
        default="dra-scheduler",
        meaning="spec.schedulerName of the pods that are ours",
        parse=_name,
    ),
    Setting(
        field="feature_gates",
        default="",
        meaning="comma list of GATE=true or GATE=false, gates of Kubernetes; what the cluster has on is not asked for",
        parse=features_named,
    ),
    Setting(
        field="leader_elect",
        default="false",
        meaning="true or false: one active replica per role, by Lease (dra-operator: true, kopf run: false)",
        parse=_truth,
    ),
    Setting(
        field="http_address",
        default="127.0.0.1:8080",
        meaning="where /healthz, /readyz and /metrics are served; port 0 takes a free one",
        parse=_address,
    ),
    Setting(
        field="log_format",
        default="auto",
        meaning="console or json; auto: console on a terminal, else json",
        parse=_log_format,
    ),
    Setting(field="log_level", default="info", meaning="debug, info, warning or error", parse=_log_level),
    Setting(
        field="namespace",
        default="auto",
        meaning=f"where the Leases are; auto: the pod's own namespace, else {DEFAULT_NAMESPACE}",
        parse=_own_namespace,
    ),
    Setting(
        field="identity",
        default="auto",
        meaning="this replica's name in Leases and Events; auto: the host's name and something random",
        parse=_own_identity,
    ),
    Setting(
        field="lease_seconds",
        default="15",
        meaning="how long other replicas keep away from a Lease after its last renewal",
        parse=_whole(3, 600),
    ),
    Setting(
        field="cycle_pods",
        default="100",
        meaning="most pods that are decided before new events are looked at",
        parse=_whole(1, 10_000),
    ),
    Setting(
        field="cooldown_seconds",
        default="30",
        meaning="devices that became free so short a time ago are given out after others that are alike",
        parse=_seconds(0, 3_600),
    ),
    Setting(
        field="bind_concurrency",
        default="32",
        meaning="most pods that are being bound at the same time",
        parse=_whole(1, 1_000),
    ),
    Setting(
        field="backoff_limit",
        default=str(DEFAULT_BACKOFF_LIMIT),
        meaning="spec.backoffLimit of BindRequests: failed attempts before the pod is decided anew",
        parse=_whole(0, 1_000),
    ),
    Setting(
        field="settle_seconds",
        default="1",
        meaning="how long another scheduler over the same devices may take from decision to write; waited for if it is",
        parse=_seconds(0, 60),
    ),
    Setting(
        field="binding_timeout_seconds",
        default="600",
        meaning="how long drivers may take to make the devices of a claim ready (binding conditions)",
        parse=_seconds(1, 86_400),
    ),
    Setting(
        field="nodeclaims",
        default="own",
        meaning="own: make NodeClaims and look after them; plan: only say which; gate: only wait for drivers; off",
        parse=_node_claims_mode,
    ),
    Setting(
        field="batch_idle_seconds",
        default="1",
        meaning="pods that no node takes are planned for when for so long none has joined them",
        parse=_seconds(0, 60),
    ),
    Setting(
        field="batch_max_seconds",
        default="10",
        meaning="and so long after the first of them in any case",
        parse=_seconds(0, 600),
    ),
    Setting(
        field="disruption",
        default="true",
        meaning="true or false: take away nodes that are empty, not needed, too dear, outdated or too old",
        parse=_truth,
    ),
    Setting(
        field="disruption_interval_seconds",
        default="10",
        meaning="how often nodes are looked at for that",
        parse=_seconds(0.1, 3_600),
    ),
    Setting(
        field="launch_timeout_seconds",
        default="300",
        meaning="how long a provider may take to launch a NodeClaim",
        parse=_seconds(1, 86_400),
    ),
    Setting(
        field="registration_timeout_seconds",
        default="900",
        meaning="how long a launched NodeClaim may take to have a node",
        parse=_seconds(1, 86_400),
    ),
    Setting(
        field="gate_timeout_seconds",
        default="900",
        meaning="how long the DRA drivers of a new node may take to publish; 0: nodes do not wait for them",
        parse=_seconds(0, 86_400),
    ),
    Setting(
        field="kwok_launch_seconds",
        default="0",
        meaning="how long the role kwok takes to launch a NodeClaim",
        parse=_seconds(0, 86_400),
    ),
    Setting(
        field="kwok_registration_seconds",
        default="0",
        meaning="how long a node that the role kwok makes up takes to come up",
        parse=_seconds(0, 86_400),
    ),
    Setting(
        field="kwok_slice_seconds",
        default="0",
        meaning="how long a made-up driver takes for each of its slices",
        parse=_seconds(0, 86_400),
    ),
    Setting(
        field="kwok_pod_seconds",
        default="0",
        meaning="how long pods run on made-up nodes; 0: until they are deleted",
        parse=_seconds(0, 86_400),
    ),
    Setting(
        field="watch_silence_seconds",
        default="60",
        meaning="a watch that says nothing for so long makes /readyz answer 500",
        parse=_seconds(1, 3_600),
    ),
    Setting(
        field="record",
        default="",
        meaning="a folder where the scheduler records what it observes and decides, for dra replay; empty: none",
        parse=_folder,
    ),
)
