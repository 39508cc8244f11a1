"""Which features of DRA are offered, as one value: named by the feature gates of Kubernetes.

What is stable or beta and on in Kubernetes 1.37 is on; alpha features are switched on by name. What needs a feature
that is off is refused by that name instead of being misread.
"""

from collections.abc import Mapping

import msgspec

ADMIN_ACCESS = "DRAAdminAccess"
PRIORITIZED_LIST = "DRAPrioritizedList"
PARTITIONABLE_DEVICES = "DRAPartitionableDevices"
CONSUMABLE_CAPACITY = "DRAConsumableCapacity"
DEVICE_TAINTS = "DRADeviceTaints"
DEVICE_TAINT_RULES = "DRADeviceTaintRules"
BINDING_CONDITIONS = "DRADeviceBindingConditions"
LIST_ATTRIBUTES = "DRAListTypeAttributes"
FRACTIONAL_RANGE = "DRAFractionalCapacityRange"
COMPATIBILITY_GROUPS = "DRADeviceCompatibilityGroups"
DERIVED_ATTRIBUTES = "DRADerivedAttributes"
NODE_ALLOCATABLE = "DRANodeAllocatableResources"

ON_BY_DEFAULT = frozenset(
    {
        ADMIN_ACCESS,
        PRIORITIZED_LIST,
        PARTITIONABLE_DEVICES,
        CONSUMABLE_CAPACITY,
        DEVICE_TAINTS,
        DEVICE_TAINT_RULES,
        BINDING_CONDITIONS,
        FRACTIONAL_RANGE,
    }
)
ALPHA = frozenset({LIST_ATTRIBUTES, COMPATIBILITY_GROUPS, DERIVED_ATTRIBUTES, NODE_ALLOCATABLE})
SWITCHABLE = (ON_BY_DEFAULT | ALPHA) - {FRACTIONAL_RANGE}
"""Amounts are exact whatever Kubernetes does, so there is nothing to switch about fractional ranges."""
KNOWN = SWITCHABLE | {FRACTIONAL_RANGE}


class Features(msgspec.Struct, frozen=True):
    """The names of the gates that are on."""

    gates: frozenset[str] = ON_BY_DEFAULT

    @classmethod
    def of(cls, switches: Mapping[str, bool]) -> "Features":
        """Return the defaults with these gates switched.

        Raises ValueError for a name that is not known and for a switch that cannot be thrown.
        """
        gates = set(ON_BY_DEFAULT)
        for name, wanted in switches.items():
            if name not in KNOWN:
                raise ValueError(f"unknown feature gate {name}, expected one of {', '.join(sorted(KNOWN))}")
            if wanted == (name in gates):
                continue
            if name not in SWITCHABLE:
                raise ValueError(f"feature gate {name} is always on here")
            gates ^= {name}
        return cls(frozenset(gates))

    def has(self, gate: str) -> bool:
        """Whether the gate is on."""
        return gate in self.gates

    def without(self, *gates: str) -> "Features":
        """Return the same features with these gates off."""
        return Features(self.gates - set(gates))


DEFAULT_FEATURES = Features()


def features_named(text: str) -> Features:
    """Return what a cluster is offered with these switches, such as `DRAListTypeAttributes=true,DRAAdminAccess=false`.

    Raises ValueError as `Features.of` does, and for what is no such list.
    """
    switches: dict[str, bool] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        name, _, value = entry.partition("=")
        if value.lower() not in {"true", "false"}:
            raise ValueError(f"expected a comma list of GATE=true or GATE=false, got {entry}")
        switches[name] = value.lower() == "true"
    return Features.of(switches)
