"""Results into files: batch by batch, so that no more than a batch is in memory.

What is written is put in its place once it's whole, or not at all.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import stepladder
from stepladder.cli.files import arrow
from stepladder.errors import ResultError
from stepladder.files import beside, uninterrupted, writing
from stepladder.result.archive import FORMAT, STREAMED
from stepladder.result.recourse import Recourse
from stepladder.table.feature import Feature, Numeric

RESULTS = {
    ".parquet": "every row of every path",
    ".csv": "where each path ends; .parquet or .json would hold every step",
    ".json": "every person's paths, row by row",
}
"""What a result is written to, and what the file then holds."""


class Results:
    """A file of results that grows batch by batch beside its place, and is then put there.

    A new one fails at once where it couldn't be written. Leaving it, what wasn't kept is gone.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._unfinished = beside(file)
        self._writer: _Writer | None = None
        with writing(file):
            self._stream = self._unfinished.open("wb")

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError, ValueError):
            if self._writer is not None:
                self._writer.end()
        with suppress(OSError):
            self._stream.close()
        self._unfinished.unlink(missing_ok=True)

    def add(self, result: Recourse, names: Any) -> None:
        """Append the paths of people called `names`."""
        with writing(self.file):
            if self._writer is None:
                self._writer = WRITERS[self.file.suffix.lower()](self._stream, _facts(result))
            self._writer.add(result, names)

    def keep(self, *, partial: bool = False) -> Path:
        """Put the file in its place, or beside it if it's only a part; says where."""
        place = self.file.with_suffix(f".partial{self.file.suffix}") if partial else self.file
        with writing(place), uninterrupted():
            if self._writer is not None:
                self._writer.end()
                self._writer = None
            self._stream.close()
            self._unfinished.replace(place)
        return place


def check_result_name(file: Path) -> None:
    if file.suffix.lower() not in RESULTS:
        raise ResultError(
            f"Can't write results to {str(file)!r}: expected a name that ends in "
            f"{', '.join(RESULTS)}."
        )


class _Writer(ABC):
    """Writes paths to an open file, batch by batch."""

    def __init__(self, stream: Any, facts: dict[str, Any]) -> None:
        self.stream = stream
        self.facts = json.dumps(facts, default=str)

    @abstractmethod
    def add(self, result: Recourse, names: Any) -> None:
        """Write a batch of people, called by these names."""

    @abstractmethod
    def end(self) -> None:
        """Write what closes the file."""


class _Parquet(_Writer):
    """One row for each row of a path, with how that path ended; the run's settings as metadata."""

    table: Any = None

    def add(self, result: Recourse, names: Any) -> None:
        rows = _long(result, names)
        if self.table is None:
            schema = rows.schema.with_metadata({STREAMED: self.facts})
            self.table = arrow("parquet").ParquetWriter(self.stream, schema)
        self.table.write_table(rows)

    def end(self) -> None:
        if self.table is not None:
            self.table.close()


class _Csv(_Writer):
    """One row for each path: `Recourse.final`."""

    table: Any = None

    def add(self, result: Recourse, names: Any) -> None:
        rows = _shaped(result.final, result, names, first=6)
        if self.table is None:
            self.table = arrow("csv").CSVWriter(self.stream, rows.schema)
        self.table.write_table(rows)

    def end(self) -> None:
        if self.table is not None:
            self.table.close()


class _Json(_Writer):
    """One object: the run's settings, and a list of people with their paths."""

    begun = False

    def add(self, result: Recourse, names: Any) -> None:
        if not self.begun:
            self.stream.write(f'{{"run": {self.facts}, "people": ['.encode())
        rows = iter(_long(result, names).to_pylist())
        for person, routes in zip(names.to_pylist(), result.routes, strict=True):
            paths = []
            for place, route in enumerate(routes):
                walked = [_said(next(rows)) for _ in range(route.steps + 1)]
                ending = {"outcome": route.outcome.value, "reason": route.reason}
                paths.append({"path": place, **ending, "rows": walked})
            said = json.dumps({"person": person, "paths": paths}, allow_nan=False, default=str)
            self.stream.write(f"{',' if self.begun else ''}\n{said}".encode())
            self.begun = True

    def end(self) -> None:
        if self.begun:
            self.stream.write(b"\n]}\n")


REPEATED = ("person", "path", "outcome", "reason")
"""What every row of a path says alike."""

WRITERS: dict[str, type[_Writer]] = {".parquet": _Parquet, ".csv": _Csv, ".json": _Json}


def _facts(result: Recourse) -> dict[str, Any]:
    """How the run was made, and what is needed to encode its rows again."""
    return {
        "format": FORMAT,
        "version": stepladder.__version__,
        "columns": list(result.template.columns),
        "schema": result.space.schema.to_dict(),
        "center": result.space.center.tolist(),
        "scale": result.space.scale.tolist(),
        "goal": asdict(result.goal),
        "settings": dict(result.settings),
        "reference": dict(result.reference),
        "fingerprints": dict(result.fingerprints),
        "set_aside": list(result.set_aside),
        "public": result.space.public,
        "privacy": None if result.privacy is None else result.privacy.to_dict(),
    }


def _long(result: Recourse, names: Any) -> Any:
    """`Recourse.paths`, with how each path ended beside its rows."""
    pyarrow = arrow()
    flat = [path for routes in result.routes for path in routes]
    lengths = [path.steps + 1 for path in flat]
    rows = _shaped(result.paths, result, names, first=3)
    for name, said in (
        ("outcome", [path.outcome.value for path in flat]),
        ("reason", [path.reason for path in flat]),
    ):
        column = pyarrow.array(said, pyarrow.string()).take(
            np.repeat(np.arange(len(flat)), lengths)
        )
        rows = rows.append_column(name, column)
    return rows


def _shaped(table: Any, result: Recourse, names: Any, first: int) -> Any:
    """A frame of a batch with people's own names, and the same types in every batch.

    The features' columns begin at `first`. One of whole numbers in the file may need decimals
    along some paths and not along others.
    """
    table = table.set_column(0, "person", names.take(table["person"].combine_chunks()))
    features = {c: f for f in result.space.schema.features for c in f.columns}
    for place, field in enumerate(result.template.empty.schema, first):
        column = table[place].cast(_kind(features[field.name], field.type))
        table = table.set_column(place, table.schema.names[place], column)
    return table


def _kind(feature: Feature, given: Any) -> Any:
    """The type that a feature's column is written in."""
    pyarrow = arrow()
    if not isinstance(feature, Numeric):
        return given
    whole = feature.integer and pyarrow.types.is_integer(given)
    return pyarrow.int64() if whole else pyarrow.float64()


def _said(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a path as JSON holds it, without what its path says already."""
    own = {name: value for name, value in row.items() if name not in REPEATED}
    return {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in own.items()}
