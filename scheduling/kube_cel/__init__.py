"""CEL expressions of DeviceClasses and ResourceClaims, with the semantics of Kubernetes.

`compile_selector` turns an expression into a Program once, `compile_derivation` one that gives an attribute into a
Derivation; `evaluate` asks it about one DeviceView at a time.
"""

from kube_cel.device import AttributeValue, DeviceView
from kube_cel.error_hints import error_text
from kube_cel.errors import CelErrorKind, CompileError, EvaluationError
from kube_cel.program import (
    Derivation,
    Program,
    admission_problem,
    compile_derivation,
    compile_selector,
    estimate_cost,
)

__all__ = [
    "AttributeValue",
    "CelErrorKind",
    "CompileError",
    "Derivation",
    "DeviceView",
    "EvaluationError",
    "Program",
    "admission_problem",
    "compile_derivation",
    "compile_selector",
    "error_text",
    "estimate_cost",
]
