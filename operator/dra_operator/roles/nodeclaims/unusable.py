"""Objects that an API server takes and that cannot be read here, such as a price of `1e400`: they say so themselves."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from dra_kube.api import Json
from dra_kube.resources import Kind
from dra_scheduling.instancetypes.instance_type_status import VALID as TYPE_IS_VALID
from dra_scheduling.model.instancetypes import InstanceType
from dra_scheduling.model.nodepools import NodePool
from dra_scheduling.nodeclaims.lifecycle_steps import READY
from dra_scheduling.nodeclaims.nodepool_status import VALID


class Unusable(msgspec.Struct, frozen=True, kw_only=True):
    """An object as the server has it, and what is wrong with it, with the path."""

    kind: Kind
    raw: Mapping[str, Any]
    problem: str

    @property
    def uid(self) -> str:
        """Which object it is."""
        return str(self.raw["metadata"].get("uid") or "")

    @property
    def group(self) -> str:
        """The group of its node class, empty if it has none."""
        spec = self.raw.get("spec") or {}
        template = (spec.get("template") or {}).get("spec") or {} if self.kind is NodePool else spec
        return str((template.get("nodeClassRef") or {}).get("group") or "")

    def patch(self, now: str) -> Json | None:
        """Return what is to be written into the status, None where it is there. `now` is RFC 3339 text."""
        metadata = self.raw["metadata"]
        before = list((self.raw.get("status") or {}).get("conditions") or ())
        after = before
        for one in self._conditions():
            after = _with(after, {**one, "observedGeneration": metadata.get("generation") or 0}, now)
        if after == before:
            return None
        guard = {"uid": metadata.get("uid"), "resourceVersion": metadata.get("resourceVersion")}
        return {"metadata": guard, "status": {"conditions": after}}

    def _conditions(self) -> Iterator[Json]:
        if self.kind is InstanceType:
            yield {"type": TYPE_IS_VALID, "status": "False", "reason": "Invalid", "message": self.problem}
            return
        yield {"type": VALID, "status": "False", "reason": "ValidationFailed", "message": self.problem}
        if self.kind is NodePool:
            yield {"type": READY, "status": "False", "reason": "NotReady", "message": f"{VALID}: see there"}


def _with(conditions: list[Json], new: Json, now: str) -> list[Json]:
    """Return the conditions with the new one in the place of its type; its time stays while its status does."""
    known = next((one for one in conditions if one.get("type") == new["type"]), None)
    is_same = known is not None and known.get("status") == new["status"]
    new = {**new, "lastTransitionTime": known["lastTransitionTime"] if known is not None and is_same else now}
    if known is None:
        return [*conditions, new]
    return [new if one is known else one for one in conditions]
