"""Recordings in a folder: read by their owner only, bounded in size, and no reason to stop anything."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_operator.roles.scheduler.recordings import RecordingFiles

LINE = b"0123456789\n"


class Made:
    """Makes recordings that are closed in the end."""

    def __init__(self) -> None:
        self.files: list[RecordingFiles] = []

    def __call__(self, folder: Path, *, most_bytes: int = 1_000, most_files: int = 8) -> RecordingFiles:
        self.files.append(RecordingFiles(folder, most_bytes=most_bytes, most_files=most_files))
        return self.files[-1]


@pytest.fixture
def made() -> Iterator[Made]:
    made = Made()
    yield made
    for files in made.files:
        files.close()


def contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def test_a_file_holds_what_it_begins_with_and_what_follows_at_once(tmp_path: Path, made: Made) -> None:
    files = made(tmp_path / "new" / "folder")
    files.begin([b"first\n", b"second\n"])
    files.write(b"third\n")

    assert contents(tmp_path / "new" / "folder") == [b"first\nsecond\nthird\n"]


def test_only_its_owner_may_read_a_recording(tmp_path: Path, made: Made) -> None:
    made(tmp_path).begin([LINE])

    (path,) = tmp_path.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_is_full_at_its_size_and_the_next_one_is_another(tmp_path: Path, made: Made) -> None:
    files = made(tmp_path, most_bytes=3 * len(LINE))
    files.begin([LINE])
    states = []
    for _ in range(3):
        states.append(files.is_full)
        files.write(LINE)

    assert (states, files.is_full) == ([False, False, True], True)
    files.begin([LINE])
    assert not files.is_full
    assert contents(tmp_path) == [4 * LINE, LINE]


def test_the_oldest_files_go_those_of_earlier_processes_included(tmp_path: Path, made: Made) -> None:
    (tmp_path / "dra-scheduler-20200101T000000Z-1-000001.jsonl").write_bytes(b"earlier")
    (tmp_path / "notes.jsonl").write_bytes(b"somebody else's")
    files = made(tmp_path, most_files=2)
    for number in range(3):
        files.begin([str(number).encode()])

    assert contents(tmp_path) == [b"1", b"2", b"somebody else's"]


def test_a_folder_that_cannot_be_written_ends_the_recording_and_nothing_else(tmp_path: Path, made: Made) -> None:
    (tmp_path / "file").write_bytes(b"")
    files = made(tmp_path / "file" / "folder", most_bytes=1)

    files.begin([LINE])
    files.write(LINE)

    assert not files.is_full


def test_a_disk_that_is_full_ends_the_recording_and_nothing_else(made: Made) -> None:
    files = made(Path("/nowhere"), most_bytes=1)
    with Path("/dev/full").open("wb", buffering=0) as stream:
        files._stream = stream  # noqa: SLF001  no test can fill a disk
        files.write(LINE)

    assert not files.is_full
