"""What a change asks of a person.

Of an ordered feature it's the larger of two shares: of the reference rows that are overtaken
(mid-ranks, so that ties aren't free), and of the spread from the 2nd to the 98th percentile that is
crossed (so that tails aren't). Of a category it's a half. Each times the feature's `difficulty`,
plus a tenth for each thing that changes at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepladder.kernels.tiling import available_threads, spread
from stepladder.table.space import Floats, Space

CATEGORY = 0.5
"""The effort of another level of a category, or of filling in a gap."""

EACH = 0.1
"""What each change costs beside its size."""

MANY = 4096
"""From how many values on it pays to sort them before they're looked up, and to look up features
on several threads."""

CORE = (2.0, 98.0)
"""Between which percentiles the spread is measured."""


@dataclass(frozen=True, eq=False)
class Effort:
    """The effort of changes, as reference rows or declared ranges measure it."""

    space: Space
    known: tuple[Floats | None, ...]
    """for each feature its reference values, sorted; None where ranks play no part"""
    spread: Floats
    """(features,) the spread of ordered features; NaN for others"""
    difficulty: Floats
    ends: tuple[Floats, Floats]
    """(features,) the least and the most that is known of each number; infinite where nothing is"""

    @classmethod
    def learned(cls, space: Space, values: Floats) -> Effort:
        """The effort that reference rows (n, features) tell of."""
        sorted_values: list[Floats | None] = []
        spread = np.full(len(space.schema), np.nan)
        for f, feature in enumerate(space.schema.features):
            known = np.sort(values[~np.isnan(values[:, f]), f])
            if not (feature.chosen and feature.ordered and len(known)):
                sorted_values.append(None)
                continue
            low, high = np.percentile(known, CORE)
            where = space.slices[feature.name].start
            spread[f] = (high - low) or 4 * space.scale[where]
            sorted_values.append(known)
        ends = (
            np.array([-np.inf if known is None else known[0] for known in sorted_values]),
            np.array([np.inf if known is None else known[-1] for known in sorted_values]),
        )
        return cls(space, tuple(sorted_values), spread, _difficulty(space), ends)

    @classmethod
    def declared(cls, space: Space) -> Effort:
        """The effort by scales alone: four of them are the spread; no reference row has a say."""
        spread = np.full(len(space.schema), np.nan)
        for f, feature in enumerate(space.schema.features):
            if feature.chosen and feature.ordered:
                spread[f] = 4 * space.scale[space.slices[feature.name].start]
        open_ends = np.full(len(space.schema), -np.inf), np.full(len(space.schema), np.inf)
        return cls(space, (None,) * len(space.schema), spread, _difficulty(space), open_ends)

    def of(self, start: Floats, rows: Floats, difficulty: Floats | None = None) -> Floats:
        """(n, features) what getting from one row to another asks, feature by feature.

        difficulty  (n, features) by how much harder than for others each change is for a person
        """
        return self._looked_at(start, rows, difficulty, ranked=False)[0]

    def ranks(self, rows: Floats) -> Floats:
        """(n, features) the share of reference rows below each value, equal ones counted half.

        NaN for a gap, and for what isn't ordered or known of no reference row.
        """
        return self.weighed(rows, rows)[1]

    def weighed(
        self, start: Floats, rows: Floats, difficulty: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """`of` and the `ranks` of rows, for which values are looked up only once."""
        return self._looked_at(start, rows, difficulty, ranked=True)

    def _looked_at(
        self, start: Floats, rows: Floats, difficulty: Floats | None, *, ranked: bool
    ) -> tuple[Floats, Floats]:
        """The effort and the ranks; unless `ranked`, only of what moves."""
        asked, start = self.space.links.changes(start, rows), np.broadcast_to(start, rows.shape)
        effort, ranks = np.where(asked, CATEGORY, 0.0), np.full(rows.shape, np.nan)

        def look(f: int) -> None:
            known, moved = self.known[f], np.flatnonzero(asked[:, f])
            if known is not None:
                wanted = slice(None) if ranked else moved
                ranks[wanted, f] = _rank(known, rows[wanted, f])
            if np.isnan(self.spread[f]) or not len(moved):
                return
            before, after = start[moved, f], rows[moved, f]
            size = np.abs(after - before) / self.spread[f]
            if known is not None:
                size = np.fmax(size, np.abs(ranks[moved, f] - _rank(known, before)))
            effort[moved, f] = np.where(np.isnan(size), CATEGORY, size)  # from a gap

        features = np.arange(rows.shape[1]) if ranked else np.flatnonzero(asked.any(axis=0))
        spread(look, features.tolist(), available_threads() if len(rows) > MANY else 1)
        personal = 1.0 if difficulty is None else difficulty
        return np.asarray(effort * self.difficulty * personal + EACH * asked), ranks


def _rank(known: Floats, values: Floats) -> Floats:
    """The share of known values below some values, equal ones counted half; of a gap it's NaN."""
    if len(values) > MANY:  # in order, and each once, they are found many times as fast
        different, which = np.unique(values, return_inverse=True)
        return _looked_up(known, different)[which]
    return _looked_up(known, values)


def _looked_up(known: Floats, values: Floats) -> Floats:
    below = np.searchsorted(known, values, side="left")
    up_to = np.searchsorted(known, values, side="right")
    return np.where(np.isnan(values), np.nan, (below + up_to) / (2 * len(known)))


def _difficulty(space: Space) -> Floats:
    found: list[float] = [getattr(feature, "difficulty", 1.0) for feature in space.schema.features]
    return np.array(found, dtype=np.float64)
