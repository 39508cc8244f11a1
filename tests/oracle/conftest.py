from collections.abc import Iterator

import pytest

from dra_oracle.build import GoMissingError
from dra_oracle.kubernetes import Kubernetes


@pytest.fixture(scope="session")
def kubernetes() -> Iterator[Kubernetes]:
    """Kubernetes' own allocator, built first if it never was."""
    try:
        running = Kubernetes()
    except GoMissingError as error:
        pytest.skip(f"Kubernetes' allocator is Go, and there is none here: {error}")
    with running:
        yield running
