"""The one way to check a table: by its content, so that every file format is checked alike.

The checksum is the SHA-256 of the columns in the published order, each as
- its name and kind in UTF-8, each followed by a zero byte, and the number of rows;
- whole numbers: the numbers;
- numbers: billionths, rounded to whole numbers, -2**63 where missing. (No table has more than nine
  decimals or a number above nine million; two ways of reading a decimal may differ in the last
  bit, but not in billionths.)
- text: the sorted distinct texts in UTF-8, each followed by a zero byte, then for each row the
  position of its text among them, -1 where missing.
All these numbers are 64-bit, little-endian. The order of the rows counts: splits depend
on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.datasets.dataset import Kind, PublishedTable
from stepladder.errors import DatasetError, listing, nearest

_BILLION = 1e9
_MISSING = np.iinfo(np.int64).min
_EXACT = 2**53  # whole numbers below it are exact in a float


def verified(frame: pd.DataFrame, table: PublishedTable, where: str, way_out: str) -> pd.DataFrame:
    """The published table: its columns in order, in its dtypes, if that's what `frame` holds.

    `where` and `way_out` are for the error: what was read, and what to do if it's something else.
    """
    wrong = _wrong_columns(frame, table.columns)
    if wrong:
        raise DatasetError(f"{where} isn't the table {table.name!r}: {wrong} {way_out}")
    columns: dict[str, NDArray[np.generic] | pd.Series] = {}
    for name, kind in table.columns.items():
        try:
            columns[name] = _texts(frame[name]) if kind == "text" else _numbers(frame[name], kind)
        except (ValueError, TypeError) as error:
            raise DatasetError(
                f"{where} isn't the table {table.name!r}: the column {name!r} should hold "
                f"{_CALLED[kind]}, but {error}. {way_out}"
            ) from error
    made = pd.DataFrame(columns)
    got = checksum(made, table.columns)
    if got != table.checksum:
        raise DatasetError(
            f"{where} isn't the table {table.name!r}, or its rows are in another order: "
            f"got {len(made):,} rows of checksum {got}, expected {table.checksum}. {way_out}"
        )
    return made


def checksum(frame: pd.DataFrame, columns: Mapping[str, Kind]) -> str:
    """The content's SHA-256, as 64 hexadecimal digits. Assumes the dtypes of `verified`."""
    digest = hashlib.sha256()
    for name, kind in columns.items():
        digest.update(f"{name}\0{kind}\0".encode())
        digest.update(np.int64(len(frame)).astype("<i8").tobytes())
        if kind == "whole":
            numbers = frame[name].to_numpy()
        elif kind == "number":
            numbers = _billionths(frame[name].to_numpy())
        else:
            codes, seen = pd.factorize(frame[name])
            levels = sorted(map(str, seen))
            digest.update("".join(f"{level}\0" for level in levels).encode())
            code_of = {level: i for i, level in enumerate(levels)}
            # The last one is where -1, the code of a missing text, looks.
            numbers = np.array([*(code_of[str(level)] for level in seen), -1])[codes]
        digest.update(numbers.astype("<i8").tobytes())
    return digest.hexdigest()


_CALLED = {"whole": "whole numbers", "number": "numbers", "text": "text"}


def _wrong_columns(frame: pd.DataFrame, expected: Mapping[str, Kind]) -> str:
    """What is wrong with the columns in a sentence; nothing if they are those expected."""
    got = list(map(str, frame.columns))
    missing = [name for name in expected if name not in got]
    extra = [name for name in got if name not in expected]
    if missing:
        return (
            f"it has no column {listing(missing)}.{nearest(missing[0], extra)} "
            f"Expected {listing(expected, most=len(expected))}."
        )
    if extra:
        return f"it has a column too many: {listing(extra)}."
    return "a column is there twice." if len(got) > len(expected) else ""


def _numbers(column: pd.Series, kind: Kind) -> NDArray[np.generic]:
    if isinstance(column.dtype, pd.CategoricalDtype):  # as a Parquet file may hold codes
        column = column.astype(column.cat.categories.dtype)
    numbers = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    if kind == "whole":
        held = (np.abs(numbers) < _EXACT) & (numbers == np.rint(numbers))
    else:
        held = (np.abs(numbers) < _EXACT / _BILLION) | np.isnan(numbers)
    if not held.all():
        raise ValueError(f"row {held.argmin()} holds {numbers[held.argmin()]}")
    if kind == "whole":
        return numbers.astype(np.int64)
    return np.rint(numbers * _BILLION) / _BILLION  # the nearest to the decimal, however it was read


def _billionths(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    missing = np.isnan(numbers)
    scaled = np.rint(np.where(missing, 0.0, numbers) * _BILLION).astype(np.int64)
    return np.where(missing, _MISSING, scaled)


def _texts(column: pd.Series) -> pd.Series:
    """As pandas reads text from a file, whatever kind of column it was."""
    codes, levels = pd.factorize(column)
    texts = np.array([*map(str, levels), np.nan], dtype=object)
    return pd.Series(texts[codes].tolist())
