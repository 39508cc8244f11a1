"""What is wrong with how much of a capacity a request takes, by the rules that the API server has for slices."""

from collections.abc import Iterator, Mapping

from dra_scheduling.instancetypes.instance_type_faults import Findings, InstanceTypeFault
from dra_scheduling.model.slices import CapacityRange, CapacityRequestPolicy, DeviceCapacity
from kube_cel.quantity import Quantity


def check_policies(capacity: Mapping[str, DeviceCapacity], path: str, findings: Findings) -> None:
    """Note policies with which no driver could publish its devices (KEP-5075)."""
    for name, one in capacity.items():
        policy, where = one.request_policy, f'{path}["{name}"].requestPolicy'
        for fault in _faults(policy, one.value, where) if policy is not None else ():
            findings.fault(fault.path, fault.message)


def _faults(policy: CapacityRequestPolicy, whole: Quantity, path: str) -> Iterator[InstanceTypeFault]:
    values, span, default = policy.valid_values, policy.valid_range, policy.default
    if values and span is not None:
        yield InstanceTypeFault(path, "expected validValues or validRange, not both")
    elif (values or span is not None) and default is None:
        yield InstanceTypeFault(f"{path}.default", "expected an amount, since validValues or validRange is given")
    elif values:
        yield from _value_faults(values, default, whole, path)
    elif span is not None:
        yield from _range_faults(span, default, whole, f"{path}.validRange")


def _value_faults(
    values: tuple[Quantity, ...], default: Quantity | None, whole: Quantity, path: str
) -> Iterator[InstanceTypeFault]:
    for number, value in enumerate(values):
        if value > whole:
            yield InstanceTypeFault(f"{path}.validValues[{number}]", f"{value} is more than the capacity of {whole}")
        if number and value <= values[number - 1]:
            yield InstanceTypeFault(
                f"{path}.validValues[{number}]", f"expected more than {values[number - 1]}, got {value}"
            )
    if default is not None and default not in values:
        yield InstanceTypeFault(f"{path}.default", f"{default} is not one of validValues")


def _range_faults(
    span: CapacityRange, default: Quantity | None, whole: Quantity, path: str
) -> Iterator[InstanceTypeFault]:
    if span.min > whole:
        yield InstanceTypeFault(f"{path}.min", f"{span.min} is more than the capacity of {whole}")
    if span.max is not None and span.max > whole:
        yield InstanceTypeFault(f"{path}.max", f"{span.max} is more than the capacity of {whole}")
    if span.max is not None and span.max < span.min:
        yield InstanceTypeFault(f"{path}.max", f"{span.max} is less than min, which is {span.min}")
    if default is not None and (default < span.min or (span.max is not None and default > span.max)):
        yield InstanceTypeFault(f"{path.removesuffix('.validRange')}.default", f"{default} is outside of validRange")
    if span.step is not None:
        yield from _step_faults(span, span.step, default, whole, path)


def _step_faults(
    span: CapacityRange, step: Quantity, default: Quantity | None, whole: Quantity, path: str
) -> Iterator[InstanceTypeFault]:
    if step.nano <= 0:
        yield InstanceTypeFault(f"{path}.step", f"expected more than 0, got {step}")
        return
    if span.min.nano + step.nano > whole.nano:
        yield InstanceTypeFault(
            f"{path}.step", f"one step of {step} from {span.min} is more than the capacity of {whole}"
        )
    for name, amount in (("default", default), ("max", span.max)):
        if amount is not None and (amount.nano - span.min.nano) % step.nano:
            yield InstanceTypeFault(f"{path}.step", f"{name} is {amount}, no multiple of {step} from {span.min}")
