"""Who is in which group: columns of the caller, or features of the schema, alone and crossed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.errors import ColumnError, FrameError, ParameterError, listing, nearest
from stepladder.numbers import plain
from stepladder.result.recourse import Recourse
from stepladder.table import frames
from stepladder.table.feature import Numeric
from stepladder.table.frames import Frame
from stepladder.table.space import Floats

BANDS = 4
"""A number is cut into at most this many bands."""

FEW = 6
"""A number with at most this many different values is taken as it is."""

DIGITS = 3
"""A band's ends are rounded to this many, where that leaves the bands apart."""

MISSING = "missing"
"""The group of people whose group isn't known; in brackets where a group is called that."""


@dataclass(frozen=True, eq=False)
class GroupColumn:
    """The group of each person by one column: (n,) indices into a list of labels."""

    name: str
    codes: NDArray[np.intp]
    labels: list[str]

    @classmethod
    def of(cls, name: str, cells: list[Any], levels: Sequence[Any] = ()) -> GroupColumn:
        """From cells (None: missing); a number that has many values is cut into bands."""
        known = [cell for cell in cells if cell is not None]
        if known and not levels and all(frames.is_number(cell) for cell in known):
            return cls.of_numbers(
                name, np.array([np.nan if c is None else float(c) for c in cells])
            )
        labels = list(dict.fromkeys(map(str, levels))) or sorted({str(cell) for cell in known})
        code_of = {label: code for code, label in enumerate(labels)}
        codes = [len(labels) if cell is None else code_of[str(cell)] for cell in cells]
        missing = MISSING
        while missing in code_of:
            missing = f"({missing})"
        return cls(name, np.array(codes, dtype=np.intp), [*labels, missing])

    @classmethod
    def of_numbers(cls, name: str, numbers: Floats) -> GroupColumn:
        is_known = np.isfinite(numbers)
        values = np.unique(numbers[is_known])
        if len(values) <= FEW:
            ends, labels = values, [plain(value) for value in values]
        else:
            ends = _band_ends(numbers[is_known])
            last = f"over {plain(ends[-1])}"
            between = [f"over {plain(low)} to {plain(high)}" for low, high in pairwise(ends)]
            labels = [f"up to {plain(ends[0])}", *between, last]
        codes = np.where(is_known, np.searchsorted(ends, numbers), len(labels))
        return cls(name, codes.astype(np.intp), [*labels, MISSING])


def _band_ends(numbers: Floats) -> Floats:
    """Where a band ends and the next begins; rounded, unless that would leave a band empty."""
    shares = np.arange(1, BANDS) / BANDS
    ends = np.unique(np.quantile(numbers, shares, method="inverted_cdf"))
    below = numbers[numbers < numbers.max()]
    # most people may share the largest value: then all others are a band
    ends = ends[ends <= below.max()] if ends[0] <= below.max() else below.max(keepdims=True)
    rounded = np.unique([float(f"{end:.{DIGITS}g}") for end in ends])
    held = np.bincount(np.searchsorted(rounded, numbers), minlength=len(ends) + 1)
    return rounded if len(rounded) == len(ends) and held.all() else ends


def numbered(columns: Sequence[GroupColumn]) -> tuple[NDArray[np.intp], list[str]]:
    """The group (n,) of each person by these columns crossed, and what the groups are called."""
    shape = [len(column.labels) for column in columns]
    crossed = np.ravel_multi_index([column.codes for column in columns], shape)
    found, codes = np.unique(crossed, return_inverse=True)
    labels = [
        " & ".join(
            f"{column.name}={column.labels[code]}"
            for column, code in zip(columns, crossing, strict=True)
        )
        for crossing in zip(*np.unravel_index(found, shape), strict=True)
    ]
    return codes.astype(np.intp), labels


def crossings(
    by: Iterable[str | Sequence[str]] | None, names: Sequence[str]
) -> list[tuple[str, ...]]:
    """The columns to divide people by, each alone or crossed with others."""
    if by is None:
        return [(name,) for name in names] + list(combinations(names, 2))
    wanted = [by] if isinstance(by, str) else list(by)
    crossed = [(entry,) if isinstance(entry, str) else tuple(entry) for entry in wanted]
    if not crossed or not all(crossed):
        raise ParameterError(
            "audit(by) must name at least one column, such as 'sex' or ('sex', 'race'); "
            f"got {by!r}."
        )
    for name in (name for entry in crossed for name in entry):
        if name not in names:
            raise ColumnError(
                f"audit(by) names {name!r}, which isn't among the groups.{nearest(name, names)} "
                f"They are {listing(names)}."
            )
    return list(dict.fromkeys(tuple(dict.fromkeys(entry)) for entry in crossed))


# ---- reading the caller's groups ----------------------------------------------------------------


def columns_of(
    result: Recourse, groups: Frame | Mapping[str, Any] | Sequence[str] | str
) -> dict[str, GroupColumn]:
    """The group of each person by every column, or by every feature named."""
    if isinstance(groups, str | list | tuple):
        names = [groups] if isinstance(groups, str) else groups
        columns = {name: _feature(result, name) for name in names}
    else:
        if isinstance(groups, Mapping):
            cells = {name: _cells(result, name, column) for name, column in groups.items()}
            groups = pd.DataFrame(cells, index=pd.Index(result.people), dtype=object)
        table = frames.read(_matched(result, groups))
        columns = {name: GroupColumn.of(name, frames.values(table[name])) for name in table.columns}
    if not columns:
        raise ParameterError("audit(groups) has no columns; give it at least one, such as 'sex'.")
    return columns


def _feature(result: Recourse, name: str) -> GroupColumn:
    """A feature of the schema, as it is where people stand today."""
    space = result.space
    if name not in space.schema.names:
        raise ColumnError(
            f"audit(groups) names {name!r}, which is no feature of the schema."
            f"{nearest(name, space.schema.names)} Known: {listing(space.schema.names)}. For a "
            "column that the model doesn't see, pass a frame or {name: column}."
        )
    index = space.schema.names.index(name)
    feature = space.schema.features[index]
    values = np.array([routes[0].values[0, index] for routes in result.routes], dtype=np.float64)
    if isinstance(feature, Numeric):
        return GroupColumn.of_numbers(name, values)
    cells = [None if math.isnan(value) else space.shown(index, value) for value in values]
    return GroupColumn.of(name, cells, levels=feature.levels or ())


def _matched(result: Recourse, groups: Frame) -> Frame:
    """The frame's rows in the order of the result's people."""
    count = len(result.people)
    if not isinstance(groups, pd.DataFrame):
        rows = len(frames.read(groups))
        if rows != count:
            raise FrameError(
                f"audit(groups) has {rows} rows for {count} people. Give one row per person, in "
                "the order of result.status."
            )
        return groups
    index, people = pd.Index(frames.labels(groups)), pd.Index(result.people)
    if index.equals(people):
        return groups
    positions = index.get_indexer(people) if index.is_unique else np.full(count, -1)
    if (positions < 0).any():
        raise FrameError(
            f"audit(groups) has {len(index)} rows whose labels aren't those of the {count} people: "
            f"it has {listing(index[:3])}, the result {listing(people[:3])}. Give it the index of "
            "the people's frame, or pass {name: array} with a value for each, in their order."
        )
    return groups.iloc[positions]


def _cells(result: Recourse, name: str, column: Any) -> list[Any]:
    """One column of a mapping, in the order of the result's people."""
    if isinstance(column, pd.Series):
        return frames.values(frames.read(_matched(result, column.to_frame("cells")))["cells"])
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise FrameError(f"audit(groups): {name!r} must be a column of values; got {column!r}.")
    cells = list(getattr(column, "to_pylist", column.__iter__)())  # PyArrow's own, else any
    if len(cells) != len(result.people):
        raise FrameError(
            f"audit(groups): {name!r} has {len(cells)} values for {len(result.people)} people. "
            "Give one per person, in the order of result.status."
        )
    return cells
