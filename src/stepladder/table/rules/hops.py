"""Where a level may go: `moves` and `not_to`, one hop at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepladder.table.feature import Categorical, Change, Ordinal
from stepladder.table.schema import Schema

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Hops:
    """The hops between levels that a schema allows, where it doesn't allow all of them."""

    def __init__(self, schema: Schema) -> None:
        self.allowed = {
            f: hops_of(feature)
            for f, feature in enumerate(schema.features)
            if isinstance(feature, Ordinal | Categorical) and (feature.moves or feature.not_to)
        }
        """by the feature's index, which level (L,) may go to which (L,) in one step"""
        self._reach = {f: _closed(hops) for f, hops in self.allowed.items()}
        self._taken = {
            f: _taken(reach, ordered=schema.features[f].ordered) for f, reach in self._reach.items()
        }
        self._chains = dict[tuple[int, int, int], tuple[float, ...]]()

    def settled(self, rows: Floats, start: Floats) -> Floats:
        """Rows (n, features) with each level one that today's can get to, in place."""
        for f in self._taken:
            rows[:, f] = self.settled_in(f, rows[:, f], start[:, f])
        return rows

    def settled_in(self, f: int, rows: Floats, start: Floats) -> Floats:
        """The same for one feature: levels (n,)."""
        known = ~(np.isnan(rows) | np.isnan(start))
        here, there = (np.where(known, side, 0).astype(np.intp) for side in (start, rows))
        return np.where(known, self._taken[f][here, there], rows)

    def broken(self, rows: Floats, start: Floats) -> Mask:
        """Which levels of rows (n, features) today's can't get to, in however many hops."""
        broken = np.zeros(rows.shape, dtype=bool)
        for f, reach in self._reach.items():
            known = ~(np.isnan(rows[:, f]) | np.isnan(start[:, f]))
            here, there = (np.where(known, side[:, f], 0).astype(np.intp) for side in (start, rows))
            broken[:, f] = known & ~reach[here, there]
        return broken

    def chain(self, f: int, start: float, end: float) -> tuple[float, ...]:
        """The levels to go by from one to another, the last included, in as few hops as it takes.

        Empty where there's nowhere to go, or no way.
        """
        key = f, int(start), int(end)
        if key not in self._chains:
            self._chains[key] = self._shortest(*key)
        return self._chains[key]

    def _shortest(self, f: int, start: int, end: int) -> tuple[float, ...]:
        if start == end or not self._reach[f][start, end]:
            return ()
        hops, came_from, ring = self.allowed[f], {start: start}, [start]
        while end not in came_from:
            following = []
            for level in ring:
                for other in np.flatnonzero(hops[level]).tolist():
                    if other not in came_from:
                        came_from[other] = level
                        following.append(other)
            ring = following
        chain = [end]
        while came_from[chain[-1]] != start:
            chain.append(came_from[chain[-1]])
        return tuple(float(level) for level in reversed(chain))


def hops_of(feature: Ordinal | Categorical) -> Mask:
    """Which level (L,) may become which (L,) in one step; each may stay."""
    levels = feature.levels or ()
    hops = np.ones((len(levels), len(levels)), dtype=bool)
    for here, targets in (feature.moves or {}).items():
        hops[levels.index(here)] = [level in targets for level in levels]
    if feature.change is Change.INCREASE:
        hops &= np.triu(hops)
    elif feature.change is Change.DECREASE:
        hops &= np.tril(hops)
    hops[:, [levels.index(level) for level in feature.not_to or ()]] = False
    np.fill_diagonal(hops, val=True)
    return hops


def _closed(hops: Mask) -> Mask:
    """Which level can get to which in any number of hops."""
    reach = hops
    while True:
        further = (reach.astype(np.int64) @ reach.astype(np.int64)) > 0
        if (further == reach).all():
            return np.asarray(reach)
        reach = further


def _taken(reach: Mask, *, ordered: bool) -> Floats:
    """For each level today and each one wanted, the one that is taken: the wanted one if it can be.

    Else today's, or on a ladder the nearest to the wanted one that can be reached.
    """
    levels = np.arange(len(reach))
    taken = np.where(reach, levels, levels[:, None]).astype(np.float64)
    if ordered:
        apart = np.abs(levels[:, None] - levels)  # wanted by offered
        for here in levels:
            taken[here] = np.where(reach[here], apart, len(levels)).argmin(axis=1)
    return taken
