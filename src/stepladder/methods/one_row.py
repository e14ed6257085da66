"""One person's row, as a walk is given it: read, and checked against the schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from stepladder.errors import BoundsError, FrameError, MissingValueError
from stepladder.numbers import exact
from stepladder.table import frames
from stepladder.table.feature import Numeric
from stepladder.table.rules.faults import check_bounds, check_formulas
from stepladder.table.schema import Schema
from stepladder.table.space import Floats

if TYPE_CHECKING:
    from stepladder.methods.step import StEP


def read_row(step: StEP, row: Any) -> Floats:
    """One row (a frame of one, a mapping or a pandas Series) as values (1, features)."""
    if isinstance(row, pd.Series):
        row = row.to_dict()
    frame = pd.DataFrame({k: [v] for k, v in row.items()}) if isinstance(row, Mapping) else row
    count = len(frames.read(frame))
    if count != 1:
        raise FrameError(f"A walk is about one person: expected one row, got {count}.")
    values = step.space_.read(frame, allow_missing=True)
    unscored = not step.takes_gaps or np.isnan(step.scorer_.score_gaps(values)).any()
    if np.isnan(values).any() and unscored:
        gone = step.space_.schema.names[int(np.flatnonzero(np.isnan(values[0]))[0])]
        raise MissingValueError(
            f"{gone!r} has no value, and the model can't do without. Fill it in."
        )
    if step.honours_rules:
        try:
            check_bounds(step.space_, values)
        except BoundsError:
            raise BoundsError(_beyond(step.space_.schema, values[0])) from None
        check_formulas(step.space_, values)
    return values


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
