"""A real control plane, and a client for it, for tests, demo and benchmark."""
