"""Tables from Parquet and CSV files, whole or in batches; and files written whole or not at all."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from stepladder.errors import ColumnError, DatasetError, ExtraError, ResultError, nearest
from stepladder.feature import Numeric
from stepladder.files import replacing
from stepladder.schema import Schema

TABLES = (".parquet", ".csv", ".csv.gz")
"""What a table is read from."""

# ---- tables in --------------------------------------------------------------------------------


class Table:
    """A table in a Parquet or CSV file; opened for its columns, read when asked."""

    def __init__(self, file: Path) -> None:
        if not file.name.lower().endswith(TABLES):
            raise DatasetError(
                f"Can't tell what kind of table {str(file)!r} is: expected a name that ends in "
                f"{', '.join(TABLES)}."
            )
        if not file.is_file():
            raise DatasetError(f"There is no table at {str(file)!r}.")
        self.file = file
        self.rows: int | None = None
        """how many there are; None where only reading all of them would tell"""
        self.is_parquet = file.suffix.lower() == ".parquet"
        with self._reading():
            if self.is_parquet:
                opened = arrow("parquet").ParquetFile(self.file)
                self._schema, self.rows = opened.schema_arrow, int(opened.metadata.num_rows)
            else:
                self._schema = self._stream({}).schema
        metadata = self._schema.pandas_metadata or {}
        stored = [name for name in metadata.get("index_columns", []) if isinstance(name, str)]
        self.index = stored[0] if len(stored) == 1 else None
        """the column that is the index of the pandas frame it was written from"""
        self.columns = tuple(name for name in self._schema.names if name not in stored)
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

    def frame(self, schema: Schema | None = None, also: Iterable[str] = ()) -> Any:
        """All of it as a pandas frame: the schema's columns and some more, or every column."""
        wanted = None if schema is None else [c for c in self.columns if c in schema.columns]
        wanted = None if wanted is None else [*wanted, *also]
        with self._reading():
            return self.read(wanted, schema).to_pandas().reset_index(drop=True)

    def read(self, columns: list[str] | None, schema: Schema | None = None) -> Any:
        """Some columns, or all, as a PyArrow table; of a CSV, levels as the schema has them."""
        with self._reading():
            if self.is_parquet:
                return arrow("parquet").ParquetFile(self.file).read(columns=columns)
            options = _conversion(_types(schema, numbers=False), columns)
            return arrow("csv").read_csv(self.file, convert_options=options)

    def batches(
        self, schema: Schema, label: str | None, size: int, most: int | None
    ) -> Iterator[tuple[Any, Any]]:
        """(people, what they're called), `size` at a time, as PyArrow tables and arrays.

        Without a column `label` they're called by their place, from 0.
        """
        pyarrow = arrow()
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
            people = _plain(pyarrow.Table.from_batches([batch]).replace_schema_metadata(None))
            names = (
                people[label].combine_chunks()
                if label
                else pyarrow.array(np.arange(done, done + len(people)))
            )
            yield people.select(wanted), names
            done += len(people)

    def _batches(
        self, schema: Schema, columns: list[str], label: str | None, size: int
    ) -> Iterator[Any]:
        if self.is_parquet:
            opened = arrow("parquet").ParquetFile(self.file)
            yield from opened.iter_batches(size, columns=columns, use_threads=False)
            return
        types = _types(schema, numbers=True)
        if label and label not in types:
            types[label] = arrow().string()
        for block in self._stream(types, columns):
            for start in range(0, len(block), size):
                yield block.slice(start, size)

    def _stream(self, types: dict[str, Any], columns: list[str] | None = None) -> Any:
        csv = arrow("csv")
        return csv.open_csv(
            self.file,
            read_options=csv.ReadOptions(use_threads=False),
            convert_options=_conversion(types, columns),
        )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (OSError, arrow().ArrowException) as error:
            said = str(getattr(error, "strerror", None) or error).splitlines()[0]
            raise DatasetError(f"{str(self.file)!r} can't be read: {said.rstrip('.')}.") from error


def _conversion(types: dict[str, Any], columns: list[str] | None) -> Any:
    return arrow("csv").ConvertOptions(
        column_types=types,
        include_columns=columns,
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )


def _types(schema: Schema | None, *, numbers: bool) -> dict[str, Any]:
    """The types of a CSV's columns, where the schema tells: a level is read as it's written."""
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


def arrow(part: str = "") -> Any:
    try:
        return importlib.import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError as error:
        raise ExtraError("pyarrow", "parquet", "Reading and writing tables") from error


# ---- files out ---------------------------------------------------------------------------------


@contextmanager
def writing(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ResultError(
            f"Can't write to {str(file)!r}: {error.strerror or error}. Choose a folder that is "
            "there, can be written to and has room."
        ) from error


def write_text(text: str, file: Path) -> None:
    """Write a text file, whole or not at all."""
    with replacing(file) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def check_place(file: Path) -> None:
    """Refuse a file that couldn't be written, before the work is done that it's for."""
    probe = file.with_name(f".{file.name}.{uuid4().hex}")
    with writing(file):
        probe.touch()
        probe.unlink()
