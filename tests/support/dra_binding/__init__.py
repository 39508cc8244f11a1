"""The small world that the binder's tests happen in."""
