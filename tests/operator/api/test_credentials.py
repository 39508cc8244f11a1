import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dra_operating.clock import ManualClock
from dra_operating.http import access_to
from dra_operator.api.credentials import REFUSED_SECONDS, Access, NoAccessError, read_credentials


def kubeconfig(folder: Path, user: dict[str, object]) -> Path:
    path = folder / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://example.test:6443"}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


def test_the_kubeconfig_says_where_and_who(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path, {"token": "secret"})))

    found = read_credentials()

    assert found.server == "https://example.test:6443"
    assert found.as_http_headers() == {"Authorization": "Bearer secret"}


def test_a_plugin_of_the_kubeconfig_is_asked_for_its_token(tmp_path: Path) -> None:
    answer = '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "made"}}'
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "echo", "args": [answer]}
    path = kubeconfig(tmp_path, {"exec": {**plugin, "interactiveMode": "Never"}})
    code = "from dra_operator.api.credentials import read_credentials; print(read_credentials().as_http_headers())"

    # The official client looks for the file when it is imported.
    command = [sys.executable, "-c", code]
    shown = subprocess.run(
        command, env={**os.environ, "KUBECONFIG": str(path)}, capture_output=True, text=True, check=True, timeout=60
    )

    assert shown.stdout == "{'Authorization': 'Bearer made'}\n"


@pytest.mark.parametrize("content", ["", "current-context: missing", "contexts: 7"])
def test_a_kubeconfig_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content)
    monkeypatch.setenv("KUBECONFIG", str(path))

    with pytest.raises(NoAccessError, match="kubeconfig"):
        read_credentials()


def test_without_any_way_in_it_is_said_what_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(NoAccessError, match="set KUBECONFIG or run in a pod"):
        read_credentials()


async def log_in(access: Access) -> bool:
    """Whether a session was given; closes it."""
    given = await access.log_in()
    if given is not None:
        await given.aiohttp_session.close()
    return given is not None


async def test_refused_credentials_are_read_again() -> None:
    tokens = iter(["first", "second"])
    access = access_to("https://example.test", ManualClock(), lambda: next(tokens))
    await log_in(access)

    await log_in(access)

    assert access.headers() == {"Authorization": "Bearer second"}


async def test_a_server_that_refuses_for_too_long_ends_the_process() -> None:
    clock = ManualClock()
    access = access_to("https://example.test", clock)
    await log_in(access)
    assert await log_in(access)

    clock.advance(REFUSED_SECONDS + 1)

    assert not await log_in(access)


async def test_refusals_that_were_followed_by_success_are_forgiven() -> None:
    clock = ManualClock()
    access = access_to("https://example.test", clock)
    for _ in range(5):
        assert await log_in(access)
        clock.advance(REFUSED_SECONDS)
        access.accepted()


async def test_credentials_that_cannot_be_read_for_a_moment_stay_as_they_are() -> None:
    tokens = iter(["first"])

    def token() -> str:
        try:
            return next(tokens)
        except StopIteration:
            raise NoAccessError("the file is being replaced") from None

    access = access_to("https://example.test", ManualClock(), token)
    await log_in(access)

    await access.refresh()

    assert access.headers() == {"Authorization": "Bearer first"}
