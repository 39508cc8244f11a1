import pytest

from dra_binder.settings import limit_of
from dra_binder.stops import GiveUp, Retry, stop_after
from dra_kube.errors import ApiError, ConflictError, MissingError, UnclearError


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


@pytest.mark.parametrize(("backoff_limit", "limit"), [(None, 3), (0, 1), (1, 1), (5, 5)])
def test_a_bind_is_tried_at_least_once(backoff_limit: int | None, limit: int) -> None:
    assert limit_of(backoff_limit) == limit
