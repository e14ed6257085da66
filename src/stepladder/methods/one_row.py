"""One person's row, as a walk is given it: read, and checked against the schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from stepladder.errors import BoundsError, FrameError, MissingValueError
from stepladder.numbers import exact
from stepladder.table import frames
from stepladder.table.feature import Derived, Numeric
from stepladder.table.rules.faults import check_bounds, check_formulas
from stepladder.table.schema import Schema
from stepladder.table.space import Floats, Space

if TYPE_CHECKING:
    from stepladder.methods.step import StEP


def read_row(step: StEP, row: Any, before: Floats | None = None) -> Floats:
    """One row (a frame of one, a mapping or a pandas Series) as values (1, features).

    Derived features that it lacks are worked out; `before` (1, features) is where the person was.
    """
    if isinstance(row, pd.Series):
        row = row.to_dict()
    frame = pd.DataFrame({k: [v] for k, v in row.items()}) if isinstance(row, Mapping) else row
    table = frames.read(frame)
    if len(table) != 1:
        raise FrameError(f"A walk is about one person: expected one row, got {len(table)}.")
    lacking = [f.name for f in step.space_.schema.derived if f.name not in table.columns]
    if lacking:
        table = table.with_columns(**{name: nw.lit(None) for name in lacking})
    values = step.space_.read(table.to_native(), allow_missing=True)
    if lacking:
        values = _worked_out(step.space_, values, lacking, before)
    _check_scored(step, values)
    if step.honours_rules:
        try:
            check_bounds(step.space_, values)
        except BoundsError:
            raise BoundsError(_beyond(step.space_.schema, values[0])) from None
        check_formulas(step.space_, values)
    return values


def _worked_out(space: Space, values: Floats, lacking: list[str], before: Floats | None) -> Floats:
    """Values (1, features) with derived features as they follow from the rest."""
    links = space.links
    if before is None:
        found = links.filled(values)
    else:
        # What grows with time is as it was seen, whatever the changes should have taken.
        aged = links.linked & [not isinstance(f, Derived) for f in space.schema.features]
        years = links.complete(values, before, links.worked_out(before)) - before
        start = np.where(aged, values - years, before)
        found = links.complete(values, start, links.worked_out(before))
    named = [name in lacking for name in space.schema.names]
    return np.where(named & np.isfinite(found), found, values)


def _check_scored(step: StEP, values: Floats) -> None:
    """Refuse a row (1, features) that lacks a value the model can't do without."""
    gaps = np.isnan(values[0])
    if not gaps.any():
        return
    if not step.takes_gaps or np.isnan(step.scorer_.score_gaps(values)).any():
        gone = step.space_.schema.names[int(np.flatnonzero(gaps)[0])]
        raise MissingValueError(
            f"{gone!r} has no value, and the model can't do without. Fill it in."
        )


def _beyond(schema: Schema, row: Floats) -> str:
    """Which bounds a row breaks already, worded for one person."""
    feature, value = next(
        (feature, value)
        for feature, value in zip(schema.features, row.tolist(), strict=True)
        if isinstance(feature, Numeric) and not feature.limits[0] <= value <= feature.limits[1]
    )
    low, high = (None if end is None else exact(end) for end in feature.bounds)
    rule = f"between {low} and {high}"
    if low is None or high is None:
        rule = f"at most {high}" if low is None else f"at least {low}"
    return (
        f"{feature.name!r} can't be {exact(value)}: the schema says {rule}. Correct "
        "it, or widen the schema's bounds."
    )
