"""What is wrong with an InstanceType."""

import msgspec


class InstanceTypeFault(msgspec.Struct, frozen=True, order=True):
    """`path` is where in the object, `message` what is wrong there and what was expected."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class Findings:
    """Faults, which make a type unusable, and warnings, which do not; in the order in which they were found."""

    __slots__ = ("faults", "warnings")

    def __init__(self) -> None:
        self.faults: list[InstanceTypeFault] = []
        self.warnings: list[InstanceTypeFault] = []

    def fault(self, path: str, message: str) -> None:
        """Note what makes the type unusable."""
        self.faults.append(InstanceTypeFault(path, message))

    def warn(self, path: str, message: str) -> None:
        """Note what is hardly meant."""
        self.warnings.append(InstanceTypeFault(path, message))
