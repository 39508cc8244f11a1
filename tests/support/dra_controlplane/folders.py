"""Temporary folders that outlive a killed owner only until the next one comes."""

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "dra-control-plane-"
YOUNG_SECONDS = 60.0


class OwnedFolder:
    """A temporary folder, locked for as long as its owner, or a program that was handed the lock, lives."""

    __slots__ = ("lock", "path")

    def __init__(self) -> None:
        _remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.lock = os.open(self.path, os.O_RDONLY)
        fcntl.flock(self.lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Deletes all of it; harmless when done before."""
        if self.lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self.lock)
            self.lock = -1


def _remove_abandoned() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            # A young folder may not have been locked by its owner yet.
            if time.time() - folder.stat().st_mtime < YOUNG_SECONDS:
                continue
            descriptor = os.open(folder, os.O_RDONLY)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)
