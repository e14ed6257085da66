"""Frames read into values: each column as its feature says, and what is wrong with single rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from stepladder.errors import (
    ColumnError,
    DtypeError,
    LevelError,
    MissingValueError,
    NotFiniteError,
    listing,
    nearest,
)
from stepladder.table import frames
from stepladder.table.derived import Derived
from stepladder.table.feature import Categorical, Feature, Numeric
from stepladder.table.schema import Schema, seen_levels

Floats = NDArray[np.float64]
Faults = dict[int, str]
"""What is wrong with single rows: by the row's position, in sentences."""


def own_columns(schema: Schema, table: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """The schema's columns of a table, in the table's order; others are set aside."""
    given = table.columns
    missing = [c for c in schema.columns if c not in given]
    extra = schema.set_aside(given)
    if missing:
        raise ColumnError(
            f"The frame has no column {missing[0]!r}, which the schema names."
            f"{nearest(missing[0], extra or given)} Missing: {listing(missing)}."
        )
    return table.drop(*extra) if extra else table


def with_levels(schema: Schema, table: nw.DataFrame[Any]) -> Schema:
    """The schema with the levels of every undeclared category filled in."""
    learned = {}
    for feature in schema.features:
        if isinstance(feature, Categorical) and feature.levels is None:
            levels = seen_levels(frames.values(table[feature.name]))
            if not levels:
                raise MissingValueError(
                    f"Column {feature.name!r} holds no value at all, so its levels can't be "
                    "learned. Give it its levels in the schema."
                )
            learned[feature.name] = levels
    return schema.with_levels(learned)


def add_fault(faults: Faults, row: int, sentence: str) -> None:
    """Say one more thing that is wrong with a row."""
    faults[row] = f"{faults[row]} {sentence}" if row in faults else sentence


def values_of(schema: Schema, table: nw.DataFrame[Any], faults: Faults | None = None) -> Floats:
    """The values of a table's rows; what is wrong with single ones is an error without `faults`."""
    values = np.empty((len(table), len(schema)))
    numbers = [f.name for f in schema.features if isinstance(f, Numeric) or f.levels is None]
    plain = frames.plain_numbers(table, numbers)
    for f, feature in enumerate(schema.features):
        if feature.name in plain:
            values[:, f] = plain[feature.name]
        elif isinstance(feature, Numeric) or feature.levels is None:
            values[:, f] = _finite(feature, table, faults)
        elif isinstance(feature, Categorical) and feature.onehot:
            values[:, f] = _codes_from_onehot(feature, table, faults)
        else:
            values[:, f] = _codes(feature, frames.values(table[feature.name]), faults)
    return values


def _finite(feature: Feature, table: nw.DataFrame[Any], faults: Faults | None) -> Floats:
    """A column of numbers, none of them infinite; NaN where one is missing."""
    cells = table[feature.name]
    derived_truth = isinstance(feature, Derived) and cells.dtype == nw.Boolean
    column = _flags(cells, feature.name) if derived_truth else frames.numbers(cells, feature.name)
    infinite = np.flatnonzero(np.isinf(column))
    if not infinite.size:
        return column
    if faults is None:
        raise NotFiniteError(
            f"Column {feature.name!r} is infinite in {infinite.size} of {len(table)} rows, "
            f"the first at position {infinite[0]}. Replace it with a number or a gap."
        )
    for row in infinite.tolist():
        way_out = "Replace it with a number or a gap."
        add_fault(faults, row, f"{feature.name!r} is infinite. {way_out}")
    column[infinite] = np.nan
    return column


def _codes(feature: Feature, column: list[Any], faults: Faults | None) -> Floats:
    """Each value's position in the feature's levels; NaN where it's missing."""
    levels = () if isinstance(feature, Numeric) else feature.levels or ()
    code = {level: float(i) for i, level in enumerate(levels)}
    code[None] = np.nan  # type: ignore[index]  # None is no level: it marks a missing value
    try:
        return np.array([code[value] for value in column], dtype=np.float64)
    except (KeyError, TypeError):
        unknown = [i for i, v in enumerate(column) if not _hashable(v) or v not in code]
    for odd in (column[i] for i in unknown):
        if isinstance(odd, list | dict | np.ndarray):
            raise DtypeError(
                f"Column {feature.name!r} holds {type(odd).__name__} values, not levels."
            )
    if faults is None:
        raise LevelError(
            _unknown_level(feature, levels, column[unknown[0]], f" ({len(unknown)} such values)")
        )
    sentences: dict[Any, str] = {}  # a million rows may share one wrong word
    for i in unknown:
        odd = column[i]
        if odd not in sentences:
            sentences[odd] = _unknown_level(feature, levels, odd)
        add_fault(faults, i, sentences[odd])
    wrong = set(unknown)
    return np.array([np.nan if i in wrong else code[v] for i, v in enumerate(column)])


def _unknown_level(feature: Feature, levels: Sequence[Any], odd: Any, how_often: str = "") -> str:
    return (
        f"{odd!r} isn't a level of {feature.name!r}{how_often}.{nearest(odd, levels)} Known "
        f"levels: {listing(levels, most=8)}. Correct the value, or add the level to the schema."
    )


def _hashable(value: Any) -> bool:
    return getattr(value, "__hash__", None) is not None


def _codes_from_onehot(
    feature: Categorical, table: nw.DataFrame[Any], faults: Faults | None
) -> Floats:
    """The level whose 0/1 column is set; exactly one must be."""
    columns = [_flags(table[name], name) for name in feature.columns]
    flags = np.stack(columns, axis=1)
    missing = np.isnan(flags).any(axis=1)
    wrong = ~missing & ((flags.sum(axis=1) != 1) | ~np.isin(flags, (0, 1)).all(axis=1))
    rule = (
        f"The columns of {feature.name!r} ({listing(feature.columns)}) must hold a single 1 "
        "and zeros elsewhere"
    )
    for row in np.flatnonzero(wrong).tolist():
        if faults is None:
            raise LevelError(f"{rule}; row {row} holds {flags[row].tolist()}.")
        add_fault(faults, row, f"{rule}; this row holds {flags[row].tolist()}.")
    return np.where(missing | wrong, np.nan, np.nan_to_num(flags).argmax(axis=1))


def _flags(column: nw.Series[Any], name: str) -> Floats:
    is_flag = column.dtype == nw.Boolean
    return frames.numbers(column.cast(nw.Int8) if is_flag else column, name)
