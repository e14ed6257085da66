"""People in parts: a frame that is cut, or Parquet files that are read a part at a time.

Whatever they come from, the parts are those of one frame: of the same dtypes, and called as that
frame calls them.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path as File
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.errors import DatasetError
from stepladder.result.archive.kinds import arrow
from stepladder.table import frames
from stepladder.table.frames import Frame
from stepladder.table.space import Space


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the people, in their order."""

    number: int
    rows: Frame
    """the schema's columns"""
    labels: NDArray[Any]
    """what the people are called, which `rows` may not know"""


class People(ABC):
    """A table of people that can be gone through more than once."""

    set_aside: tuple[str, ...]
    """its columns that no feature uses"""

    @abstractmethod
    def parts(self) -> Iterator[Part]:
        """Everybody, part by part."""


def people_of(frame: Frame | str | PathLike[str], space: Space, size: int) -> People:
    """People in parts of `size`, from a frame or from what Parquet files hold."""
    if isinstance(frame, str | PathLike):
        return FilePeople(parquet_files(frame), space, size)
    return FramePeople(frame, space, size)


class FramePeople(People):
    """A frame in memory, cut."""

    def __init__(self, frame: Frame, space: Space, size: int) -> None:
        self.set_aside = space.schema.set_aside(frames.read(frame).columns)
        self._frame = frames.read(space.own(frame))
        self._labels, self._size = frames.labels(frame), size

    def parts(self) -> Iterator[Part]:
        for number, start in enumerate(range(0, len(self._labels), self._size)):
            some = slice(start, start + self._size)
            yield Part(number, self._frame[some].to_native(), self._labels[some])


class BatchPeople(People):
    """Pandas frames that are read one after the other, each called by its index."""

    def __init__(
        self, read: Callable[[], Iterator[pd.DataFrame]], set_aside: tuple[str, ...]
    ) -> None:
        self._read, self.set_aside = read, set_aside

    def parts(self) -> Iterator[Part]:
        for number, rows in enumerate(self._read()):
            yield Part(number, rows, frames.labels(rows))


class FilePeople(BatchPeople):
    """Parquet files, as pandas frames.

    People are called by the index of the frame that was written, if it was one column; else they're
    counted, as far as there is one file from where its own index begins.
    """

    def __init__(self, files: list[File], space: Space, size: int) -> None:
        self._files, self._size = files, size
        self._types = _types(files[0])
        for file in files[1:]:
            if _types(file) != self._types:
                raise DatasetError(
                    f"{str(file)!r} has other columns than {str(files[0])!r}, or of other types. "
                    "Files of one table must have the same."
                )
        self._index = (self._types.pandas_metadata or {}).get("index_columns", [])
        named = [name for name in self._index if isinstance(name, str)]
        columns = [name for name in self._types.names if name not in named]
        own = space.own(self._types.empty_table().select(columns))
        self._wanted = [*own.column_names, *named]
        super().__init__(self._frames, space.schema.set_aside(columns))

    def _frames(self) -> Iterator[pd.DataFrame]:
        done = 0
        for table in self._tables():
            rows: pd.DataFrame = table.to_pandas()
            match self._index:
                case [str(), *_]:
                    pass  # PyArrow has made it the index
                case [{"kind": "range", "start": start, "step": step}] if len(self._files) == 1:
                    first = start + step * done
                    rows.index = pd.RangeIndex(first, first + step * len(rows), step)
                case _:
                    rows.index = pd.RangeIndex(done, done + len(rows))
            yield rows
            done += len(rows)

    def _tables(self) -> Iterator[Any]:
        """All rows in tables of `size`, the last one smaller: where files end doesn't matter."""
        library = arrow()
        held = self._types.empty_table().select(self._wanted)
        for file in self._files:
            with arrow("parquet").ParquetFile(file) as opened:
                batches = opened.iter_batches(self._size, columns=self._wanted, use_threads=False)
                for batch in batches:
                    held = library.concat_tables([held, library.Table.from_batches([batch])])
                    while len(held) >= self._size:
                        yield held.slice(0, self._size)
                        held = held.slice(self._size)
        if len(held):
            yield held


def parquet_files(name: str | PathLike[str]) -> list[File]:
    """A Parquet file, or those of a folder in the order of their names."""
    place = File(name)
    if place.is_file():
        return [place]
    files = sorted(place.glob("*.parquet"))
    if not files:
        raise DatasetError(
            f"There is no Parquet file at {str(place)!r}. Name one, or a folder of them."
        )
    return files


def _types(file: File) -> Any:
    try:
        return arrow("parquet").read_schema(file)
    except (OSError, arrow().ArrowException) as error:
        what = str(getattr(error, "strerror", None) or error).splitlines()[0].rstrip(".")
        raise DatasetError(f"{str(file)!r} can't be read as Parquet: {what}.") from error


# ---- looked at once -----------------------------------------------------------------------------


@dataclass
class Survey:
    """What is known of people once everybody has been looked at, part by part."""

    space: Space
    unmet: dict[Hashable, tuple[Any, str]] = field(default_factory=dict)
    """who is named in which argument and wasn't met yet, by key"""
    tells_twins: bool = False
    """whether to look for the same row in several parts, which takes eight bytes per person"""
    people: int = 0
    parts: int = 0
    some: list[Any] = field(default_factory=list)
    """what people are called, from the first part"""
    dtypes: dict[str, Any] = field(default_factory=dict)
    """of the pandas frame that all parts are cut from"""
    _digest: Any = field(default_factory=hashlib.sha256)
    _rows: list[NDArray[np.uint64]] = field(default_factory=list)

    def add(self, part: Part) -> None:
        """Look at the next part."""
        self.parts += 1
        self.people += len(part.labels)
        self.some = self.some or frames.plain_labels(part.labels)
        if self.unmet:
            for label in frames.plain_labels(part.labels):
                self.unmet.pop(frames.key(label), None)
        if self.tells_twins:
            values = pd.DataFrame(self.space.read_each(part.rows)[0])
            hashes = pd.util.hash_pandas_object(values, index=False).to_numpy()
            self._rows.append(np.unique(hashes))
        plain = frames.read(part.rows).to_pandas()
        if isinstance(part.rows, pd.DataFrame):
            for name, dtype in plain.dtypes.items():
                known = self.dtypes.get(str(name), dtype)
                self.dtypes[str(name)] = _common(known, dtype)
        for column in (*plain, None):
            cells = pd.Series(part.labels) if column is None else plain[column]
            self._digest.update(str(column).encode())
            self._digest.update(pd.util.hash_pandas_object(cells, index=False).to_numpy())

    @property
    def digest(self) -> str:
        """A hash of what the rows hold and of what people are called."""
        return str(self._digest.hexdigest())

    @property
    def has_twins(self) -> bool:
        """Whether the very same row is in more than one part."""
        rows = np.concatenate([np.empty(0, np.uint64), *self._rows])
        return len(np.unique(rows)) < len(rows)

    def alike(self, part: Part) -> Part:
        """The part in the dtypes of all: a gap elsewhere makes whole numbers floats here too."""
        if not isinstance(part.rows, pd.DataFrame):
            return part
        wanted = {
            name: dtype for name, dtype in self.dtypes.items() if part.rows[name].dtype != dtype
        }
        return Part(part.number, part.rows.astype(wanted), part.labels) if wanted else part


def _common(one: Any, other: Any) -> Any:
    """The dtype of a column of which one part has one dtype and the next another."""
    if one == other:
        return one
    if isinstance(one, pd.CategoricalDtype) and isinstance(other, pd.CategoricalDtype):
        levels = dict.fromkeys([*one.categories, *other.categories])
        return pd.CategoricalDtype(list(levels), ordered=bool(one.ordered and other.ordered))
    if (
        isinstance(one, np.dtype)
        and isinstance(other, np.dtype)
        and "b" not in one.kind + other.kind
    ):
        return np.result_type(one, other)
    return np.dtype(object)
