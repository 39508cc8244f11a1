import pytest

from dra_kube.api import Json, RetryingApi
from dra_kube.errors import ApiError, ConflictError, MissingError, ThrottledError, UnclearError
from dra_kube.retry import Backoff, RetryPolicy, retry

POLICY = RetryPolicy(attempts=4, backoff=Backoff(1.0, 3.0), at_once=(ConflictError,))


def throttled(seconds: float) -> ThrottledError:
    error = ThrottledError("create pods", 429)
    error.retry_after = seconds
    return error


class Server:
    """Fails as it is told before it answers; notes pauses."""

    def __init__(self, *errors: ApiError) -> None:
        self.errors = list(errors)
        self.paused: list[float] = []
        self.learned: list[Json] = []

    async def answer(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "done"

    async def sleep(self, seconds: float) -> None:
        self.paused.append(seconds)

    def learn(self, answer: Json) -> None:
        self.learned.append(answer)

    async def request(
        self, method: str, path: str, body: Json | None = None, *, content_type: str = "", accept: str = ""
    ) -> Json:
        await self.answer()
        return {"sent": (method, path, body, content_type, accept)}


def unclear() -> UnclearError:
    return UnclearError("create pods", 503)


async def test_pauses_double_up_to_the_longest() -> None:
    server = Server(unclear(), unclear(), unclear())

    assert await retry(server.answer, POLICY, server.sleep) == "done"
    assert server.paused == [1.0, 2.0, 3.0]


def test_many_failures_do_not_overflow() -> None:
    assert [Backoff(1.0, 60.0).pause(failures) for failures in (1, 2, 3, 6, 7, 8, 10**6)] == [1, 2, 4, 32, 60, 60, 60]


async def test_the_error_of_the_last_attempt_is_raised() -> None:
    errors = [unclear() for _ in range(5)]
    server = Server(*errors)

    with pytest.raises(UnclearError) as met:
        await retry(server.answer, POLICY, server.sleep)

    assert met.value is errors[3]


@pytest.mark.parametrize("error", [ApiError("create pods", 403), MissingError("get pods", 404)])
async def test_errors_that_will_not_pass_are_not_repeated(error: ApiError) -> None:
    server = Server(error)

    with pytest.raises(type(error)):
        await retry(server.answer, POLICY, server.sleep)

    assert server.paused == []


async def test_no_attempt_comes_sooner_than_the_server_asks() -> None:
    server = Server(throttled(0.5), throttled(9.0))

    await retry(server.answer, POLICY, server.sleep)

    assert server.paused == [1.0, 9.0]


async def test_after_a_conflict_the_next_attempt_comes_at_once() -> None:
    server = Server(ConflictError("replace pods", 409), unclear())

    await retry(server.answer, POLICY, server.sleep)

    assert server.paused == [2.0]


async def test_a_long_pause_may_be_cut() -> None:
    server = Server(throttled(9.0))

    await retry(server.answer, RetryPolicy(attempts=2, backoff=Backoff(1.0, 1.0), longest_asked=5.0), server.sleep)

    assert server.paused == [5.0]


async def test_a_server_that_asks_for_too_long_a_pause_is_not_asked_again() -> None:
    server = Server(throttled(9.0))

    with pytest.raises(ThrottledError):
        await retry(server.answer, RetryPolicy(attempts=2, backoff=Backoff(1.0, 1.0), most_asked=8.0), server.sleep)

    assert server.paused == []


async def test_failures_that_are_repeated_are_reported() -> None:
    server = Server(unclear(), throttled(1.0))
    reported: list[tuple[str, int]] = []

    await retry(
        server.answer,
        POLICY,
        server.sleep,
        failed=lambda error, failures: reported.append((type(error).__name__, failures)),
    )

    assert reported == [("UnclearError", 1), ("ThrottledError", 2)]


async def test_an_api_repeats_each_request_unchanged() -> None:
    server = Server(unclear())
    api = RetryingApi(server, POLICY, server.sleep)

    answer = await api.request("PATCH", "/api/v1/pods", {"a": 1}, content_type="x", accept="y")

    assert answer == {"sent": ("PATCH", "/api/v1/pods", {"a": 1}, "x", "y")}
    assert server.paused == [1.0]


def test_an_api_that_repeats_requests_takes_in_objects_as_the_other_one_does() -> None:
    server = Server()

    RetryingApi(server, POLICY, server.sleep).learn({"kind": "Pod"})

    assert server.learned == [{"kind": "Pod"}]
