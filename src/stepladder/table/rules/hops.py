"""Where a level may go: `moves` and `not_to`, one hop at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepladder.table.feature import Categorical, Change, Ordinal
from stepladder.table.schema import Schema

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Ways:
    """Where each of L levels can get to, for people with the same limits; a gap is the last row."""

    reach: Mask
    """(L + 1, L) which level can get to which, in however many hops; a gap is filled in one"""
    taken: Floats
    """(L + 1, L) for each level today and each one wanted, the one that is taken"""
    hops: Mask
    """(L, L) which level can get to which in one hop"""


class Hops:
    """The hops between levels that a schema allows, where it doesn't allow all of them.

    Nobody hops to a level, not even on the way, that lies beyond their limits. `lower` and `upper`
    (n, features) are these; open ones if left out.
    """

    def __init__(self, schema: Schema) -> None:
        self.allowed = {
            f: hops_of(feature)
            for f, feature in enumerate(schema.features)
            if isinstance(feature, Ordinal | Categorical) and (feature.moves or feature.not_to)
        }
        """by the feature's index, which level (L,) may go to which (L,) in one step"""
        self._features = schema.features
        self._ways = dict[tuple[int, int, int], Ways]()
        self._chains = dict[tuple[int, int, int, int, int], tuple[float, ...]]()

    def settled(
        self,
        rows: Floats,
        start: Floats,
        lower: Floats | float = -np.inf,
        upper: Floats | float = np.inf,
    ) -> Floats:
        """Rows (n, features) with each level one that today's can get to, in place."""
        for f, ways, here in self._groups(rows, start, lower, upper):
            known = here[~np.isnan(rows[here, f])]
            rows[known, f] = ways.taken[
                self._places(f, start, known, len(rows)), rows[known, f].astype(np.intp)
            ]
        return rows

    def broken(
        self,
        rows: Floats,
        start: Floats,
        lower: Floats | float = -np.inf,
        upper: Floats | float = np.inf,
    ) -> Mask:
        """Which levels of rows (n, features) today's can't get to, in however many hops."""
        broken = np.zeros(rows.shape, dtype=bool)
        for f, ways, here in self._groups(rows, start, lower, upper):
            known = here[~np.isnan(rows[here, f])]
            broken[known, f] = ~ways.reach[
                self._places(f, start, known, len(rows)), rows[known, f].astype(np.intp)
            ]
        return broken

    def several(self, rows: Floats, start: Floats, lower: Floats, upper: Floats) -> Mask:
        """(n,) which rows have a level that today's can get to by way of others only."""
        several = np.zeros(len(rows), dtype=bool)
        for f, ways, here in self._groups(rows, start, lower, upper):
            own = self._places(f, start, here, len(rows))
            known = (own < len(ways.hops)) & ~np.isnan(rows[here, f])
            there = rows[here[known], f].astype(np.intp)
            several[here[known]] |= ~ways.hops[own[known], there]
        return several

    def chain(
        self, f: int, start: float, end: float, lower: float = -np.inf, upper: float = np.inf
    ) -> tuple[float, ...]:
        """The levels to go by from one to another, the last included, in as few hops as it takes.

        Empty where there's nowhere to go, or no way.
        """
        low, high = (int(side[0]) for side in self._ends(f, np.array([lower]), np.array([upper])))
        key = f, int(start), int(end), low, high
        if key not in self._chains:
            self._chains[key] = _shortest(self._ways_of(f, low, high), int(start), int(end))
        return self._chains[key]

    def _groups(
        self, rows: Floats, start: Floats, lower: Floats | float, upper: Floats | float
    ) -> Iterator[tuple[int, Ways, Indices]]:
        """Each feature with the ways of people whose limits are the same, and which rows those are.

        `start` and the limits may have one row for all.
        """
        for f, hops in self.allowed.items():
            low, high = (
                np.broadcast_to(side, (len(start), len(self._features)))[:, f]
                for side in (lower, upper)
            )
            low, high = self._ends(f, low, high)
            key = np.broadcast_to(low * (len(hops) + 1) + high + 1, len(rows))
            for one in np.flatnonzero(np.bincount(key)).tolist():
                ways = self._ways_of(f, one // (len(hops) + 1), one % (len(hops) + 1) - 1)
                yield f, ways, np.flatnonzero(key == one)

    def _places(self, f: int, start: Floats, rows: Indices, count: int) -> Indices:
        """Where today's levels of some of `count` rows stand, a gap being behind the last."""
        own = np.broadcast_to(start[:, f], count)[rows]
        return np.where(np.isnan(own), len(self.allowed[f]), own).astype(np.intp)

    def _ends(self, f: int, lower: Floats, upper: Floats) -> tuple[Indices, Indices]:
        """Limits as positions; of who can't move at all, a low above the high."""
        count = len(self.allowed[f])
        low = np.where(np.isnan(lower), count, np.clip(lower, 0, count))
        high = np.where(np.isnan(upper), -1, np.clip(upper, -1, count - 1))
        return low.astype(np.intp), high.astype(np.intp)

    def _ways_of(self, f: int, low: int, high: int) -> Ways:
        key = f, low, high
        if key not in self._ways:
            self._ways[key] = self._worked_out(f, low, high)
        return self._ways[key]

    def _worked_out(self, f: int, low: int, high: int) -> Ways:
        feature, hops = self._features[f], self.allowed[f].copy()
        assert isinstance(feature, Ordinal | Categorical)
        levels = np.arange(len(hops))
        within = (levels >= low) & (levels <= high)
        hops &= within
        np.fill_diagonal(hops, val=True)
        filled = within & [level not in feature.not_to for level in feature.levels or ()]
        reach = np.concatenate([_closed(hops), filled[None]])
        return Ways(reach, _taken(reach, ordered=feature.ordered), hops)


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
    """(L + 1, L) the wanted level if it can be got to, else today's, which may be a gap.

    On a ladder it's the nearest to the wanted one that can be, today's if that is as near.
    """
    levels = np.arange(reach.shape[1])
    today = np.append(levels, np.nan)
    taken = np.where(reach, levels, today[:, None])
    if ordered:
        apart = np.abs(levels[:, None] - levels).astype(np.float64)  # wanted by offered
        for here, offered in enumerate(reach):
            if offered.any():
                nearer = apart - 0.5 * (levels == here)
                taken[here] = np.where(offered, nearer, np.inf).argmin(axis=1)
    return taken


def _shortest(ways: Ways, start: int, end: int) -> tuple[float, ...]:
    if start == end or not ways.reach[start, end]:
        return ()
    came_from, ring = {start: start}, [start]
    while end not in came_from:
        following = []
        for level in ring:
            for other in np.flatnonzero(ways.hops[level]).tolist():
                if other not in came_from:
                    came_from[other] = level
                    following.append(other)
        ring = following
    chain = [end]
    while came_from[chain[-1]] != start:
        chain.append(came_from[chain[-1]])
    return tuple(float(level) for level in reversed(chain))
