"""Whether a reference table agrees with what its schema says of it."""

from __future__ import annotations

import warnings

import numpy as np

from stepladder.errors import SchemaError, TableWarning
from stepladder.table.feature import Feature, Numeric
from stepladder.table.space import Floats, Space

SAME = 1e-6
"""By how much of itself a value may differ from its formula and still follow it."""


def compare(space: Space, values: Floats) -> None:
    """Refuse a requirement that no row (n, features) keeps, and warn of formulas that rows don't.

    What a person's value differs from its formula by is carried along, so a column that follows
    another rule still gives valid rows; but it's likely that the formula is wrong.
    """
    requirements = space.requirements
    for part in requirements.parts:
        if len(values) and not part.holds(values, values).any():
            raise SchemaError(
                f"None of the {len(values):,} reference rows keeps the requirement "
                f"{part.formula.text}. Is it the wrong way round, or in another unit?"
            )
    worked = space.links.worked_out(values)
    complete = ~np.isnan(values).any(axis=1)
    for d, f in enumerate(space.links.derived):
        if complete.any() and not np.isfinite(worked[complete, d]).any():
            raise SchemaError(
                f"The formula of {space.schema.names[f]!r} gives a number for none of the "
                f"{int(complete.sum()):,} reference rows that lack no value, as after a division "
                "by 0. Correct it."
            )
        off = np.abs(values[:, f] - worked[:, d])
        known = off[np.isfinite(off)]
        apart = known > _tolerance(space, f) + SAME * np.abs(values[np.isfinite(off), f])
        if apart.any():
            warnings.warn(
                _differs(space.schema.features[f], known[apart], len(known)),
                TableWarning,
                stacklevel=4,
            )


def _tolerance(space: Space, f: int) -> float:
    """How far rounding alone may take a value from its formula."""
    return float(space.grid.steps[f]) / 2


def _differs(feature: Feature, off: Floats, rows: int) -> str:
    often = f"{feature.name!r} differs from its formula in {len(off):,} of {rows:,} reference rows"
    if not isinstance(feature, Numeric) and feature.levels is not None:
        return f"{often}. A person's own level stays until the formula's changes."
    return (
        f"{often}, by {np.median(off):.4g} in the middle and {off.max():.4g} "
        "at most. What a person's own value differs by is carried along."
    )
