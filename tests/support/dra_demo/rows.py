"""What is shown of each pod."""

from collections.abc import Iterable, Mapping

import msgspec

from dra_controlplane.client import Json
from dra_demo.state import State, devices_of, extended_status, node_of, scheduled_condition


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One pod: what it asks for, where it is, with which devices (`driver/pool/device`) of which claims, or why not."""

    pod: str
    asks: str
    node: str = ""
    devices: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    reason: str = ""


def rows(state: State, pods: Iterable[str]) -> tuple[Row, ...]:
    """Return a row for each of these pods, in their order, as far as they exist."""
    return tuple(_row(state.pods[name], state) for name in pods if name in state.pods)


def limits_of(pod: Json) -> Mapping[str, str]:
    """Return the extended resources that the pod's container asks for."""
    limits: Mapping[str, str] = pod["spec"]["containers"][0]["resources"].get("limits") or {}
    return {name: amount for name, amount in limits.items() if "/" in name}


def _row(pod: Json, state: State) -> Row:
    node, claims = node_of(pod), state.claims_of(pod)
    devices = tuple("/".join(device) for claim in claims for device in devices_of(claim))
    if node and not extended_status(pod):
        devices += tuple(f"{amount} {name} (device plugin)" for name, amount in limits_of(pod).items())
    condition = scheduled_condition(pod)
    return Row(
        pod=pod["metadata"]["name"],
        asks=_asks(pod),
        node=node,
        devices=devices,
        claims=tuple(claim["metadata"]["name"] for claim in claims),
        reason="" if node else str(condition.get("message") or condition.get("reason") or ""),
    )


def _asks(pod: Json) -> str:
    sources = [
        f"claim {reference['resourceClaimName']}"
        if "resourceClaimName" in reference
        else f"template {reference['resourceClaimTemplateName']}"
        for reference in pod["spec"].get("resourceClaims") or ()
    ]
    return ", ".join([*sources, *(f"{name}: {amount}" for name, amount in limits_of(pod).items())]) or "no device"
