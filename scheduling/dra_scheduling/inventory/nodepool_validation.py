"""What is wrong with NodePools and requirements, as far as a schema cannot tell."""

import re
from collections.abc import Iterable, Iterator, Mapping

from dra_scheduling.basics.requirements import Requirement, under_present_name, whole_number
from dra_scheduling.basics.times import duration_of
from dra_scheduling.instancetypes import MOST_CHARACTERS, InstanceTypeFault
from dra_scheduling.inventory.nodepool_templates import required
from dra_scheduling.model.nodeclaims import NEVER, NodeRequirement
from dra_scheduling.model.nodepools import DisruptionBudget, NodePool
from dra_scheduling.model.pods import NODE_POOL_LABEL

TEMPLATE = "spec.template.spec"
OWN_LABELS = (NODE_POOL_LABEL, "kubernetes.io/hostname")
NOT_CHOSEN = "is set for every node and cannot be chosen"
LIST_OPERATORS = frozenset({"In", "NotIn"})
PRESENCE_OPERATORS = frozenset({"Exists", "DoesNotExist"})
NODES = re.compile(r"(100|[0-9]{1,2})%|[0-9]+")
CRON_NAMES = frozenset({"@annually", "@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
CRON_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("day of week", 0, 7))
CRON_PART = re.compile(r"(\*|[0-9]+(-[0-9]+)?)(/[0-9]+)?|[A-Za-z]{3}(-[A-Za-z]{3})?")


def pool_faults(pool: NodePool) -> tuple[InstanceTypeFault, ...]:
    """Return all that is wrong with the pool, each with its path."""
    return (
        *_name_faults(pool),
        *_requirement_faults(pool),
        *_duration_faults(pool),
        *_budget_faults(pool),
        *_limit_faults(pool),
    )


def requirement_faults(
    requirements: Iterable[NodeRequirement], labels: Mapping[str, str], path: str
) -> Iterator[InstanceTypeFault]:
    """Yield what is wrong with requirements that are written at that path, given labels that are certain."""
    known = {key: Requirement(key=key, values=frozenset((one,))) for key, one in labels.items()}
    for number, one in enumerate(requirements):
        own = list(_own_faults(one, f"{path}[{number}]"))
        yield from own
        if own:
            continue
        wanted = under_present_name(required((one,))[0])
        both = known[wanted.key].intersect(wanted) if wanted.key in known else wanted
        if both.is_impossible:
            yield InstanceTypeFault(f"{path}[{number}]", f"contradicts what is before it: {one.key} cannot be both")
        else:
            known[wanted.key] = both


def _name_faults(pool: NodePool) -> Iterator[InstanceTypeFault]:
    if len(pool.name) > MOST_CHARACTERS:
        yield InstanceTypeFault(
            "metadata.name", f"is the value of a label, expected {MOST_CHARACTERS} characters at most"
        )


def _requirement_faults(pool: NodePool) -> Iterator[InstanceTypeFault]:
    labels, requirements = pool.spec.template.metadata.labels, pool.spec.template.spec.requirements
    for key in OWN_LABELS:
        if key in labels:
            yield InstanceTypeFault(f'spec.template.metadata.labels["{key}"]', NOT_CHOSEN)
    for number, one in enumerate(requirements):
        if one.key in OWN_LABELS:
            yield InstanceTypeFault(f"{TEMPLATE}.requirements[{number}].key", f"{one.key} {NOT_CHOSEN}")
    yield from requirement_faults(requirements, labels, f"{TEMPLATE}.requirements")


def _own_faults(one: NodeRequirement, path: str) -> Iterator[InstanceTypeFault]:
    if one.operator in LIST_OPERATORS:
        if not one.values:
            yield InstanceTypeFault(f"{path}.values", f"operator {one.operator} needs values")
    elif one.operator in PRESENCE_OPERATORS:
        if one.values:
            yield InstanceTypeFault(f"{path}.values", f"operator {one.operator} takes no values")
    elif len(one.values) != 1 or (number := whole_number(one.values[0])) is None or number < 0:
        yield InstanceTypeFault(f"{path}.values", f"operator {one.operator} needs one whole number")
    if one.min_values is not None and one.operator == "In" and one.min_values > len(set(one.values)):
        told = f"asks for {one.min_values} values, there are {len(set(one.values))}"
        yield InstanceTypeFault(f"{path}.minValues", told)


def _duration_faults(pool: NodePool) -> Iterator[InstanceTypeFault]:
    spec = pool.spec.template.spec
    for path, text, may_be_never in (
        (f"{TEMPLATE}.expireAfter", spec.expire_after, True),
        (f"{TEMPLATE}.terminationGracePeriod", spec.termination_grace_period, False),
        ("spec.disruption.consolidateAfter", pool.spec.disruption.consolidate_after, True),
    ):
        if text and not (may_be_never and text == NEVER) and not _is_duration(text):
            never = " or Never" if may_be_never else ""
            yield InstanceTypeFault(path, f"{text!r} is no duration: expected one such as 1h30m{never}")


def _budget_faults(pool: NodePool) -> Iterator[InstanceTypeFault]:
    for number, budget in enumerate(pool.spec.disruption.budgets):
        path = f"spec.disruption.budgets[{number}]"
        if not NODES.fullmatch(budget.nodes):
            yield InstanceTypeFault(
                f"{path}.nodes", f"{budget.nodes!r} is neither a number nor a percentage such as 10%"
            )
        yield from _schedule_faults(budget, path)


def _schedule_faults(budget: DisruptionBudget, path: str) -> Iterator[InstanceTypeFault]:
    if bool(budget.schedule) != bool(budget.duration):
        yield InstanceTypeFault(path, "schedule and duration go together")
    if budget.duration and not _is_duration(budget.duration):
        yield InstanceTypeFault(f"{path}.duration", f"{budget.duration!r} is no duration: expected one such as 8h")
    problem = _cron_problem(budget.schedule) if budget.schedule else ""
    if problem:
        yield InstanceTypeFault(f"{path}.schedule", f"{budget.schedule!r} is no schedule: {problem}")


def _limit_faults(pool: NodePool) -> Iterator[InstanceTypeFault]:
    for name, amount in pool.spec.limits.items():
        if amount.nano < 0:
            yield InstanceTypeFault(f'spec.limits["{name}"]', f"{amount} is below zero")


def _cron_problem(text: str) -> str:
    if text in CRON_NAMES:
        return ""
    fields = text.split()
    if len(fields) != len(CRON_FIELDS):
        return "expected five fields, or a name such as @daily"
    for field, (name, least, most) in zip(fields, CRON_FIELDS, strict=True):
        for part in field.split(","):
            numbers = [int(one) for one in re.findall(r"[0-9]+", part.partition("/")[0])]
            if not CRON_PART.fullmatch(part) or any(not least <= one <= most for one in numbers):
                return f"{part!r} is no {name}"
    return ""


def _is_duration(text: str) -> bool:
    seconds = duration_of(text)
    return seconds is not None and seconds >= 0
