"""The binder's ports in memory, with the API server's rules, for tests: any write can be made to fail or to kill."""
