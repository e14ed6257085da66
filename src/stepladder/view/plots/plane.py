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
"""Into how many columns and rows a map is cut, at least, to ask the model about it."""

WITHIN = 0.05
"""The share of rows that may lie beyond the edges, lest a few far out squeeze all the others."""

CLIP = 3.0
"""How many standard deviations an outlier counts, as when clusters are formed."""


@dataclass(frozen=True, eq=False)
class Side:
    """One axis of a map, and what its levels are called, if any.

    edges  (n + 1,) of its cells
    nodes  (n,) where in each of them the model is asked
    """

    title: str
    edges: Floats
    nodes: Floats
    feature: Feature | None = None
    levels: tuple[str, ...] | None = None

    @classmethod
    def of_numbers(
        cls, title: str, low: float, high: float, also: Floats, feature: Feature | None = None
    ) -> Side:
        """Cells of equal width, and further ones around positions that are to be asked about."""
        even = low + (np.arange(CELLS) + 0.5) * (high - low) / CELLS
        nodes = np.unique(np.concatenate([even, also[(also > low) & (also < high)]]))
        edges = np.concatenate([[low], (nodes[1:] + nodes[:-1]) / 2, [high]])
        return cls(title, edges, nodes, feature)

    @classmethod
    def of_levels(cls, title: str, levels: tuple[str, ...], feature: Feature) -> Side:
        edges = np.arange(-0.5, len(levels))
        return cls(title, edges, edges[1:] - 0.5, feature, levels)


class Plane(Protocol):
    """What a map needs to know of its two dimensions."""

    def positions(self, values: Floats) -> Floats:
        """Where rows lie on the map (n, 2)."""

    def values(self, positions: Floats, base: Floats) -> Floats:
        """The valid rows (n, features) at positions (n, 2), all else as in base (n, features).

        At the position of a row of `base` it's that very row.
        """

    def sides(self, positions: Floats, always: Floats) -> tuple[Side, Side]:
        """The two axes: wide enough for most of `positions` and for all of `always`.

        The model is asked at the positions of `always` too, so that the map is right there.
        """

    @property
    def note(self) -> str:
        """What the dimensions are, in a sentence."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Two features; what follows from others follows from going there from `start` (features,)."""

    space: Space
    indices: tuple[int, int]
    start: Floats

    @classmethod
    def named(cls, space: Space, features: Sequence[str], start: Floats) -> Chosen:
        pair = [] if isinstance(features, str) else list(features)
        if len(pair) != 2 or pair[0] == pair[1]:
            raise ParameterError(
                "features must be two different names, or None for the two principal dimensions; "
                f"got {features!r}."
            )
        first, second = (space.schema.position(name) for name in pair)
        return cls(space, (first, second), start)

    @property
    def note(self) -> str:
        return ""

    def positions(self, values: Floats) -> Floats:
        return np.asarray(values[:, list(self.indices)] * self._times)

    @property
    def _times(self) -> Floats:
        return np.array([times(self.space.schema.features[f]) for f in self.indices])

    def values(self, positions: Floats, base: Floats) -> Floats:
        rows = np.array(base)
        rows[:, list(self.indices)] = positions / self._times
        found = _following(self.space, rows, self.start)
        found[:, list(self.indices)] = self.space.grid.nearest(rows)[:, list(self.indices)]
        return found

    def sides(self, positions: Floats, always: Floats) -> tuple[Side, Side]:
        made = []
        for axis, index in enumerate(self.indices):
            feature = self.space.schema.features[index]
            if isinstance(feature, Numeric):
                low, high = _ends(positions[:, axis], always[:, axis])
                least, most = (end and end * feature.times for end in feature.bounds)
                low = low if least is None else max(low, least)
                high = high if most is None else min(high, most)
                made.append(Side.of_numbers(titled(feature), low, high, always[:, axis], feature))
            else:
                names = tuple(str(level) for level in feature.levels or ())
                made.append(Side.of_levels(titled(feature), names, feature))
        return made[0], made[1]


@dataclass(frozen=True, eq=False)
class Principal:
    """The two directions (2, columns) in which the rows differ most, among what may change."""

    space: Space
    start: Floats
    """(features,) from where what follows from others follows"""
    axes: Floats
    share: float
    """how much of the rows' variance the two hold"""

    @classmethod
    def of(cls, space: Space, values: Floats, start: Floats) -> Principal:
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
        return cls(space, start, found, share)

    @property
    def note(self) -> str:
        return (
            f"The two dimensions hold {100 * self.share:.0f}% of how the rows differ in what may "
            "change."
        )

    def positions(self, values: Floats) -> Floats:
        return np.asarray(_clipped(self.space, values) @ self.axes.T)

    def values(self, positions: Floats, base: Floats) -> Floats:
        away = positions - self.positions(base)
        points = self.space.to_points(base) + away @ self.axes
        return _following(self.space, self.space.to_values(points), self.start)

    def sides(self, positions: Floats, always: Floats) -> tuple[Side, Side]:
        made = []
        for axis, arrow in enumerate("→↑"):
            low, high = _ends(positions[:, axis], always[:, axis])
            made.append(Side.of_numbers(self._title(axis, arrow), low, high, always[:, axis]))
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


def _following(space: Space, rows: Floats, start: Floats) -> Floats:
    """Valid rows near some, with what follows from others as it does on the way from `start`."""
    rows = np.where(rows == start, start, space.grid.nearest(rows))  # one's own value is allowed
    return space.links.complete(rows, start[None], space.links.worked_out(start[None]))


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


def along(space: Space, trail: Floats, rows: Floats, positions: Floats, spans: Floats) -> Floats:
    """The rows (n, features) of a route where it passes nearest to positions (n, 2).

    trail  (s, 2) where the route's rows (s, features) lie
    spans  (2,) how long the axes are

    Between two rows a number is between theirs, and a level is that of the nearer one. Of rows at
    the same position the last counts.
    """
    if len(rows) == 1:
        return np.repeat(rows, len(positions), axis=0)
    start, leg = trail[:-1] / spans, np.diff(trail, axis=0) / spans
    away = positions[:, None] / spans - start
    square = (leg**2).sum(axis=1)
    share = np.clip((away * leg).sum(axis=2) / np.where(square, square, 1.0), 0.0, 1.0)
    share[:, square == 0] = 1.0
    far = np.linalg.norm(away - share[..., None] * leg, axis=2)
    leg_of = far.shape[1] - 1 - far[:, ::-1].argmin(axis=1)
    part = share[np.arange(len(positions)), leg_of][:, None]
    before, after = rows[leg_of], rows[leg_of + 1]
    numbers = np.array([isinstance(f, Numeric) for f in space.schema.features])
    between = np.where(part == 1.0, after, before + part * (after - before))
    return np.asarray(np.where(numbers, between, np.where(part < 0.5, before, after)))


def usual(space: Space, values: Floats) -> Floats:
    """The row (features,) of each feature's median, or of its most frequent level."""
    row = np.median(values, axis=0)
    for f, feature in enumerate(space.schema.features):
        if isinstance(feature, Categorical):
            levels, counts = np.unique(values[:, f], return_counts=True)
            row[f] = levels[counts.argmax()]
    found: Floats = space.grid.nearest(row[None])[0]
    return found
