"""Frames of one kind, or arrays, from values, with all that no value changes prepared once.

A model is asked with frames of a few rows, over and over: what one costs beside the rows in it is
what a single person waits for. Columns of plain NumPy dtypes are cast together, and levels are
taken from a column that holds each of them once. What has a gap, or doesn't fit its dtype, is made
column by column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.table.feature import Categorical, Feature, Numeric
from stepladder.table.frames import EXACT, Frame, Template
from stepladder.table.schema import Schema

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Columns of numbers, or of a one-hot category's flags, that have one dtype."""

    dtype: np.dtype[Any] | None
    """NumPy's, or None for one that NumPy doesn't know"""
    names: list[str]
    features: list[int]
    codes: Floats
    """(columns,) which level a flag stands for; NaN for a number"""

    def of(self, values: Floats) -> Floats:
        """(n, columns) what the columns are to hold, with NaN for gaps."""
        found = values[:, self.features]
        if np.isnan(self.codes).all():
            return found
        return np.where(np.isnan(found) | np.isnan(self.codes), found, found == self.codes)


class Builder:
    """Makes frames of a template from values (n, features) of a schema."""

    def __init__(
        self, schema: Schema, template: Template, columns: Sequence[str] | None = None
    ) -> None:
        """`columns` says in which order frames have them; by default it's the template's."""
        self._template = template
        self._columns = list(template.columns if columns is None else columns)
        self._levels = {
            f: (feature.name, levels, template.listing(feature.name, levels))
            for f, feature in enumerate(schema.features)
            if (levels := _levels(feature)) is not None
        }
        self._numbers = _numbers(schema, template, self._columns)
        self._alike = (
            len(self._numbers) == 1
            and self._numbers[0].dtype is not None
            and self._numbers[0].names == self._columns
            and template.library == "pandas"
        )
        self._index = pd.Index(self._columns)

    def __call__(self, values: Floats) -> Frame:
        template, built = self._template, dict[str, Any]()
        for some in self._numbers:
            wanted = some.of(values)
            held, fits = self._held(wanted, some.dtype)
            if self._alike and fits.all():
                return pd.DataFrame(held, columns=self._index, copy=False)
            for j, name in enumerate(some.names):
                built[name] = held[:, j] if fits[j] else _column(template, name, wanted[:, j])
        for f, (name, levels, listed) in self._levels.items():
            codes = values[:, f]
            built[name] = (
                template.pick(name, levels, codes)
                if listed is None or np.isnan(codes).any()
                else template.taken(listed, codes.astype(np.intp))
            )
        return template.build({name: built[name] for name in self._columns})

    def _held(self, wanted: Floats, dtype: np.dtype[Any] | None) -> tuple[NDArray[Any], Mask]:
        """Columns (n, c) in a dtype, and which of them (c,) it holds without changing anything."""
        if dtype is None:
            return wanted, np.zeros(wanted.shape[1], dtype=bool)
        if dtype == np.float64 and self._template.library == "pandas":  # a gap is NaN there, too
            return wanted, np.ones(wanted.shape[1], dtype=bool)
        with np.errstate(invalid="ignore", over="ignore"):
            held = wanted.astype(dtype)
        same = held == wanted  # a gap isn't even the same as itself
        if dtype.kind in "iu":
            same &= np.abs(wanted) <= EXACT
        return held, np.asarray(same.all(axis=0))


class Cells:
    """Makes arrays (n, columns) from values (n, features), for models that were trained on such.

    Only of a schema whose levels are numbers: see `are_numbers`.
    """

    def __init__(self, schema: Schema, columns: Sequence[str]) -> None:
        self._flags = _flags(schema, columns)
        where = dict(zip(self._flags.names, range(len(self._flags.names)), strict=True))
        self._levels = [
            (where[feature.name], np.array(levels, dtype=np.float64))
            for feature in schema.features
            if (levels := _levels(feature)) is not None
        ]

    @staticmethod
    def are_numbers(schema: Schema) -> bool:
        """Whether every column of a schema's frames is one of numbers."""
        return all(
            isinstance(level, int | float)
            for feature in schema.features
            for level in _levels(feature) or ()
        )

    def __call__(self, values: Floats) -> Floats:
        cells = self._flags.of(values)
        for column, levels in self._levels:
            codes = cells[:, column]
            known = ~np.isnan(codes)
            cells[known, column] = levels[codes[known].astype(np.intp)]
        return cells


def _levels(feature: Feature) -> Sequence[Any] | None:
    """What a column holds that is levels; None where it's numbers or flags."""
    if isinstance(feature, Numeric) or (isinstance(feature, Categorical) and feature.onehot):
        return None
    return feature.levels


def _flags(schema: Schema, columns: Sequence[str], dtype: np.dtype[Any] | None = None) -> _Numbers:
    """Some columns of a schema, each as a number, a flag or the position of a level."""
    where: dict[str, tuple[int, float]] = {}
    for f, feature in enumerate(schema.features):
        if isinstance(feature, Categorical) and feature.onehot:
            where |= {name: (f, float(code)) for code, name in enumerate(feature.onehot)}
        else:
            where[feature.name] = f, np.nan
    features, codes = zip(*(where[name] for name in columns), strict=True)
    return _Numbers(dtype, list(columns), list(features), np.array(codes))


def _numbers(schema: Schema, template: Template, columns: Sequence[str]) -> list[_Numbers]:
    """The columns of numbers and flags by their dtypes, in the order of `columns`."""
    levelled = {feature.name for feature in schema.features if _levels(feature) is not None}
    kinds: dict[np.dtype[Any] | None, list[str]] = {}
    for name in columns:
        if name not in levelled:
            kinds.setdefault(template.numpy_dtype(name), []).append(name)
    return [_flags(schema, names, dtype) for dtype, names in kinds.items()]


def _column(template: Template, name: str, column: Floats) -> Any:
    """A column in the template's dtype, unless that would change a value."""
    return template.column(name, column, keep_dtype=template.holds(name, column))
