import pytest

from dra_kube.errors import ThrottledError
from dra_kube.retry import retry
from dra_operator.roles.binder.role import PATIENCE


class Throttling:
    """A server that asks for pauses before it answers."""

    def __init__(self, *pauses: float) -> None:
        self.pauses = list(pauses)
        self.waited: list[float] = []

    async def answer(self) -> str:
        if self.pauses:
            error = ThrottledError("create pods", 429)
            error.retry_after = self.pauses.pop(0)
            raise error
        return "done"

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)


async def test_a_throttled_request_of_a_bind_is_sent_again_after_the_pause_that_was_asked_for() -> None:
    server = Throttling(2.0, 3.0)

    assert await retry(server.answer, PATIENCE, server.sleep) == "done"
    assert server.waited == [2.0, 3.0]


@pytest.mark.parametrize("pauses", [[1.0] * 4, [10.1]])
async def test_the_patience_of_a_bind_has_an_end(pauses: list[float]) -> None:
    server = Throttling(*pauses)

    with pytest.raises(ThrottledError):
        await retry(server.answer, PATIENCE, server.sleep)
