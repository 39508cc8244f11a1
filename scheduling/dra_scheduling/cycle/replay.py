"""Plays a recording again: the same loop, the same events at the same times, and the decisions side by side."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from dra_scheduling.allocation.deadline import IsLate
from dra_scheduling.cycle.record import (
    DecideCall,
    InvalidRecordingError,
    LateCall,
    RecordedMoment,
    decide_line,
    decisions_in_bytes,
    read_header,
    read_line,
)
from dra_scheduling.cycle.scheduler import Scheduler
from dra_scheduling.wire import KubernetesObject


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """Where a replay parts from its recording: the line, the time, and both decisions as JSON."""

    line: int
    at: float
    recorded: bytes
    replayed: bytes


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a replay; `divergence` is None where every decision was the same to the byte."""

    objects: int = 0
    events: int = 0
    decisions: int = 0
    late: int = 0
    divergence: Divergence | None = None


class ReplayedDeadlines:
    """SearchDeadlines that end where those of a recording have ended, whatever time it is."""

    def __init__(self) -> None:
        self._started = 0
        self._late: dict[int, int] = {}

    def expect(self, late: Iterable[LateCall]) -> None:
        """Take note of the deadlines that become late next."""
        self._late.update(late)

    def start(self, seconds: float) -> IsLate:  # noqa: ARG002  part of the protocol
        """Return the deadline of the next number."""
        number, questions = self._started, 0
        self._started += 1

        def asked() -> bool:
            nonlocal questions
            questions += 1
            return questions >= self._late.get(number, questions + 1)

        return asked


def replay(lines: Iterable[bytes]) -> Replayed:
    """Return how a recording compares with what the loop decides now, up to the first difference.

    Raises `InvalidRecordingError` with the number of a line that cannot be read.
    """
    found = _Replay(lines)
    events = calls = late = 0
    divergence = None
    for number, moment, made in found.played():
        if not isinstance(moment.content, DecideCall):
            events += 1
            continue
        calls += 1
        late += len(moment.content.late)
        if made != moment.content.decisions:
            divergence = Divergence(line=number, at=moment.at, recorded=moment.content.decisions, replayed=made)
            break
    return Replayed(objects=found.objects, events=events, decisions=calls, late=late, divergence=divergence)


def with_decisions_of_now(lines: Sequence[bytes]) -> list[bytes]:
    """Return a recording with what the loop decides now in place of what it has decided then."""
    changed = list(lines)
    for number, moment, made in _Replay(lines).played():
        if isinstance(moment.content, DecideCall):
            changed[number - 1] = decide_line(msgspec.structs.replace(moment.content, decisions=made), moment.at)
    return changed


class _Replay:
    """A loop that goes on from the start of a recording; `objects` is the number of those that were there."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        numbered = enumerate(lines, start=1)
        first = next(numbered, None)
        if first is None:
            raise InvalidRecordingError("expected at least a header")
        header = read_header(first[1])
        objects, self._moments = _parts(numbered)
        self.objects = len(objects)
        self._deadlines = ReplayedDeadlines()
        self._scheduler = Scheduler(header.settings, deadlines=self._deadlines, objects=objects, state=header.state)

    def played(self) -> Iterator[tuple[int, RecordedMoment, bytes]]:
        """Yield each line after the objects with what is decided then, empty where it is an event."""
        for number, moment in self._moments:
            content = moment.content
            if isinstance(content, DecideCall):
                self._deadlines.expect(content.late)
                yield number, moment, decisions_in_bytes(self._scheduler.decide(moment.at, content.steps))
            else:
                self._scheduler.observe(content, moment.at)
                yield number, moment, b""


def _parts(
    lines: Iterator[tuple[int, bytes]],
) -> tuple[tuple[KubernetesObject, ...], Iterator[tuple[int, RecordedMoment]]]:
    """Return the objects of the start, and what follows them."""
    objects: list[KubernetesObject] = []
    for number, line in lines:
        found = _read(number, line)
        if isinstance(found, RecordedMoment):
            return tuple(objects), _moments((number, found), lines)
        objects.append(found)
    return tuple(objects), iter(())


def _moments(
    first: tuple[int, RecordedMoment], lines: Iterator[tuple[int, bytes]]
) -> Iterator[tuple[int, RecordedMoment]]:
    yield first
    for number, line in lines:
        found = _read(number, line)
        if not isinstance(found, RecordedMoment):
            raise InvalidRecordingError(f"line {number}: expected an event or a decision, got an object")
        yield number, found


def _read(number: int, line: bytes) -> KubernetesObject | RecordedMoment:
    try:
        return read_line(line)
    except InvalidRecordingError as error:
        raise InvalidRecordingError(f"line {number}: {error}") from error
