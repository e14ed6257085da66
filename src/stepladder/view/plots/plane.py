"""The two dimensions of a map: two features in raw units, or the two principal ones.

A plane says where a row lies on the map, and which row belongs to a position on it, so that the
model can be asked about all of the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from stepladder.errors import ParameterError
from stepladder.table.feature import Categorical, Feature, Numeric
from stepladder.table.space import Floats, Space
from stepladder.view.plots.style import times, titled

CELLS = 96
"""Into how many columns and rows a map is cut to ask the model about it."""

WITHIN = 0.05
"""The share of rows that may lie beyond the edges, lest a few far out squeeze all the others."""

CLIP = 3.0
"""How many standard deviations an outlier counts, as when clusters are formed."""


@dataclass(frozen=True, eq=False)
class Side:
    """One axis of a map: `edges` (n + 1,) of its cells, and what its levels are called, if any."""

    title: str
    edges: Floats
    feature: Feature | None = None
    levels: tuple[str, ...] | None = None

    @property
    def middles(self) -> Floats:
        return (self.edges[1:] + self.edges[:-1]) / 2


class Plane(Protocol):
    """What a map needs to know of its two dimensions."""

    def positions(self, values: Floats) -> Floats:
        """Where rows lie on the map (n, 2)."""

    def values(self, positions: Floats) -> Floats:
        """The valid rows (n, features) at positions (n, 2)."""

    def sides(self, positions: Floats, always: Floats) -> tuple[Side, Side]:
        """The two axes: wide enough for most of `positions` and `always` for those."""

    @property
    def note(self) -> str:
        """What the dimensions are, in a sentence."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Two features; all others are those of the row `base` (features,)."""

    space: Space
    indices: tuple[int, int]
    base: Floats

    @classmethod
    def named(cls, space: Space, features: Sequence[str], base: Floats) -> Chosen:
        pair = [] if isinstance(features, str) else list(features)
        if len(pair) != 2 or pair[0] == pair[1]:
            raise ParameterError(
                "features must be two different names, or None for the two principal dimensions; "
                f"got {features!r}."
            )
        first, second = (space.schema.position(name) for name in pair)
        return cls(space, (first, second), base)

    @property
    def note(self) -> str:
        return ""

    def positions(self, values: Floats) -> Floats:
        return np.asarray(values[:, list(self.indices)] * self._times)

    @property
    def _times(self) -> Floats:
        return np.array([times(self.space.schema.features[f]) for f in self.indices])

    def values(self, positions: Floats) -> Floats:
        rows = np.tile(self.base, (len(positions), 1))
        rows[:, list(self.indices)] = positions / self._times
        return self.space.grid.nearest(rows)

    def sides(self, positions: Floats, always: Floats) -> tuple[Side, Side]:
        made = []
        for axis, index in enumerate(self.indices):
            feature = self.space.schema.features[index]
            if isinstance(feature, Numeric):
                low, high = _ends(positions[:, axis], always[:, axis])
                least, most = (end and end * feature.times for end in feature.bounds)
                low = low if least is None else max(low, least)
                high = high if most is None else min(high, most)
                made.append(Side(titled(feature), np.linspace(low, high, CELLS + 1), feature))
            else:
                names = tuple(str(level) for level in feature.levels or ())
                made.append(Side(titled(feature), np.arange(-0.5, len(names)), feature, names))
        return made[0], made[1]


@dataclass(frozen=True, eq=False)
class Principal:
    """The two directions (2, columns) in which the rows differ most, among what may change."""

    space: Space
    base: Floats
    """(features,) the row that the plane goes through"""
    axes: Floats
    share: float
    """how much of the rows' variance the two hold"""

    @classmethod
    def of(cls, space: Space, values: Floats, base: Floats) -> Principal:
        points = _clipped(space, values)
        centred = points - points.mean(axis=0)
        _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
        found = np.zeros((2, space.width))
        varying = axes[:2][sizes[:2] > 1e-9]  # others point anywhere, even to what can't change
        found[: len(varying)] = varying
        # A direction and its opposite are the same dimension: the largest part points up.
        largest = np.abs(found).argmax(axis=1)
        found *= np.where(found[[0, 1], largest] < 0, -1.0, 1.0)[:, None]
        total = float((sizes**2).sum())
        share = float((sizes[:2] ** 2).sum() / total) if total else 1.0
        return cls(space, base, found, share)

    @property
    def note(self) -> str:
        return (
            f"The two dimensions hold {100 * self.share:.0f}% of how the rows differ in what may "
            "change."
        )

    def positions(self, values: Floats) -> Floats:
        return np.asarray(_clipped(self.space, values) @ self.axes.T)

    def values(self, positions: Floats) -> Floats:
        start = self.space.to_points(self.base[None])
        away = positions - self.positions(self.base[None])
        return self.space.grid.nearest(self.space.to_values(start + away @ self.axes))

    def sides(self, positions: Floats, always: Floats) -> tuple[Side, Side]:
        made = []
        for axis, arrow in enumerate("→↑"):
            low, high = _ends(positions[:, axis], always[:, axis])
            made.append(Side(self._title(axis, arrow), np.linspace(low, high, CELLS + 1)))
        return made[0], made[1]

    def _title(self, axis: int, arrow: str) -> str:
        """What makes up most of a dimension, and which way: `higher income, lower debt →`.

        A category has one column per level, which is named as it is.
        """
        weights = self.axes[axis]
        largest = np.argsort(-np.abs(weights), kind="stable")[:2]
        words = []
        for column in largest:
            if abs(weights[column]) < 0.3 * abs(weights[largest[0]]) or not weights[column]:
                continue
            feature = next(
                f for f in self.space.schema.features if _holds(self.space, f.name, int(column))
            )
            if isinstance(feature, Categorical):
                levels = feature.levels or ()
                code = int(column) - self.space.slices[feature.name].start
                name = f"{feature.label}: {levels[1 if len(levels) == 2 else code]}"
                words.append(name if weights[column] > 0 else f"not {name}")
            else:
                way = "higher" if weights[column] > 0 else "lower"
                words.append(f"{way} {feature.label}")
        return f"{', '.join(words)} {arrow}" if words else "no difference"


def _holds(space: Space, name: str, column: int) -> bool:
    where = space.slices[name]
    return bool(where.start <= column < where.stop)


def _clipped(space: Space, values: Floats) -> Floats:
    """Points, zero where nothing may change, with outliers drawn in."""
    return np.asarray(np.clip(space.to_points(values), -CLIP, CLIP) * space.changeable)


def _ends(most: Floats, always: Floats) -> tuple[float, float]:
    """An axis that holds all of `always`, nearly all of `most`, and a little room."""
    ends = np.concatenate([np.quantile(most, [WITHIN / 2, 1 - WITHIN / 2]), always])
    low, high = float(ends.min()), float(ends.max())
    room = 0.05 * (high - low) or 0.5
    return low - room, high + room


def usual(space: Space, values: Floats) -> Floats:
    """The row (features,) of each feature's median, or of its most frequent level."""
    row = np.median(values, axis=0)
    for f, feature in enumerate(space.schema.features):
        if isinstance(feature, Categorical):
            levels, counts = np.unique(values[:, f], return_counts=True)
            row[f] = levels[counts.argmax()]
    found: Floats = space.grid.nearest(row[None])[0]
    return found
