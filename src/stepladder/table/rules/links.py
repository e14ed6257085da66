"""What follows from what a plan sets: the time it takes, what grows with it, what is derived.

A derived feature is worked out by its formula whenever a row is made. What a person's own value
differs from the formula by is carried along, so that nobody gains or loses by our arithmetic, and
a row in which nothing has changed is the person's own, to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import SchemaError
from stepladder.table.derived import Derived
from stepladder.table.feature import Change, Numeric
from stepladder.table.formula import Bound
from stepladder.table.schema import Schema

if TYPE_CHECKING:
    from stepladder.table.space import Space

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

Work = Callable[[Floats, Floats], Floats]
"""Rows (n, features) and today's rows in, one derived value per row out."""


def changed(rows: Floats, start: Floats) -> Mask:
    """Which values differ; a gap that is still one doesn't."""
    return np.asarray((rows != start) & ~(np.isnan(rows) & np.isnan(start)))


class Links:
    """The features of a space that no plan sets, and how they follow from those it does."""

    def __init__(self, space: Space) -> None:
        features = space.schema.features
        self._grid = space.grid
        self.chosen = np.array([feature.chosen for feature in features])
        """(features,) which a plan may set"""
        self.by_amount = np.array([f.chosen and isinstance(f, Numeric) for f in features])
        """(features,) which a plan sets to a number, so that a change has an amount"""
        self._months = np.array([getattr(f, "months", None) or 0.0 for f in features])
        self._each = np.array([getattr(f, "months_each", None) or 0.0 for f in features])
        self._slow = np.flatnonzero(self.chosen & (self._months + self._each > 0))
        self.ageing = np.flatnonzero([f.change is Change.TIME for f in features])
        """the features that grow with time"""
        self.derived = [space.schema.position(f.name) for f in space.schema.derived]
        """the derived features, each after those it's worked out from"""
        self._texts = [f.levels is not None for f in space.schema.derived]
        self._work = [_work(feature, space) for feature in space.schema.derived]
        self.linked = np.zeros(len(features), dtype=bool)
        """(features,) which follow from others: the derived ones and those that grow with time"""
        self.linked[[*self.derived, *self.ageing]] = True
        self.are_none = not self.linked.any()
        self._inputs = {
            f: _inputs(feature, space.schema)
            for f, feature in zip(self.derived, space.schema.derived, strict=True)
        }

    def changes(self, start: Floats, rows: Floats) -> Mask:
        """Which features change otherwise than by following from others: a mask of either's shape.

        These are what a plan from one row to another sets.
        """
        return np.asarray(~self.linked & changed(rows, start))

    def following(self, start: Floats, rows: Floats) -> Mask:
        """Which features come out otherwise without being set: a mask of either's shape."""
        return np.asarray(self.linked & changed(rows, start))

    def months(self, rows: Floats, start: Floats) -> Floats:
        """(n,) how long it takes to get to rows (n, features): as long as the slowest change.

        A feature's `months` count once, however large the change; `months_each` for every unit or
        level of it. Things go on side by side.
        """
        slow = self._slow
        rows, start = rows[:, slow], np.broadcast_to(start, rows.shape)[:, slow]
        far = np.nan_to_num(np.abs(rows - start))
        taken = np.where(changed(rows, start), self._months[slow] + self._each[slow] * far, 0.0)
        return np.asarray(taken.max(axis=1, initial=0.0))

    def worked_out(self, values: Floats) -> Floats:
        """(n, derived) what the formulas say of rows as they stand, today being now."""
        found = [work(values, values) for work in self._work]
        return np.stack(found, axis=1) if found else np.empty((len(values), 0))

    def roots(self, features: Iterable[int]) -> NDArray[np.intp]:
        """The features that a plan may set and that some are, or follow from by formula."""
        seen, ahead = set[int](), [int(f) for f in features]
        while ahead:
            f = ahead.pop()
            if f in seen:
                continue
            seen.add(f)
            ahead += self._inputs.get(f, ())
        return np.array(sorted(f for f in seen if self.chosen[f]), dtype=np.intp)

    def movers(self, f: int) -> NDArray[np.intp]:
        """The features that a plan may set and that move one, be it by the time they take."""
        inputs = {int(f)}
        while more := {i for one in inputs for i in self._inputs.get(one, ())} - inputs:
            inputs |= more
        slow = self._slow.tolist() if inputs & set(self.ageing.tolist()) else []
        return np.array(sorted({*self.roots([f]).tolist(), *slow}), dtype=np.intp)

    def filled(self, values: Floats) -> Floats:
        """Values (n, features) of nobody in particular, with derived features by their formulas."""
        values = values.copy() if self.derived else values
        for d, f in enumerate(self.derived):
            now = self._work[d](values, values)
            values[:, f] = now if self._texts[d] else self._grid.column(f, now)
        return values

    def complete(self, rows: Floats, start: Floats, today: Floats) -> Floats:
        """Rows (n, features) with all that no plan sets as it follows from the rest.

        today  (n, derived) what the formulas say of `start`
        """
        if self.are_none:
            return rows
        rows, start = rows.copy(), np.broadcast_to(start, rows.shape)
        if len(self.ageing):
            years = np.floor(self.months(rows, start) / 12)
            rows[:, self.ageing] = start[:, self.ageing] + years[:, None]
        for d, f in enumerate(self.derived):
            rows[:, f] = self.followed(d, rows, start, today[:, d])
        return rows

    def followed(self, d: int, rows: Floats, start: Floats, today: Floats) -> Floats:
        """(n,) what the d-th derived feature comes out as in rows (n, features).

        start  (n, features) whose own value is carried along
        today  (n,) what the formula says of `start`
        """
        f = self.derived[d]
        now, own = self._work[d](rows, start), start[:, f]
        before = np.broadcast_to(today, now.shape)
        same = (now == before) | (np.isnan(now) & np.isnan(before))
        if not self._texts[d]:
            carried = own - before
            now = self._grid.column(f, now + np.where(np.isfinite(carried), carried, 0.0))
        return np.where(same, own, np.where(np.isfinite(now), now, np.nan))


@dataclass(frozen=True, eq=False)
class _Number:
    """A number by a formula."""

    formula: Bound

    def __call__(self, rows: Floats, start: Floats) -> Floats:
        return self.formula(rows, start).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Level:
    """A level by a formula whose result is text, as its position among the feature's levels."""

    formula: Bound
    positions: Floats

    def __call__(self, rows: Floats, start: Floats) -> Floats:
        codes = self.formula(rows, start)
        known = ~np.isnan(codes)
        return np.where(known, self.positions[np.where(known, codes, 0).astype(np.intp)], np.nan)


@dataclass(frozen=True, eq=False)
class _Function:
    """Whatever a function makes of a frame of the rows."""

    feature: Derived
    space: Space

    def __call__(self, rows: Floats, start: Floats) -> Floats:
        name, function = self.feature.name, self.feature.formula
        assert callable(function)
        try:
            found = function(self.space.to_frame(rows))
            column = np.asarray(found, dtype=object if self.feature.levels else np.float64)
        except Exception as error:  # somebody else's function may raise anything
            raise SchemaError(
                f"The function of the derived feature {name!r} raised {type(error).__name__}: "
                f"{error}. It gets a frame of rows and has to return one "
                f"{'of its levels' if self.feature.levels else 'number'} per row."
            ) from error
        if column.shape != (len(rows),):
            raise SchemaError(
                f"The function of the derived feature {name!r} returned the shape {column.shape} "
                f"for {len(rows)} rows; expected one value per row."
            )
        if self.feature.levels is None:
            return column
        positions = {level: float(i) for i, level in enumerate(self.feature.levels)}
        return np.array([positions.get(value, np.nan) for value in column])


def _inputs(feature: Derived, schema: Schema) -> list[int]:
    """The features that a derived one is worked out from; a function may look at any of them."""
    if feature.parsed is None:
        return [f for f, other in enumerate(schema.features) if other is not feature]
    return [schema.position(name) for name in feature.parsed.names]


def _work(feature: Derived, space: Space) -> Work:
    """How a derived feature's values are worked out."""
    if feature.parsed is None:
        return _Function(feature, space)
    bound = feature.parsed.bind(space.schema.names, space.schema.levels)
    if feature.levels is None:
        return _Number(bound)
    levels = {level: float(i) for i, level in enumerate(feature.levels)}
    return _Level(bound, np.array([levels[text] for text in bound.texts]))
