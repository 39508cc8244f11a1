"""What the operator writes into the status of an InstanceType."""

from collections.abc import Sequence

from msgspec.structs import replace

from dra_scheduling.basics.reasons import in_short
from dra_scheduling.instancetypes.expansion import Expanded
from dra_scheduling.instancetypes.instance_type_faults import InstanceTypeFault
from dra_scheduling.model.conditions import Condition, with_condition
from dra_scheduling.model.instancetypes import DriverDevices, InstanceType, InstanceTypeStatus
from kube_cel.quantity import NANO_PER_UNIT, Quantity

VALID = "Valid"
MOST_SHOWN = 5


def status_of(
    instance_type: InstanceType, result: Expanded | tuple[InstanceTypeFault, ...], *, now: str
) -> InstanceTypeStatus:
    """Return the status that says what `expand` made of the type. `now` is RFC 3339 text.

    It is to be put in the place of the present one, of which it keeps what others have written there. Where nothing has
    changed both are equal, and nothing needs to be written.
    """
    if isinstance(result, Expanded):
        reason = "Warning" if result.warnings else "Expanded"
        verdict = Condition(type=VALID, status="True", reason=reason, message=_text(result.warnings))
        said = _said(result, instance_type.status)
    else:
        verdict = Condition(type=VALID, status="False", reason="Invalid", message=_text(result))
        said = replace(instance_type.status, device_count=0, drivers=(), devices="", cheapest_price="")
    verdict = replace(verdict, last_transition_time=now, observed_generation=instance_type.metadata.generation)
    return replace(said, conditions=with_condition(instance_type.status.conditions, verdict))


def _said(expanded: Expanded, present: InstanceTypeStatus) -> InstanceTypeStatus:
    drivers = tuple(DriverDevices(driver=driver, devices=count) for driver, count in expanded.drivers.items())
    prices = [one.price for one in expanded.offerings if one.available]
    return replace(
        present,
        device_count=sum(expanded.drivers.values()),
        drivers=drivers,
        devices=", ".join(f"{one.devices} {one.driver}" for one in drivers),
        cheapest_price=_decimal(min(prices)) if prices else "",
    )


def _decimal(price: Quantity) -> str:
    whole, rest = divmod(price.nano, NANO_PER_UNIT)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")


def _text(faults: Sequence[InstanceTypeFault]) -> str:
    return in_short([str(fault) for fault in faults], MOST_SHOWN, "; ")
