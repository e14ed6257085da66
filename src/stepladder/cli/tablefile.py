"""Tables from Parquet and CSV files, read at once or in batches."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.errors import (
    ColumnError,
    DatasetError,
    DtypeError,
    ExtraError,
    FrameError,
    nearest,
)
from stepladder.table.feature import Numeric
from stepladder.table.schema import Schema

TABLES = (".parquet", ".csv", ".csv.gz")
"""What a table is read from."""

UNREADABLE = re.compile(
    r"In CSV column #(?P<column>\d+): (Row #(?P<line>\d+): )?"
    r"CSV conversion error to (?P<kind>\w+): invalid value '(?P<cell>.*)'"
)
"""How PyArrow says that a cell isn't what its column should hold."""

KINDS = {"double": "a number", "int64": "a whole number", "bool": "true or false"}


class TableFile:
    """A table in a Parquet or CSV file: opened for the names of its columns, read when asked."""

    def __init__(self, file: Path) -> None:
        if not file.name.lower().endswith(TABLES):
            raise DatasetError(
                f"Can't tell what kind of table {str(file)!r} is: expected a name that ends in "
                f"{', '.join(TABLES)}."
            )
        if not file.is_file():
            raise DatasetError(f"There is no table at {str(file)!r}.")
        self.file = file
        self._parquet: Any = None
        with self._reading():
            if file.suffix.lower() == ".parquet":
                self._parquet = arrow("parquet").ParquetFile(file)
                self._schema = self._parquet.schema_arrow
            else:
                self._schema = self._stream({}).schema
        metadata = self._schema.pandas_metadata or {}
        stored = [name for name in metadata.get("index_columns", []) if isinstance(name, str)]
        self.index = stored[0] if len(stored) == 1 else None
        """the column that is the index of the pandas frame it was written from"""
        self.columns = tuple(name for name in self._schema.names if name not in stored)
        if len(self.columns) == 1 and (sign := re.search(r"[;\t|]", self.columns[0])):
            raise DatasetError(
                f"{str(file)!r} looks as if its columns were separated by {sign[0]!r}; expected "
                "commas. Write it again with commas, or as Parquet."
            )
        twice = [name for name, count in Counter(self.columns).items() if count > 1]
        if twice:
            raise ColumnError(f"{str(file)!r} has the column {twice[0]!r} more than once.")

    def require(self, names: Iterable[str], who: str) -> None:
        """Refuse a table that lacks a column, with the nearest name that it has."""
        for name in names:
            if name not in self.columns:
                raise ColumnError(
                    f"{str(self.file)!r} has no column {name!r}, which {who} names."
                    f"{nearest(name, self.columns)}"
                )

    @property
    def empty(self) -> Any:
        """A PyArrow table of the same columns, without rows."""
        return self._schema.empty_table()

    def frame(self, schema: Schema | None = None, also: Iterable[str] = ()) -> pd.DataFrame:
        """All of it as a pandas frame: the schema's columns and some more, or every column."""
        wanted = None if schema is None else [c for c in self.columns if c in schema.columns]
        with self._reading():
            read = self.read(None if wanted is None else [*wanted, *also], schema)
            rows: pd.DataFrame = read.to_pandas()
        return rows.reset_index(drop=True)

    def read(
        self, columns: list[str] | None, schema: Schema | None = None, texts: Sequence[str] = ()
    ) -> Any:
        """Some columns, or all, as a PyArrow table; of a CSV, levels as the schema has them, and
        `texts` as they are written."""
        with self._reading():
            if self._parquet is not None:
                return self._parquet.read(columns=columns)
            types = _types(schema, numbers=False) | dict.fromkeys(texts, arrow().string())
            options = _conversion(types, columns, schema)
            table = arrow("csv").read_csv(self.file, convert_options=options)
            self._check_numbers(table.drop_columns(list(texts)), schema)
            return table

    def _check_numbers(self, table: Any, schema: Schema | None) -> None:
        """Where a column of numbers was read as text, find the cell that isn't one."""
        for feature in () if schema is None else schema.features:
            if not isinstance(feature, Numeric) or feature.name not in table.column_names:
                continue
            if arrow().types.is_string(table.schema.field(feature.name).type):
                types = {feature.name: arrow().float64()}
                self._stream(types, [feature.name], schema).read_all()

    def people(
        self, schema: Schema, label: str | None, size: int, most: int | None
    ) -> Iterator[pd.DataFrame]:
        """People, `size` at a time, each called by the column `label`.

        Without one they're called by the index of the frame that was written, or 0, 1, 2, …
        """
        label = label or self.index
        wanted = [c for c in self.columns if c in schema.columns]
        read = [*wanted, *([label] if label and label not in wanted else [])]
        done, source = 0, self._batches(schema, read, label, size)
        while most is None or done < most:
            with self._reading():
                batch = next(source, None)
            if batch is None:
                return
            batch = batch.slice(0, size if most is None else most - done)
            rows = _plain(arrow().Table.from_batches([batch]).replace_schema_metadata(None))
            people = rows.select(wanted).to_pandas()
            count = pd.RangeIndex(done, done + len(people))
            yield people.set_axis(names_of(rows[label]) if label else count)
            done += len(people)

    def check_names(
        self, hashes: list[NDArray[np.int64]], schema: Schema, label: str | None, most: int | None
    ) -> None:
        """Refuse people who are called the same, given what `hashed` makes of their names.

        Names are compared where hashes are the same, which takes another look at the table.
        """
        found, counts = np.unique(np.concatenate(hashes), return_counts=True)
        doubtful, seen = set(found[counts > 1].tolist()), set[str]()
        for people in self.people(schema, label, 2**14, most) if doubtful else ():
            for name in map(str, people.index):
                if name in seen:
                    raise FrameError(self._same_name(name, label))
                if hash(name) in doubtful:
                    seen.add(name)

    def hashed(self, people: pd.DataFrame, label: str | None) -> NDArray[np.int64]:
        """A hash of each one's name: eight bytes per person, 0.4 MB for 50,000."""
        if people.index.isna().any():
            raise FrameError(
                f"{str(self.file)!r} has a person without a value in {label or self.index!r}, so "
                "it can't say who is who. Fill it in, or give --id another column."
            )
        return np.fromiter((hash(str(name)) for name in people.index), np.int64, len(people))

    def _same_name(self, name: str, label: str | None) -> str:
        file = str(self.file)
        if label is None:
            return (
                f"More than one person is called {name!r} by the index of {file!r}. Name a column "
                "that tells everyone apart with --id, or write the table without its index."
            )
        other = "their row number" if self.index is None else "the table's index"
        return (
            f"More than one person is called {name!r} by the column {label!r} of {file!r}. Give "
            f"--id a column that tells everyone apart, or leave it out to call them by {other}."
        )

    def _batches(
        self, schema: Schema, columns: list[str], label: str | None, size: int
    ) -> Iterator[Any]:
        if self._parquet is not None:
            yield from self._parquet.iter_batches(size, columns=columns, use_threads=False)
            return
        types = _types(schema, numbers=True)
        if label and label not in types:
            types[label] = arrow().string()
        for block in self._stream(types, columns, schema):
            for start in range(0, len(block), size):
                yield block.slice(start, size)

    def _stream(
        self,
        types: dict[str, Any],
        columns: list[str] | None = None,
        schema: Schema | None = None,
    ) -> Any:
        csv = arrow("csv")
        return csv.open_csv(
            self.file,
            read_options=csv.ReadOptions(use_threads=False),
            convert_options=_conversion(types, columns, schema),
        )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (OSError, arrow().ArrowException) as error:
            if cell := UNREADABLE.search(str(error)):
                raise DtypeError(self._odd_cell(cell)) from error
            what = str(getattr(error, "strerror", None) or error).splitlines()[0]
            raise DatasetError(f"{str(self.file)!r} can't be read: {what.rstrip('.')}.") from error

    def _odd_cell(self, cell: re.Match[str]) -> str:
        where = f", line {cell['line']}" if cell["line"] else ""
        column = self._schema.names[int(cell["column"])]
        kind = KINDS.get(cell["kind"], cell["kind"])
        return (
            f"{str(self.file)!r}{where}: {column!r} is {cell['cell']!r}, but by the schema it's "
            f"{kind}. Correct the value, or the schema."
        )

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Put this file's name before whatever is wrong with its rows."""
        try:
            yield
        except FrameError as error:
            raise type(error)(f"{str(self.file)!r}: {error}") from error


def _conversion(types: dict[str, Any], columns: list[str] | None, schema: Schema | None) -> Any:
    options = arrow("csv").ConvertOptions
    features = () if schema is None else schema.features
    levels = {level for f in features if not isinstance(f, Numeric) for level in f.levels or ()}
    return options(
        column_types=types,
        include_columns=columns,
        null_values=[text for text in options().null_values if text not in levels],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )


def _types(schema: Schema | None, *, numbers: bool) -> dict[str, Any]:
    """The types of a CSV's columns, where the schema says: a level is read as it's written."""
    pyarrow = arrow()
    types = {}
    for feature in () if schema is None else schema.features:
        if isinstance(feature, Numeric):
            if numbers:  # what a batch at a time would guess differently each time
                types[feature.name] = pyarrow.float64()
            continue
        kinds = {type(level) for level in feature.levels or ()}
        if len(kinds) == 1 and feature.columns == (feature.name,):
            types[feature.name] = pyarrow.from_numpy_dtype(kinds.pop())
    return types


def _plain(table: Any) -> Any:
    """Without dictionaries, whose levels may differ from batch to batch."""
    for i, field in enumerate(table.schema):
        if hasattr(field.type, "value_type"):
            table = table.set_column(i, field.name, table[i].cast(field.type.value_type))
    return table


def names_of(column: Any) -> pd.Index[Any]:
    """What people are called: by numbers and dates as they are, and all else as it's written."""
    types, kind = arrow().types, column.type
    is_number = types.is_integer(kind) or types.is_floating(kind)
    is_date = types.is_timestamp(kind) and kind.tz is None
    if (is_number or is_date) and not column.null_count:
        plain: pd.Index[Any] = pd.Index(column.to_pandas())
        return plain
    names = column.to_pylist()
    return pd.Index([None if name is None else str(name) for name in names], dtype=object)


def arrow(part: str = "") -> Any:
    try:
        return importlib.import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError as error:
        raise ExtraError("pyarrow", "parquet", "Reading and writing tables") from error
