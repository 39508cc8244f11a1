import pytest

from dra_kube.errors import ApiError, ConflictError, MissingError, ThrottledError, UnclearError, error_of


def test_an_error_says_what_was_tried_and_which_fields_are_at_fault() -> None:
    error = ApiError("patch pods/status a/b", 422, reason="Invalid", message="wrong", causes=("status.x", "status.y"))
    reset = UnclearError("create pods/binding a/b", 0)

    assert str(error) == "could not patch pods/status a/b (422 Invalid): wrong: status.x, status.y"
    assert str(reset) == "could not create pods/binding a/b (no answer)"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, ApiError),
        (401, ApiError),
        (403, ApiError),
        (404, MissingError),
        (409, ConflictError),
        (422, ApiError),
        (429, ThrottledError),
        (500, UnclearError),
        (503, UnclearError),
        (504, UnclearError),
        (599, UnclearError),
    ],
)
def test_each_code_is_an_error_of_its_kind(code: int, kind: type[ApiError]) -> None:
    error = error_of("get pods a/b", code, {"reason": "Because", "message": "no"}, {})

    assert type(error) is kind
    assert (error.code, error.reason, error.message) == (code, "Because", "no")


def test_the_fields_at_fault_are_named() -> None:
    details = {"causes": [{"field": "metadata.uid"}, {"message": "of no field"}]}

    assert error_of("patch pods a/b", 422, {"details": details}, {}).causes == ("metadata.uid", "")


@pytest.mark.parametrize(
    ("headers", "details", "seconds"),
    [
        ({"Retry-After": "7"}, {"retryAfterSeconds": 3}, 7.0),
        ({}, {"retryAfterSeconds": 3}, 3.0),
        ({}, {}, 1.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}, {}, 1.0),
    ],
)
def test_a_throttled_request_says_when_to_come_again(
    headers: dict[str, str], details: dict[str, int], seconds: float
) -> None:
    assert error_of("create pods", 429, {"details": details}, headers).retry_after == seconds


def test_other_errors_ask_for_no_pause() -> None:
    assert error_of("create pods", 503, {}, {"Retry-After": "7"}).retry_after == 0.0
