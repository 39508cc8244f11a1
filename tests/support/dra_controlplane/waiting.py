"""Waiting for a world that changes by itself."""

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

# A slow machine may need long for what others do in a moment; where all is well nobody waits for it.
PATIENCE = 60.0


def wait_until(question: Callable[[], Answer | None], what: str, *, seconds: float = PATIENCE) -> Answer:
    """The first answer that is true in itself, asked for every 50 ms.

    Raises:
        TimeoutError: there was none in time; the message says what was waited for, and the last answer.
    """
    deadline = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:g} s for {what}; last answer: {answer!r}")
        time.sleep(0.05)
