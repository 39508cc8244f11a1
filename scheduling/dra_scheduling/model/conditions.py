"""Conditions of a status (meta/v1 Condition)."""

from collections.abc import Iterable

from msgspec.structs import replace

from dra_scheduling.model.base import Value


class Condition(Value, frozen=True):
    """What holds of an object: `status` is True, False or Unknown. `last_transition_time` is RFC 3339 text."""

    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
    observed_generation: int = 0

    @property
    def is_true(self) -> bool:
        """Whether the condition holds."""
        return self.status == "True"


def condition_of(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """Return the condition of that type."""
    return next((one for one in conditions if one.type == kind), None)


def with_condition(conditions: tuple[Condition, ...], new: Condition) -> tuple[Condition, ...]:
    """Return the conditions with the new one in the place of its type; its time stays while its status does."""
    before = condition_of(conditions, new.type)
    if before is None:
        return (*conditions, new)
    if before.status == new.status and before.last_transition_time:
        new = replace(new, last_transition_time=before.last_transition_time)
    return tuple(new if one.type == new.type else one for one in conditions)


def without_condition(conditions: tuple[Condition, ...], kind: str) -> tuple[Condition, ...]:
    """Return the conditions but the one of that type."""
    return tuple(one for one in conditions if one.type != kind)
