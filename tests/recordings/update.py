"""Writes the decisions of today into the recordings. To be run after a change of decisions that is meant."""

import gzip
from pathlib import Path

from dra_scheduling.cycle.replay import replay, with_decisions_of_now


def main() -> None:
    """Update every recording whose decisions have changed."""
    for path in sorted(Path(__file__).parent.glob("*.jsonl.gz")):
        lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        if replay(lines).divergence is not None:
            path.write_bytes(gzip.compress(b"".join(with_decisions_of_now(lines)), mtime=0))
            print(f"updated {path.name}")  # noqa: T201  a program


if __name__ == "__main__":
    main()
