import pytest

from dra_binder.backoff import limit_of, pause_after
from dra_binder.errors import ApiError, ConflictError, GiveUp, MissingError, Retry, UnclearError, stop_after


@pytest.mark.parametrize(
    "error",
    [
        ConflictError("update resourceclaims/status a/b", 409),
        UnclearError("create pods/binding a/b", 500),
        UnclearError("create pods/binding a/b", 0, reason="reset"),
        ApiError("get pods a/b", 401, reason="Unauthorized"),
        ApiError("get pods a/b", 408),
    ],
)
def test_what_may_pass_is_tried_again(error: ApiError) -> None:
    assert isinstance(stop_after(error), Retry)


@pytest.mark.parametrize("code", [400, 403, 404, 405, 413, 422])
def test_a_refusal_is_final(code: int) -> None:
    kind = MissingError if code == 404 else ApiError

    assert isinstance(stop_after(kind("create resourceclaims a/b", code)), GiveUp)


def test_a_missing_permission_is_named() -> None:
    error = ApiError("update resourceclaims/status a/b", 403, reason="Forbidden", message="not allowed")

    assert stop_after(error).reason == (
        "could not update resourceclaims/status a/b (403 Forbidden): not allowed"
        " (since Kubernetes 1.36 this also needs update on resourceclaims/binding, by ClusterRole)"
    )


def test_an_error_says_what_was_tried_and_which_fields_are_at_fault() -> None:
    error = ApiError("patch pods/status a/b", 422, reason="Invalid", message="wrong", causes=("status.x", "status.y"))
    reset = UnclearError("create pods/binding a/b", 0)

    assert str(error) == "could not patch pods/status a/b (422 Invalid): wrong: status.x, status.y"
    assert str(reset) == "could not create pods/binding a/b (no answer)"


def test_pauses_double_up_to_a_minute() -> None:
    assert [pause_after(failures) for failures in (1, 2, 3, 6, 7, 8, 10**6)] == [1, 2, 4, 32, 60, 60, 60]


@pytest.mark.parametrize(("backoff_limit", "limit"), [(None, 3), (0, 1), (1, 1), (5, 5)])
def test_a_bind_is_tried_at_least_once(backoff_limit: int | None, limit: int) -> None:
    assert limit_of(backoff_limit) == limit
