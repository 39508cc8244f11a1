"""What a device has, said to somebody whose expression asked it for something else."""

from collections.abc import Collection
from difflib import get_close_matches

from kube_cel.device import DeviceView
from kube_cel.errors import EvaluationError
from kube_cel.values import NO_NAMES

MOST_NAMED = 3


def error_text(error: EvaluationError, device: DeviceView) -> str:
    """Return why an expression failed on the device; of a name that is missing, the nearest one, or the first ones."""
    hint = ""
    if error.names is NO_NAMES:
        domains = {*device.attributes, *device.capacity}
        hint = f"nothing there is of that domain, only of {_listed(domains)}" if domains else ""
    elif error.names:
        nearest = get_close_matches(error.key, sorted(error.names), n=1)
        hint = f"the nearest is {nearest[0]}" if nearest else f"there is {_listed(error.names)}"
    return f"{error} ({hint})" if hint else str(error)


def _listed(names: Collection[str]) -> str:
    shown, left = sorted(names)[:MOST_NAMED], len(names) - MOST_NAMED
    return ", ".join(shown) + (f" and {left} more" if left > 0 else "")
