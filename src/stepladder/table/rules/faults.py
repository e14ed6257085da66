"""What is wrong with a person's own row: bad input, for that person alone.

Bounds that it breaks already, and derived features that can't be worked out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import BoundsError, FormulaError
from stepladder.numbers import plain
from stepladder.table.derived import Derived
from stepladder.table.feature import Feature
from stepladder.table.reading import Faults, add_fault
from stepladder.table.rules.grid import bounds_of
from stepladder.table.space import Floats, Mask, Space


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


def check_formulas(space: Space, values: Floats, labels: NDArray[Any] | None = None) -> None:
    """Refuse rows (n, features) of which a derived feature can't be worked out, by the first."""
    for row, f in np.argwhere(unworkable(space, values)).tolist():
        who = row if labels is None else labels[row]
        who = who.item() if isinstance(who, np.generic) else who
        raise FormulaError(f"Row {who!r}: {_unworkable(space, f)}")


def add_formula_faults(space: Space, values: Floats, faults: Faults) -> None:
    """Say of each row (n, features) which derived features can't be worked out for it."""
    for row, f in np.argwhere(unworkable(space, values)).tolist():
        if row not in faults:  # what is wrong with it already may be why
            add_fault(faults, row, _unworkable(space, f))


def outside_bounds(space: Space, values: Floats) -> Mask:
    """Which values break their feature's bounds: a mask (n, features). NaN breaks none."""
    columns = [space.grid.outside(f, column) for f, column in enumerate(values.T)]
    return np.stack(columns, axis=1)


def unworkable(space: Space, values: Floats) -> Mask:
    """Which derived features can't be worked out though nothing is missing: (n, features)."""
    lost = np.zeros(values.shape, dtype=bool)
    if space.links.derived:
        complete = ~np.isnan(values).any(axis=1)
        lost[:, space.links.derived] = ~np.isfinite(space.links.worked_out(values))
        lost[~complete] = False
    return lost


def _outside(feature: Feature) -> str:
    low, high = bounds_of(feature)
    if np.isinf(low) or np.isinf(high):
        ends = f"up to {plain(high)}" if np.isinf(low) else f"from {plain(low)}"
        return f"outside the schema's own bounds, {ends}"
    return f"outside the schema's own bounds {plain(low)} to {plain(high)}"


def _unworkable(space: Space, f: int) -> str:
    feature = space.schema.features[f]
    assert isinstance(feature, Derived)
    parsed = feature.parsed
    how = "by its function" if parsed is None else f"as {parsed.text}"
    return (
        f"{feature.name!r} can't be worked out {how}: it isn't a number here, as after a division "
        "by 0. Correct the row, or let the formula say what holds then, with where(…)."
    )
