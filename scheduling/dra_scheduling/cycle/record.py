"""A recorded run as JSON lines: what the loop started from, everything it observed, and everything it decided.

The first line is a header with the settings and the loop's own state, then comes one line an object, then the events in
their order and each call of `decide` with what came of it. Values are written as they were decoded, so nothing is in a
recording that decisions do not read: neither environment nor commands of a pod.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from dra_scheduling.cycle.allocate import bind_request
from dra_scheduling.cycle.decisions import Decisions, PodCondition
from dra_scheduling.cycle.events import (
    BindRequestWrite,
    DecideDuration,
    DisruptionWrites,
    Event,
    LeadershipChanged,
    NodeClaimWrite,
    ObjectChanged,
    ObjectRemoved,
    WriteResult,
)
from dra_scheduling.cycle.scheduler_state import SchedulerSettings, SchedulerState
from dra_scheduling.disruption import Create, Step
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.model.nodeclaims import NodeClaim
from dra_scheduling.state.assignments import Nominated
from dra_scheduling.wire import (
    InvalidObjectError,
    KubernetesObject,
    UnknownKindError,
    read,
    read_as,
    write,
    write_value,
)
from dra_scheduling.wire.decode_errors import fault_of, missing_field

FORMAT = "dra-scheduler/recording/v1"
LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
"""A copy of a whole object, containers included."""

Json = dict[str, Any]
LateCall = tuple[int, int]
"""A deadline, by its number since the start of the file, and the first of its questions that came too late."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line."""

    format: str
    settings: SchedulerSettings
    state: SchedulerState


class DecideCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of `decide` and its result, as bytes that can be compared. `late` are searches that a clock has ended."""

    steps: int
    late: tuple[LateCall, ...]
    decisions: bytes


class RecordedMoment(msgspec.Struct, frozen=True, kw_only=True):
    """A line after the objects: an event or a call, and when that was."""

    at: float
    content: Event | DecideCall


class InvalidRecordingError(ValueError):
    """A line that is none of a recording."""


def header_line(settings: SchedulerSettings, state: SchedulerState) -> bytes:
    """Return the first line."""
    return _line({"format": FORMAT, "settings": write_value(settings), "state": _without_copies(write_value(state))})


def object_line(value: KubernetesObject) -> bytes:
    """Return the line of an object that was there at the start."""
    return _line({"object": written(value)})


def event_line(event: Event, at: float) -> bytes:
    """Return the line of an event."""
    return _line({"at": at, "event": type(event).__name__, **_plain_event(event)})


def decide_line(call: DecideCall, at: float) -> bytes:
    """Return the line of a call."""
    decisions = msgspec.Raw(call.decisions)
    return _line({"at": at, "decide": {"steps": call.steps, "late": call.late, "decisions": decisions}})


def read_header(line: bytes) -> Header:
    """Return what a first line says. Raises `InvalidRecordingError`."""
    found = _read(line)
    if found.get("format") != FORMAT:
        raise InvalidRecordingError(f"expected a recording with format {FORMAT}, got {found.get('format')!r}")
    try:
        settings = read_as(SchedulerSettings, found["settings"])
        return Header(format=FORMAT, settings=settings, state=read_as(SchedulerState, found["state"]))
    except (KeyError, ValueError) as error:
        raise InvalidRecordingError(_with_problem("expected settings and state", error)) from error


def read_line(line: bytes) -> KubernetesObject | RecordedMoment:
    """Return what any other line says. Raises `InvalidRecordingError`."""
    found = _read(line)
    try:
        if "object" in found and "event" not in found:
            return read(found["object"])
        if "decide" in found:
            return RecordedMoment(at=float(found["at"]), content=_call(line))
        return RecordedMoment(at=float(found["at"]), content=_event(found))
    except (KeyError, ValueError, TypeError) as error:
        raise InvalidRecordingError(_with_problem("expected an object, an event or a decision", error)) from error


def written(value: KubernetesObject) -> Json:
    """Return an object as it is recorded."""
    notes = value.metadata.annotations
    if LAST_APPLIED_ANNOTATION in notes:
        kept = {key: text for key, text in notes.items() if key != LAST_APPLIED_ANNOTATION}
        value = replace(value, metadata=replace(value.metadata, annotations=kept))
    return write(value)


def _without_copies(plain: object) -> object:
    """Return plain values without the copies of whole objects that pods in a state may carry as annotations."""
    if isinstance(plain, dict):
        return {key: _without_copies(value) for key, value in plain.items() if key != LAST_APPLIED_ANNOTATION}
    if isinstance(plain, list | tuple):
        return [_without_copies(value) for value in plain]
    return plain


def decisions_in_bytes(decisions: Decisions) -> bytes:
    """Return decisions as JSON, the same bytes for the same decisions."""
    return _encoded(
        {
            "bindRequests": [[write(bind_request(one)) for one in group.members] for group in decisions.bind_groups],
            "conditions": list(map(_condition, decisions.conditions)),
            "nodeClaims": [
                {
                    "create": order.is_new,
                    "nodeClaim": written(order.claim),
                    "nominated": list(map(_condition, order.nominated)),
                }
                for order in decisions.node_claims
            ],
            "withdrawn": list(map(_named, decisions.withdrawn)),
            "disruption": list(map(_step, decisions.disruption)),
        }
    )


def _condition(one: PodCondition) -> Json:
    plain = {
        "pod": str(one.pod.key),
        "uid": one.pod.metadata.uid,
        "outcome": type(one).__name__,
        "message": one.message,
        "reasons": [msgspec.to_builtins(reason) for reason in one.reasons],
        "wake": int(one.wake),
    }
    if isinstance(one, Nominated):
        plain |= {"nodeClaim": one.node_claim, "node": one.node, "place": one.place}
    return plain


def _named(claim: NodeClaim) -> Json:
    return {"name": claim.name, "uid": claim.metadata.uid}


def _step(step: Step) -> Json:
    fields = {name: getattr(step, name) for name in step.__struct_fields__}
    plain = {
        name: value if isinstance(value, str) else msgspec.to_builtins(value)
        for name, value in fields.items()
        if not isinstance(value, NodeClaim)
    }
    claims = {name: value for name, value in fields.items() if isinstance(value, NodeClaim)}
    of_claims = {name: written(one) if isinstance(step, Create) else _named(one) for name, one in claims.items()}
    return {"step": type(step).__name__, **plain, **of_claims}


def _plain_event(event: Event) -> Json:
    match event:
        case ObjectChanged(value) | ObjectRemoved(value):
            return {"object": written(value)}
        case BindRequestWrite(pod, uid, result):
            return {"pod": list(pod), "uid": uid, "result": result.value}
        case NodeClaimWrite(name, result):
            return {"name": name, "result": result.value}
        case DisruptionWrites(created, result):
            return {"created": sorted(created), "result": result.value}
        case LeadershipChanged(is_leading):
            return {"isLeading": is_leading}
        case DecideDuration(seconds):
            return {"seconds": seconds}


READERS: Mapping[str, Callable[[Json], Event]] = {
    "ObjectChanged": lambda found: ObjectChanged(read(found["object"])),
    "ObjectRemoved": lambda found: ObjectRemoved(read(found["object"])),
    "BindRequestWrite": lambda found: BindRequestWrite(ObjectKey(*found["pod"]), found["uid"], _result(found)),
    "NodeClaimWrite": lambda found: NodeClaimWrite(found["name"], _result(found)),
    "DisruptionWrites": lambda found: DisruptionWrites(frozenset(found["created"]), _result(found)),
    "LeadershipChanged": lambda found: LeadershipChanged(is_leading=bool(found["isLeading"])),
    "DecideDuration": lambda found: DecideDuration(float(found["seconds"])),
}


def _event(found: Json) -> Event:
    name = found["event"]
    if name not in READERS:
        raise InvalidRecordingError(f"expected a known event, got {name!r}")
    return READERS[name](found)


def _result(found: Json) -> WriteResult:
    return WriteResult(found["result"])


class _Call(msgspec.Struct):
    steps: int
    late: tuple[LateCall, ...]
    decisions: msgspec.Raw


class _CallLine(msgspec.Struct):
    decide: _Call


def _call(line: bytes) -> DecideCall:
    call = msgspec.json.decode(line, type=_CallLine).decide
    return DecideCall(steps=call.steps, late=call.late, decisions=bytes(call.decisions))


def _read(line: bytes) -> Json:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise InvalidRecordingError("expected a JSON object") from error


def _with_problem(expected: str, error: Exception) -> str:
    """Return what was expected of a line and what is wrong with it, where that is known in our words."""
    match error:
        case KeyError():
            return f"{expected}: {missing_field(error.args[0])}"
        case msgspec.ValidationError():
            return f"{expected}: {': '.join(fault_of(error))}"
        case InvalidObjectError() | InvalidRecordingError() | UnknownKindError():
            return f"{expected}: {error}"
        case _:
            return expected


def _line(content: Json) -> bytes:
    return _encoded(content) + b"\n"


def _encoded(content: Json) -> bytes:
    return msgspec.json.encode(content, order="deterministic")


def lines_of(header: bytes, objects: Iterable[KubernetesObject]) -> Iterator[bytes]:
    """Yield the lines that a file begins with."""
    yield header
    yield from map(object_line, objects)
