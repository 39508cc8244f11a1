"""Recordings as files in a folder: each begins with a snapshot, and the oldest ones make room for the next."""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from dra_operator.logs import log

MOST_BYTES = 64 * 1024 * 1024
MOST_FILES = 8
PREFIX, SUFFIX = "dra-scheduler-", ".jsonl"
ONLY_OWNER = 0o600

_log = log("recordings")


class RecordingFiles:
    """`dra_scheduling.cycle.recorder.Sink`. What cannot be written ends the recording, and never the scheduling."""

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._most_files = most_files
        self._start = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        self._number = 0
        self._bytes = 0
        self._stream: BinaryIO | None = None

    @property
    def is_full(self) -> bool:
        """Whether the file has its size; a recording that has ended asks for no other one."""
        return self._stream is not None and self._bytes >= self._most_bytes

    def begin(self, lines: Iterable[bytes]) -> None:
        """Begin a file with these lines."""
        try:
            self.close()
            self._open()
        except OSError as error:
            self.fail(error)
        for line in lines:
            self.write(line)

    def write(self, line: bytes) -> None:
        """Add a line to the file, at once: the last one before a crash is the one that is looked for."""
        if self._stream is None:
            return
        try:
            self._stream.write(line)
        except OSError as error:
            self.fail(error)
        self._bytes += len(line)

    def close(self) -> None:
        """End the recording."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    def fail(self, error: Exception) -> None:
        """End the recording because of an error."""
        self.close()
        _log.error("the recording has ended", folder=str(self._folder), error=str(error))

    def _open(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._number += 1
        self._bytes = 0
        path = self._folder / f"{PREFIX}{self._start}-{os.getpid()}-{self._number:06}{SUFFIX}"
        self._stream = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, ONLY_OWNER), "wb", buffering=0)
        for old in sorted(self._folder.glob(f"{PREFIX}*{SUFFIX}"))[: -self._most_files]:
            old.unlink(missing_ok=True)
        _log.info("recording", file=str(path))
