"""The values that a feature can take at all, whoever the person is.

Whole numbers, so many decimals, multiples, positions of levels, and what a float32 column can hold.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from stepladder.table.derived import Derived
from stepladder.table.feature import Feature, Numeric
from stepladder.table.frames import EXACT, Template
from stepladder.table.schema import Schema

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Grid:
    """The allowed values of each feature of a schema, as frames of a template hold them."""

    def __init__(self, schema: Schema, template: Template) -> None:
        self._features = schema.features
        self._single = [
            isinstance(f, Numeric | Derived) and template.is_single_precision(f.name)
            for f in schema.features
        ]
        self.steps = np.array([_step(feature) for feature in schema.features])
        """(features,) how far apart a feature's values are; 0 if any number is one"""
        self._counted = np.array(
            [
                isinstance(f, Numeric) and (f.integer or template.is_whole(f.name))
                for f in schema.features
            ]
        )
        """(features,) of which only whole numbers can be held"""
        self._whole = (self.steps == 1.0) & ~np.array(self._single)
        self._is_apart = ~self._whole & ((self.steps > 0) | self._single)
        """(features,) which need a look of their own"""
        bounds = [bounds_of(feature) for feature in schema.features]
        self.lowest, self.highest = (
            np.array(
                [self.inside(f, np.array([ends[side]]), way)[0] for f, ends in enumerate(bounds)]
            )
            for side, way in ((0, 1.0), (1, -1.0))
        )
        """(features,) the first and the last allowed value within each feature's bounds"""

    def held(self, values: Floats, toward: Floats) -> Floats:
        """The nearest values (n, features) that columns can hold, allowed or not.

        Of two whole numbers that are as near, the one nearer to `toward` (n, features).
        """
        gap = values - toward
        whole = toward + np.sign(gap) * np.ceil(np.abs(gap) - 0.5 - 1e-9)
        rows = np.where(self._counted, np.where(np.isnan(gap), values, whole), values)
        rows[:, self._single] = rows[:, self._single].astype(np.float32)
        return rows

    def nearest(self, values: Floats) -> Floats:
        """Each value's nearest allowed one, for rows (n, features)."""
        rows = np.where(self._whole, np.rint(values), values)  # the common kinds in one go
        for f in np.flatnonzero(self._is_apart).tolist():
            rows[:, f] = self.column(f, values[:, f])
        return rows

    def cells(self, features: NDArray[np.intp], values: Floats) -> Floats:
        """The same for single values (c,), each of a feature (c,)."""
        found = np.where(self._whole[features], np.rint(values), values)
        apart = self._is_apart[features]
        for f in np.unique(features[apart]).tolist():
            mine = np.flatnonzero(features == f)
            found[mine] = self.column(f, values[mine])
        return found

    def column(self, f: int, values: Floats) -> Floats:
        """The nearest allowed values of one feature."""
        feature = self._features[f]
        multiple = feature.multiple if isinstance(feature, Numeric) else None
        if multiple is not None:
            values = _multiples(values, multiple)
        elif isinstance(feature, Numeric | Derived) and self.steps[f] != 1.0:
            if feature.most_decimals is not None:
                values = rounded(values, feature.most_decimals)
        else:
            values = np.rint(values)
        if self._single[f]:
            # A float32 column would round the row after it was checked: use only what it can hold.
            with np.errstate(over="ignore"):  # beyond all that it can hold
                values = values.astype(np.float32).astype(np.float64)
        return values

    def inside(self, f: int, ends: Floats, inwards: float) -> Floats:
        """The allowed values nearest to some ends that aren't beyond them (`inwards`: ±1)."""
        finite = np.isfinite(ends)
        if not finite.any():
            return ends
        known = ends[finite]
        nearest, step = self.column(f, known), np.maximum(self.steps[f], np.spacing(np.abs(known)))
        # An end that a float32 column can't hold is no end to it.
        while (beyond := np.isfinite(nearest) & ((nearest - known) * inwards < 0)).any():
            nearest[beyond] = self._further(f, nearest[beyond], inwards, step[beyond])
            step *= 2  # in case rounding went back again
        inside = ends.copy()
        inside[finite] = nearest
        return inside

    def _further(self, f: int, values: Floats, way: float, step: Floats) -> Floats:
        """The allowed values next to some that are, or about a step on (`way`: ±1)."""
        if self.steps[f] or not self._single[f]:
            return self.column(f, values + way * step)
        following = np.nextafter(values.astype(np.float32), np.float32(way * np.inf))
        return np.asarray(following, dtype=np.float64)

    def outside(self, f: int, values: Floats) -> Mask:
        """Which values break a feature's bounds; in a float32 column, bounds are float32 too."""
        low, high = bounds_of(self._features[f])
        if self._single[f]:
            low, high = min(low, float(np.float32(low))), max(high, float(np.float32(high)))
        return (values < low) | (values > high)


def bounds_of(feature: Feature) -> tuple[float, float]:
    """A feature's bounds as floats, infinite where open; of levels their positions."""
    if isinstance(feature, Numeric):
        return feature.limits
    if isinstance(feature, Derived):
        return -np.inf, np.inf
    return 0.0, float(len(feature.levels or ()) - 1)


def rounded(values: Floats, decimals: int) -> Floats:
    """Values to so many decimals; one that is too large to have that many stays as it is."""
    small = np.abs(values) < EXACT / 2 / 10.0**decimals
    return np.where(small, np.round(np.where(small, values, 0.0), decimals), values)


def _multiples(values: Floats, multiple: float) -> Floats:
    """The nearest multiples, without the dust of multiplying: 3 times 0.05 is 0.15."""
    counts = np.rint(values / multiple)
    digits = max(0, -int(Decimal(str(multiple)).as_tuple().exponent))
    return rounded(counts * multiple, digits)


def _step(feature: Feature) -> float:
    """How far apart a feature's values are; 0 if any number is one."""
    if isinstance(feature, Numeric) and feature.multiple is not None:
        return feature.multiple
    if isinstance(feature, Numeric) or (isinstance(feature, Derived) and not feature.levels):
        return 0.0 if feature.most_decimals is None else 10.0**-feature.most_decimals
    return 1.0
