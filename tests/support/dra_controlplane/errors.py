"""What may go wrong with the control plane itself."""


class ControlPlaneError(Exception):
    """A part is missing, could not be built or did not come up; the message says which, and what to do."""
