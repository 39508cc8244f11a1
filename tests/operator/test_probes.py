import aiohttp
import pytest

from dra_operator.probes import AddressInUseError, HttpServer


class Problems:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self) -> list[str]:
        return self.lines


async def ask(server: HttpServer, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://{server.address}{path}") as answer:
        return answer.status, await answer.text()


async def test_ready_is_whoever_has_no_problem() -> None:
    problems = Problems()
    server = HttpServer("127.0.0.1:0", problems)
    await server.start()
    assert await ask(server, "/readyz") == (200, "ok\n")

    problems.lines = ["pods: not listed yet", "nodes: nothing heard for 60 s"]

    assert await ask(server, "/readyz") == (500, "pods: not listed yet\nnodes: nothing heard for 60 s\n")
    assert await ask(server, "/healthz") == (200, "ok\n")
    await server.stop()


async def test_metrics_are_in_the_format_that_prometheus_reads() -> None:
    server = HttpServer("127.0.0.1:0", Problems())
    await server.start()

    status, text = await ask(server, "/metrics")

    assert status == 200
    assert "# TYPE dra_scheduler_cycle_seconds histogram" in text
    await server.stop()


async def test_an_address_that_is_taken_is_named() -> None:
    first = HttpServer("127.0.0.1:0", Problems())
    await first.start()

    with pytest.raises(AddressInUseError, match=f"DRA_HTTP_ADDRESS={first.address}: .*in use"):
        await HttpServer(first.address, Problems()).start()

    await first.stop()
