"""Bounds that a person's row already breaks: bad input, for that person alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import BoundsError
from stepladder.numbers import plain
from stepladder.table.feature import Feature
from stepladder.table.grid import bounds_of
from stepladder.table.space import Faults, Floats, Mask, Space, add_fault


def check_bounds(space: Space, values: Floats, labels: NDArray[Any] | None = None) -> None:
    """Refuse rows (n, features) that break the schema's own bounds, by the first of them."""
    outside = outside_bounds(space, values)
    for f in np.flatnonzero(outside.any(axis=0)).tolist():
        rows = np.flatnonzero(outside[:, f])
        who = (np.arange(len(values)) if labels is None else labels)[rows[0]]
        who = who.item() if isinstance(who, np.generic) else who
        feature = space.schema.features[f]
        raise BoundsError(
            f"Row {who!r} has {feature.name} = {plain(values[rows[0], f])}, {_outside(feature)} "
            f"({rows.size} in all). Widen the bounds, or correct the row."
        )


def add_bounds_faults(space: Space, values: Floats, faults: Faults) -> None:
    """Say of each row (n, features) that breaks the schema's own bounds how it does."""
    for row, f in np.argwhere(outside_bounds(space, values)).tolist():
        feature = space.schema.features[f]
        add_fault(
            faults,
            row,
            f"{feature.name!r} is {plain(values[row, f])}, {_outside(feature)}. Widen the bounds, "
            "or correct the row.",
        )


def outside_bounds(space: Space, values: Floats) -> Mask:
    """Which values break their feature's bounds: a mask (n, features). NaN breaks none."""
    columns = [space.grid.outside(f, column) for f, column in enumerate(values.T)]
    return np.stack(columns, axis=1)


def _outside(feature: Feature) -> str:
    low, high = bounds_of(feature)
    return f"outside the schema's own bounds {plain(low)} to {plain(high)}"
