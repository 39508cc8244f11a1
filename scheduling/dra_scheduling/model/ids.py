"""Identities. They are types, so that a pool's name is never taken for a device's."""

from typing import NamedTuple


class ObjectKey(NamedTuple):
    """A namespaced object; cluster-scoped objects have an empty namespace."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class PoolKey(NamedTuple):
    """A pool belongs to its driver: two drivers may use the same pool name."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class DeviceID(NamedTuple):
    """One device of a cluster. Device names are unique in their pool only."""

    driver: str
    pool: str
    device: str

    @property
    def pool_key(self) -> PoolKey:
        """The pool that publishes this device."""
        return PoolKey(self.driver, self.pool)

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"
