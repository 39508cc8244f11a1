"""The binder's ports over the API server."""
