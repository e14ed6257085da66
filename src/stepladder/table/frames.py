"""The border: pandas, polars and PyArrow frames in, frames of the same kind out (narwhals).

Inside the house rows are arrays; only this file knows what a caller's frame is made of.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property, lru_cache
from numbers import Integral, Real
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.errors import ColumnError, DtypeError, FrameError

Frame = Any
"""A pandas, polars or PyArrow frame, as the caller has it."""

EXACT = 2**53
"""Up to here a float holds every whole number."""


def read(frame: Frame) -> nw.DataFrame[Any]:
    """A narwhals view of `frame`, whose column names are text, each only once."""
    if isinstance(frame, pd.DataFrame):
        odd = [c for c in frame.columns if not isinstance(c, str)]
        if odd:
            raise ColumnError(
                f"Column names must be text; got {odd[0]!r} ({type(odd[0]).__name__}). "
                "Rename with frame.rename(columns=str)."
            )
        twice = frame.columns[frame.columns.duplicated()]
        if len(twice):
            raise ColumnError(
                f"Column {twice[0]!r} appears more than once. Drop or rename all but one."
            )
    try:
        return nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise ColumnError(f"A column appears more than once: {error}") from error
    except TypeError as error:
        raise FrameError(
            f"Expected a pandas, polars or PyArrow frame, got {type(frame).__name__}. "
            "A lazy frame needs .collect() first; one row can be a frame of length one."
        ) from error


def labels(frame: Frame) -> NDArray[Any]:
    """What the caller calls each row: the pandas index, else 0, 1, 2, …"""
    if isinstance(frame, pd.DataFrame):
        if isinstance(frame.index, pd.MultiIndex):
            raise FrameError(
                "A frame of people needs one label per row, but its index has "
                f"{frame.index.nlevels} levels. Use frame.reset_index(drop=True), or join "
                "the levels into one."
            )
        return frame.index.to_numpy()
    return np.arange(len(read(frame)))


def plain_labels(found: NDArray[Any]) -> list[Any]:
    """Labels as plain Python values; NumPy's own `tolist` would turn dates into numbers."""
    plain: list[Any] = pd.Index(found).tolist()
    return plain


def key(label: Hashable) -> Hashable:
    """What a label is matched by: two are the same if their keys are equal.

    Text isn't a number even if it reads like one, nor is True, though it equals 1.
    """
    plain = label.item() if isinstance(label, np.generic) else label
    is_missing = plain is pd.NA or plain != plain  # noqa: PLR0124  # NaN
    return isinstance(plain, bool), is_missing, None if is_missing else plain


def numbers(column: nw.Series[Any], name: str) -> NDArray[np.float64]:
    """A numeric column as floats, NaN where a value is missing."""
    dtype = column.dtype
    if column.null_count() == len(column):  # whatever the dtype: there's nothing in it to be wrong
        return np.full(len(column), np.nan)
    if dtype == nw.Object:
        return _numbers_from_objects(column, name)
    if not dtype.is_numeric():
        example = next((v for v in column.to_list() if v is not None), None)
        hint = (
            "Declare the feature as categorical or ordinal"
            if dtype in (nw.String, nw.Boolean, nw.Categorical, nw.Enum)
            else "Convert the column to numbers"
        )
        _refuse_dates(example, name)
        raise DtypeError(
            f"Column {name!r} is declared numeric but holds {dtype} (such as {example!r}). "
            f"{hint}, or pass numbers."
        )
    found = np.array(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if dtype.is_integer():
        for i in np.flatnonzero(np.abs(found) > EXACT):
            _refuse_inexact(column[int(i)], name)
    return found


def plain_numbers(table: nw.DataFrame[Any], names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Those of some columns that `numbers` needn't look at one by one, as floats.

    They're pandas' with NumPy's dtypes, and hold nothing that a float would change or that is
    infinite; if one does, none of them is here.
    """
    native: Any = table.to_native()
    if not isinstance(native, pd.DataFrame):
        return {}
    kinds = dict(zip(native.columns, native.dtypes, strict=True))
    plain = [n for n in names if isinstance(kinds[n], np.dtype) and kinds[n].kind in "iuf"]
    cells = native[plain].to_numpy(np.float64)
    whole = np.array([kinds[name].kind != "f" for name in plain], dtype=bool)
    if np.isinf(cells).any() or (np.abs(cells[:, whole]) > EXACT).any():
        return {}
    return dict(zip(plain, cells.T, strict=True))


def _refuse_inexact(value: Any, name: str) -> None:
    """A number that a float would change couldn't be shown to the person as it is."""
    if int(float(value)) != value:
        raise DtypeError(
            f"Column {name!r} holds {value}, a whole number too long to be kept exactly (beyond "
            "2**53). If it's a name for something, declare it categorical or drop it; else use "
            "a larger unit."
        )


def _numbers_from_objects(column: nw.Series[Any], name: str) -> NDArray[np.float64]:
    out = np.empty(len(column))
    for i, value in enumerate(column.to_list()):
        if value is None or value is pd.NA:
            out[i] = np.nan
        elif is_number(value):
            if isinstance(value, Integral):
                _refuse_inexact(int(value), name)
            out[i] = float(value)
        else:
            _refuse_dates(value, name)
            raise DtypeError(
                f"Column {name!r} is declared numeric but holds {value!r} "
                f"({type(value).__name__}). Pass numbers, or declare it categorical or ordinal."
            )
    return out


def _refuse_dates(value: Any, name: str) -> None:
    if isinstance(value, date):
        raise DtypeError(
            f"Column {name!r} is declared numeric but holds dates (such as {value}). Turn them "
            "into numbers, such as days since the first of them, or leave the column out."
        )


def is_number(value: Any) -> bool:
    """Whether a single value is a number, NumPy's and Decimal included; a boolean isn't."""
    return isinstance(value, Real | Decimal) and not isinstance(value, bool)


def values(column: nw.Series[Any]) -> list[Any]:
    """A column as plain Python values, None where a value is missing."""
    missing = column.is_null().to_list()
    return [
        None if gone or (isinstance(v, float) and math.isnan(v)) else v
        for v, gone in zip(column.to_list(), missing, strict=True)
    ]


def cells(frame: Frame, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Some columns of a frame as arrays, as their library makes them."""
    if isinstance(frame, pd.DataFrame):
        return {name: frame[name].to_numpy() for name in names}
    table = read(frame)
    return {name: table[name].to_numpy() for name in names}


def order(table: nw.DataFrame[Any], name: str) -> list[Any] | None:
    """The levels of a column that says they have an order, the lowest first; None if it doesn't.

    Ordered pandas categories and ordered Arrow dictionaries say so. polars' Enum doesn't, though it
    becomes such a dictionary in Arrow, where polars leaves a note of what it was.
    """
    native: Any = table[name].to_native()
    dtype = getattr(native, "dtype", None)
    if isinstance(dtype, pd.CategoricalDtype):
        return dtype.categories.to_list() if dtype.ordered else None
    if isinstance(dtype, pd.ArrowDtype):
        native = native.array.__arrow_array__()
    if not getattr(getattr(native, "type", None), "ordered", False):
        return None
    if table.implementation.is_pyarrow():
        notes = table.to_native().schema.field(name).metadata or {}
        if any(note.startswith(b"_PL_ENUM_VALUES") for note in notes):
            return None
    levels: list[Any] = native.combine_chunks().dictionary.to_pylist()
    return levels


@dataclass(frozen=True)
class Template:
    """What a frame is made of, without its rows: its library, columns and dtypes.

    Nothing else of it is kept: no labels, no names of its index or its columns, no `attrs`, no
    metadata, and no view of its rows.
    """

    empty: Any

    @classmethod
    def of(cls, frame: Frame) -> Template:
        table = read(frame)
        native: Any = table.to_native()
        if table.implementation.is_pandas():
            return cls.of_pandas(dict(native.dtypes))
        if table.implementation.is_pyarrow():
            library = importlib.import_module("pyarrow")
            schema = native.schema
            bare = library.schema([(name, schema.field(name).type) for name in schema.names])
            return cls(bare.empty_table())
        return cls(importlib.import_module("polars").DataFrame(schema=native.schema))

    @classmethod
    def of_pandas(cls, dtypes: Mapping[str, Any]) -> Template:
        """That of a pandas frame with these dtypes."""
        plain = all(isinstance(dtype, np.dtype | pd.StringDtype) for dtype in dtypes.values())
        # Category dtypes may be equal and yet list their levels in another order.
        return cls((_kept if plain else _empty)(tuple(dtypes.items())))

    def declaring(
        self, levels: Mapping[str, Sequence[Any]], *, shared_only: bool = False
    ) -> Template:
        """The same with category dtypes that list these levels of their column, and no others.

        A dtype's own list comes from rows. That of polars' Categorical, and its order, comes from
        all frames of a process, which share it: it becomes an Enum, and with `shared_only` nothing
        else is changed. Arrow's dictionaries are made anew with every frame.
        """
        if self.library == "pandas" and not shared_only:
            return self.of_pandas(
                {
                    name: _listing(dtype, levels.get(name, ()))
                    if isinstance(dtype, pd.CategoricalDtype)
                    else dtype
                    for name, dtype in self.empty.dtypes.items()
                }
            )
        if self.library != "polars":
            return self
        polars = importlib.import_module("polars")
        schema = dict(self.empty.schema)
        for name, dtype in self.dtypes.items():
            if dtype == nw.Categorical or (dtype == nw.Enum and not shared_only):
                known = [level for level in levels.get(name, ()) if isinstance(level, str)]
                schema[name] = polars.Enum(known)
        return Template(polars.DataFrame(schema=schema))

    @property
    def listed(self) -> Mapping[str, list[Any]]:
        """The levels that each dtype with a list of its own names, in their order."""
        if self.library == "pyarrow":
            return {}
        known = {
            name: getattr(self.empty[name].dtype, "categories", None)
            for name, dtype in self.dtypes.items()
            if self.library == "pandas" or isinstance(dtype, nw.Enum)
        }
        return {name: list(levels) for name, levels in known.items() if levels is not None}

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.dtypes)

    @cached_property
    def library(self) -> Literal["pandas", "polars", "pyarrow"]:
        name = read(self.empty).implementation
        if name.is_pandas():
            return "pandas"
        return "polars" if name.is_polars() else "pyarrow"

    @cached_property
    def dtypes(self) -> Mapping[str, nw.dtypes.DType]:
        return dict(read(self.empty).schema)

    def holds(self, name: str, content: NDArray[np.float64]) -> bool:
        """Whether column `name` can hold these numbers (NaN: missing) without changing one."""
        dtype, known = self.dtypes[name], content[~np.isnan(content)]
        if dtype in (nw.Float64, nw.Object) or not known.size:
            return True
        if isinstance(self.empty, pd.DataFrame) and self.empty[name].dtype == np.dtype(object):
            return True
        if dtype == nw.Boolean:
            return bool(np.isin(known, (0, 1)).all())
        if dtype.is_integer():
            limits = np.iinfo(str(dtype).lower())
            whole = (known == np.rint(known)) & (np.abs(known) <= EXACT)
            return bool((whole & (known >= limits.min) & (known <= limits.max)).all())
        if dtype.is_float():
            with np.errstate(over="ignore"):
                return bool((known == known.astype(str(dtype).lower())).all())
        scale, precision = getattr(dtype, "scale", None), getattr(dtype, "precision", None)
        if scale is None or precision is None:
            return False
        small = np.abs(known) < 10.0 ** (precision - scale)
        return bool((small & (known == np.round(known, scale))).all())

    def numpy_dtype(self, name: str) -> np.dtype[Any] | None:
        """The dtype of NumPy arrays that become column `name` as it is; None if there's none."""
        if isinstance(self.empty, pd.DataFrame):
            dtype = self.empty[name].dtype
            return dtype if isinstance(dtype, np.dtype) and dtype.kind in "biuf" else None
        known = self.dtypes[name]
        if known == nw.Boolean:
            return np.dtype(bool)
        is_plain = (known.is_integer() or known.is_float()) and known != nw.Int128
        return np.dtype(str(known).lower()) if is_plain else None

    def listing(self, name: str, levels: Sequence[Any]) -> Any:
        """A native column that holds each level once, for `taken`; None if its dtype can't."""
        try:
            column = self.pick(name, levels, np.arange(len(levels), dtype=np.float64))
        except Exception:  # noqa: BLE001  # each library has errors of its own
            return None
        if isinstance(column, pd.Series):
            if column.dtype != self.empty[name].dtype:
                return None
            return column if column.dtype == object else column.array
        kind, ours = (
            (column.type, self.empty.schema.field(name).type)
            if self.library == "pyarrow"
            else (column.dtype, self.empty.schema[name])
        )
        return column if kind == ours else None

    def taken(self, listed: Any, codes: NDArray[np.intp]) -> Any:
        """The native column of some levels, by their positions in what `listing` made."""
        if isinstance(listed, pd.Series):  # pandas would guess the dtype of a bare array of objects
            return pd.Series(listed.array.take(codes), dtype=listed.dtype, copy=False)
        if self.library == "polars":
            return listed.gather(codes)
        return listed.take(codes)

    def is_single_precision(self, name: str) -> bool:
        return self.dtypes[name] == nw.Float32

    def is_whole(self, name: str) -> bool:
        """Whether column `name` holds whole numbers only."""
        return self.dtypes[name].is_integer()

    def column(self, name: str, content: NDArray[Any], *, keep_dtype: bool = True) -> Any:
        """A native column of numbers (NaN: missing), in the dtype of column `name` if kept."""
        missing = np.isnan(content)
        if keep_dtype and self.dtypes[name].is_integer():
            content = np.where(missing, 0, content).astype(np.int64)
        elif keep_dtype and self.dtypes[name] == nw.Boolean:
            content = np.where(missing, 0, content).astype(bool)
        cells: Any = content
        if missing.any():
            cells = [None if gone else v for v, gone in zip(content, missing, strict=True)]
        if isinstance(self.empty, pd.DataFrame):
            if not keep_dtype:
                return content
            dtype = self.empty[name].dtype
            return pd.array(cells, dtype=_with_gaps(dtype) if missing.any() else dtype)
        series = nw.new_series(name, cells, backend=self.library)
        return _native(self.empty, name, series) if keep_dtype else series.to_native()

    def texts(self, cells: Sequence[str | None]) -> Any:
        """A native column of texts, in which what is missing reads as None in every library."""
        if self.library == "pandas":
            return pd.Series(cells, dtype=object)
        return nw.new_series("", cells, nw.String, backend=self.library).to_native()

    def pick(self, name: str, levels: Sequence[Any], codes: NDArray[np.float64]) -> Any:
        """A native column that holds `levels[code]` for each code (NaN: missing)."""
        missing = np.isnan(codes)
        indices = np.where(missing, len(levels), codes).astype(np.intp)
        used = np.bincount(indices, minlength=len(levels) + 1) > 0
        # only what is used: the dtype may know no more (a column of gaps, a short Enum)
        cells = [level for level, is_used in zip([*levels, None], used, strict=True) if is_used]
        indices = (used.cumsum() - 1)[indices]
        if isinstance(self.empty, pd.DataFrame):
            dtype: Any = self.empty[name].dtype
            if missing.any():
                dtype = _with_gaps(dtype)
            if isinstance(dtype, pd.CategoricalDtype):
                unknown = [v for v in cells if v is not None and v not in dtype.categories]
                if unknown:  # the schema may know levels that this frame's dtype doesn't
                    dtype = pd.CategoricalDtype([*dtype.categories, *unknown], dtype.ordered)
            # a series, since pandas would guess the dtype of a bare array of objects
            return pd.Series(pd.array(cells, dtype=dtype).take(indices), dtype=dtype, copy=False)
        column = _native(self.empty, name, nw.new_series(name, cells, backend=self.library))
        return nw.from_native(column, series_only=True)[indices.tolist()].to_native()

    def build(self, columns: Mapping[str, Any]) -> Frame:
        """A frame of this kind from native columns or arrays."""
        if isinstance(self.empty, pd.DataFrame):
            return pd.DataFrame(dict(columns))
        library = importlib.import_module(self.library)
        return (library.table if self.library == "pyarrow" else library.DataFrame)(dict(columns))


def _empty(dtypes: tuple[tuple[str, Any], ...]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in dtypes})


_kept = lru_cache(maxsize=64)(_empty)
"""The same, made only once for the same dtypes: people come one by one, in frames of one kind."""


def _with_gaps(dtype: Any) -> Any:
    """A pandas dtype that holds gaps too, which NumPy's whole numbers and truths don't know."""
    if isinstance(dtype, np.dtype) and dtype.kind in "iub":
        return np.dtype(object if dtype.kind == "b" else np.float64)
    return dtype


def _listing(dtype: pd.CategoricalDtype, levels: Sequence[Any]) -> pd.CategoricalDtype:
    """A category dtype that lists these levels, which stay what they were to pandas if they can."""
    try:
        kind = None if dtype.categories.dtype == object else dtype.categories.dtype
        categories = pd.Index(list(levels), dtype=kind)
    except (TypeError, ValueError):  # such as a text beside whole numbers
        categories = pd.Index(list(levels))
    return pd.CategoricalDtype(categories, dtype.ordered)


def _native(empty: Frame, name: str, series: nw.Series[Any]) -> Any:
    """A polars or PyArrow column in the very type that column `name` of `empty` has."""
    native = series.to_native()
    if hasattr(empty.schema, "field"):  # PyArrow
        kind = empty.schema.field(name).type
        if hasattr(kind, "value_type"):  # a dictionary, to which PyArrow casts nothing but text
            return importlib.import_module("pyarrow").chunked_array([native.to_pylist()], kind)
        return native.cast(kind)
    dtype = empty.schema[name]
    if isinstance(read(empty).schema[name], nw.Enum):
        known = dtype.categories.to_list()
        dtype = type(dtype)(list(dict.fromkeys([*known, *native.unique().drop_nulls().to_list()])))
    return native.cast(dtype)
