"""The API server: the client, credentials, Leases, Events, permissions and discovery."""
