"""What asking a candidate for devices can end in."""

import msgspec

from dra_scheduling.basics.reasons import Refusal
from dra_scheduling.basics.requirements import Requirement
from dra_scheduling.model.ids import ObjectKey
from dra_scheduling.template_devices.device_uses import TypeServed
from dra_scheduling.template_devices.reach_domains import Reached


class Pruned(msgspec.Struct, frozen=True):
    """An instance type that cannot serve the pod, and why."""

    name: str
    refusal: Refusal


class Allotment(msgspec.Struct, frozen=True, kw_only=True):
    """The candidate can serve the pod with each of `types`, in the candidate's order. Nothing is reserved yet.

    `requirements` come from all claims, those that have devices already included; they are for every type, so that one
    NodeClaim can carry them. `searched` names the claims that get devices, `served` holds what each type gives to them.
    `unfinished` types ran out of budget. `reached` are the published devices that there were to choose from. `revision`
    tells on what state of the plan this was decided.
    """

    candidate: str
    types: tuple[str, ...]
    requirements: tuple[Requirement, ...] = ()
    searched: tuple[ObjectKey, ...] = ()
    served: tuple[TypeServed, ...] = ()
    pruned: tuple[Pruned, ...] = ()
    unfinished: tuple[str, ...] = ()
    reached: Reached | None = None
    steps: int = 0
    revision: int = 0


class Denied(msgspec.Struct, frozen=True, kw_only=True):
    """The candidate cannot serve the pod."""

    refusal: Refusal
    pruned: tuple[Pruned, ...] = ()
    steps: int = 0


class UnfinishedSearch(msgspec.Struct, frozen=True, kw_only=True):
    """The budget ended before any instance type was found to serve the pod; nothing is proved."""

    refusal: Refusal
    types: tuple[str, ...]
    steps: int


CandidateAnswer = Allotment | Denied | UnfinishedSearch
