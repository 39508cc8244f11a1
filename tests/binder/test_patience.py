import pytest

from dra_binder.errors import ThrottledError
from dra_operator.api import Json
from dra_operator.kube.patience import LONGEST_PAUSE, MOST_TURNS, PatientRequests


class Throttling:
    """A server that asks for pauses before it answers."""

    def __init__(self, *pauses: float) -> None:
        self.pauses = list(pauses)
        self.waited: list[float] = []

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = "application/json"
    ) -> Json:
        if self.pauses:
            error = ThrottledError(f"{method} {path}", 429)
            error.retry_after = self.pauses.pop(0)
            raise error
        return {"path": path}

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)


async def ask(server: Throttling) -> Json:
    return await PatientRequests(server, server.sleep).request("POST", "/pods")


async def test_a_throttled_request_is_sent_again_after_the_pause_that_was_asked_for() -> None:
    server = Throttling(2.0, 3.0)

    assert await ask(server) == {"path": "/pods"}
    assert server.waited == [2.0, 3.0]


@pytest.mark.parametrize("pauses", [[1.0] * MOST_TURNS, [LONGEST_PAUSE + 1]])
async def test_patience_has_an_end(pauses: list[float]) -> None:
    with pytest.raises(ThrottledError):
        await ask(Throttling(*pauses))
