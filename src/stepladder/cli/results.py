"""Where the results of a run go: a file that grows batch by batch, and is then put in its place."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from stepladder.errors import ResultError
from stepladder.files import beside, uninterrupted, writing
from stepladder.result import archive
from stepladder.result.recourse import Recourse

RESULTS = {
    ".parquet": "every row of every path",
    ".csv": "where each path ends; .parquet or .json would hold every step",
    ".json": "every person's paths, row by row",
}
"""What a result is written to, and what the file then holds."""


class Results:
    """A file of results that grows beside its place, with no more than a batch in memory.

    It fails at once if it couldn't be written. What isn't kept by the end of `with` is gone.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._unfinished = beside(file)
        with writing(file):
            self._stream = self._unfinished.open("wb")
        self._writer = WRITERS[file.suffix.lower()](self._stream)

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError, ValueError):
            self._writer.end()
        with suppress(OSError):
            self._stream.close()
        self._unfinished.unlink(missing_ok=True)

    def add(self, result: Recourse) -> None:
        """Append the paths of a batch of people."""
        with writing(self.file):
            self._writer.add(result)

    def keep(self, *, partial: bool = False) -> Path:
        """Put the file in its place, or beside it if it's only a part; returns where."""
        place = self.file.with_suffix(f".partial{self.file.suffix}") if partial else self.file
        with writing(place), uninterrupted():
            self._writer.end()
            self._stream.close()
            self._unfinished.replace(place)
        return place


class Ends:
    """Writes where each path ends, `Recourse.final`, as CSV."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.begun = False

    def add(self, result: Recourse) -> None:
        rows = result.final.to_csv(index=False, header=not self.begun, lineterminator="\n")
        self.stream.write(rows.encode())
        self.begun = True

    def end(self) -> None:
        """Nothing closes a CSV."""


WRITERS: dict[str, type[archive.Writer | Ends]] = {**archive.WRITERS, ".csv": Ends}


def check_result_name(file: Path) -> None:
    if file.suffix.lower() not in RESULTS:
        raise ResultError(
            f"Can't write results to {str(file)!r}: expected a name that ends in "
            f"{', '.join(RESULTS)}."
        )
