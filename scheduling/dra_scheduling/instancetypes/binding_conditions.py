"""What devices wait for before their pods are bound (KEP-5007): names that drivers could not publish."""

import re

from dra_scheduling.instancetypes.instance_type_faults import Findings
from dra_scheduling.model.instancetypes import DeviceGroup

MOST_CONDITIONS = 4
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
CONDITION = re.compile(rf"({_LABEL}(\.{_LABEL})*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
LONGEST_CONDITION = 316


def check_binding_conditions(group: DeviceGroup, path: str, findings: Findings) -> None:
    """Note conditions that no driver could publish; those of success and of failure go together."""
    ready, failed = group.binding_conditions, group.binding_failure_conditions
    _check_names(ready, f"{path}.bindingConditions", findings)
    _check_names(failed, f"{path}.bindingFailureConditions", findings)
    if bool(ready) != bool(failed):
        lacking = "bindingFailureConditions" if ready else "bindingConditions"
        findings.fault(f"{path}.{lacking}", "there are none, expected some of both kinds")
    for number, name in enumerate(failed):
        if name in ready:
            findings.fault(f"{path}.bindingFailureConditions[{number}]", f"{name} is one of bindingConditions already")


def _check_names(names: tuple[str, ...], path: str, findings: Findings) -> None:
    if len(names) > MOST_CONDITIONS:
        findings.fault(path, f"{len(names)} conditions, expected {MOST_CONDITIONS} at most")
    for number, name in enumerate(names):
        if len(name) > LONGEST_CONDITION or CONDITION.fullmatch(name) is None:
            findings.fault(f"{path}[{number}]", f"{name!r} is no condition, expected one such as example.com/attached")
        if name in names[:number]:
            findings.fault(f"{path}[{number}]", f"{name} is there twice")
