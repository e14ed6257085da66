"""Candidates by their features: single changes scanned outright, and pairs and triples of them.

Values are quantiles of the reference rows, half spread over rows and half over different values
(quantiles of rows alone miss columns full of zeros), so no end shows somebody else's exact value.
What single changes earn, in logits where a score is a probability, is added up to say which pairs
and triples are worth asking about: those that should get there, and a few that nearly do, the
cheapest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from stepladder.methods.step.judge import Ends, Judge
from stepladder.model.goal import Goal
from stepladder.table.effort import CORE
from stepladder.table.space import Floats, Mask, Space

Indices = NDArray[np.intp]

VALUES, MORE = 20, 60
"""How many values of a feature are tried at first, and for people to whom those are no help: at
first between the percentiles that effort is measured by, then wherever there are any."""

BETWEEN = (0.25, 0.75)
"""How near a quantile may come to its neighbours, as parts of the way from one to the other."""

FRONT = {2: 8, 3: 4}
"""How many values of each feature sets of so many are made of."""

FEATURES = {2: 16, 3: 10}
"""How many of a person's features they are made of: those that earn the most for what they cost."""

SURE = {2: 40, 3: 26}
"""How many sets are asked about for a person, of those that should get there."""

NEARLY = {2: 20, 3: 14}
"""The same of those that nearly do."""

EVEN = {2: 12, 3: 0}
"""The same of those that should, once more with changes as even as they can be."""

NEAR = 0.8
"""What part of what is needed counts as nearly there."""

AT_ONCE = 2**22
"""About how many combinations are weighed at a time."""


@dataclass(frozen=True, eq=False)
class Scanned:
    """The values that are tried for each feature: empty for one that no plan sets."""

    values: tuple[Floats, ...]

    @classmethod
    def of(cls, space: Space, rows: Floats, count: int, *, core: bool) -> Scanned:
        """Some values that are spread over what rows (n, features) have."""
        found = []
        for f, chosen in enumerate(space.links.chosen):
            known = rows[~np.isnan(rows[:, f]), f] if chosen else rows[:0, f]
            found.append(_spread(space, f, known, count, core=core) if len(known) else known)
        return cls(tuple(found))

    def plus(self, others: list[tuple[int, float]]) -> Scanned:
        """With other features' values, by their indices."""
        more = [[value for at, value in others if at == f] for f in range(len(self.values))]
        return Scanned(
            tuple(
                np.unique(np.concatenate([mine, extra]))
                for mine, extra in zip(self.values, more, strict=True)
            )
        )


def _spread(space: Space, f: int, known: Floats, count: int, *, core: bool) -> Floats:
    """Values of one feature, spread over rows and over different values."""
    different = np.unique(known)
    if not space.schema.features[f].ordered or len(different) <= count:
        return different
    low, high = np.percentile(known, CORE) if core else (different[0], different[-1])
    shares = np.linspace(0, 1, count // 2)
    inside = [np.sort(some[(some >= low) & (some <= high)]) for some in (known, different)]
    values = np.concatenate([_between(some, shares) for some in inside])
    return np.unique(space.grid.column(f, values))


def _between(known: Floats, shares: Floats) -> Floats:
    """Quantiles of sorted values, each well between two neighbours: so none is one of them."""
    if len(known) < 2:
        return known
    place = shares * (len(known) - 1)
    below = np.minimum(place.astype(np.intp), len(known) - 2)
    share = np.clip(place - below, *BETWEEN)
    return np.asarray(known[below] + share * (known[below + 1] - known[below]))


# ---- single changes ---------------------------------------------------------------------------


def singles(judge: Judge, scanned: Scanned) -> tuple[Indices, Floats]:
    """Every single change, as people (c,) and rows (c, features) to ask about."""
    feasible, least = judge.feasible, judge.noticed
    people, rows = [np.empty(0, dtype=np.intp)], [feasible.start[:0]]
    for f, values in enumerate(scanned.values):
        if not len(values):
            continue
        person = np.repeat(np.arange(len(feasible)), len(values))
        start, wanted = feasible.start[person, f], np.tile(values, len(feasible))
        gap = wanted - start
        with np.errstate(invalid="ignore"):  # from a gap any value is noticed
            small = (np.abs(gap) < least[f]) & (gap != 0)
        wanted = np.where(small, start + np.sign(gap) * least[f], wanted)
        found = feasible.nearest_in(f, wanted, person)
        moved = np.flatnonzero(found != start)
        changed = feasible.start[person[moved]]
        changed[:, f] = found[moved]
        people.append(person[moved])
        rows.append(changed)
    return np.concatenate(people), np.concatenate(rows)


def worth(goal: Goal, beyond: Floats) -> Floats:
    """How far past the goal, on a scale on which what changes earn adds up."""
    if goal.is_range:
        return beyond
    scores = np.clip(beyond + goal.threshold, 1e-9, 1 - 1e-9)
    line = np.clip(goal.threshold, 1e-9, 1 - 1e-9)
    return np.asarray(np.log(scores / (1 - scores)) - np.log(line / (1 - line)))


# ---- pairs and triples ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fronts:
    """For n people and m features the values (n, m, v) that earn more than all cheaper ones.

    From cheap to dear; `gain` is what they earn, `cost` what they cost, NaN where there's none.
    """

    values: Floats
    gain: Floats
    cost: Floats

    @classmethod
    def of(cls, found: Ends, judge: Judge, today: Floats, left_out: Mask | None = None) -> Fronts:
        """Of single changes that were asked about.

        today     (n,) where people stand, on the scale of `worth`
        left_out  (n, m) which features aren't to be used
        """
        changes = judge.feasible.take(found.person).changes(found.rows)
        some = (changes.sum(axis=1) == 1) & np.isfinite(found.beyond)
        feature = changes.argmax(axis=1)
        if left_out is not None:
            some &= ~left_out[found.person, feature]
        found, feature = found.take(some), feature[some]
        gain = worth(judge.scorer.goal, found.beyond) - today[found.person]
        shape = judge.feasible.start.shape
        cell = found.person * shape[1] + feature
        order = np.lexsort((-gain, found.cost, cell))
        cell = cell[order]
        rank = np.arange(len(cell)) - np.searchsorted(cell, cell)
        dense = np.full((3, shape[0] * shape[1], int(rank.max(initial=0)) + 1), np.nan)
        dense[0, cell, rank] = found.rows[order, feature[order]]
        dense[1, cell, rank] = gain[order]
        dense[2, cell, rank] = found.cost[order]
        values, gains, costs = dense.reshape(3, *shape, -1)
        before = np.fmax.accumulate(np.insert(gains, 0, 0.0, axis=2), axis=2)[:, :, :-1]
        nothing = ~(gains > before + 1e-9)
        for side in (values, gains, costs):
            side[nothing] = np.nan
        return cls(values, gains, costs)

    def best(self, features: int, values: int) -> tuple[Indices, Fronts]:
        """Each person's most useful features (n, features), with so many values of each."""
        with np.errstate(invalid="ignore", divide="ignore"):
            useful = np.nan_to_num(np.fmax.reduce(self.gain / self.cost, axis=2), nan=-1.0)
        chosen = np.argsort(-useful, axis=1, kind="stable")[:, :features]
        sides = [
            np.take_along_axis(side, chosen[:, :, None], axis=1)
            for side in (self.values, self.gain, self.cost)
        ]
        known = ~np.isnan(sides[1])
        packed = np.argsort(~known, axis=2, kind="stable")
        count, every = known.sum(axis=2, keepdims=True), np.arange(values)
        spread = np.rint(np.linspace(0, 1, values) * (count - 1)).astype(np.intp)
        spread = np.where(count <= values, every, spread)
        width = packed.shape[2] - 1
        picked = np.take_along_axis(packed, np.clip(spread, 0, width), axis=2)
        gone = spread >= count
        found = [np.where(gone, np.nan, np.take_along_axis(s, picked, axis=2)) for s in sides]
        return chosen, Fronts(*found)


def everything(fronts: Fronts, start: Floats) -> Floats:
    """Rows (n, features) in which each feature has the value that earns the most."""
    gain = np.where(np.isnan(fronts.gain), -np.inf, fronts.gain)
    best = gain.argmax(axis=2)[:, :, None]
    values = np.take_along_axis(fronts.values, best, axis=2)[:, :, 0]
    return np.where(np.isnan(values), start, values)


def combined(fronts: Fronts, size: int, need: Floats, start: Floats) -> tuple[Indices, Floats]:
    """Sets of `size` features, as people (c,) and rows (c, features) to ask about.

    need   (n,) what all changes together have to earn
    start  (n, features)
    """
    features, few = fronts.best(FEATURES[size], FRONT[size])
    sets = np.array(list(combinations(range(features.shape[1]), size)), dtype=np.intp)
    people, rows = [np.empty(0, dtype=np.intp)], [start[:0]]
    if not len(sets):
        return people[0], rows[0]
    chunk = max(1, AT_ONCE // (len(sets) * FRONT[size] ** size))
    for at in range(0, len(start), chunk):
        part = slice(at, at + chunk)
        person, which, cell = _worth_asking(few, part, sets, size, need[part])
        values = np.stack(np.unravel_index(cell, (FRONT[size],) * size), axis=1)
        columns = np.take_along_axis(features[part][person], sets[which], axis=1)
        changed = start[part][person].copy()
        changed[np.arange(len(person))[:, None], columns] = few.values[part][
            person[:, None], sets[which], values
        ]
        people.append(person + at)
        rows.append(changed)
    return np.concatenate(people), np.concatenate(rows)


def _worth_asking(
    few: Fronts, part: slice, sets: Indices, size: int, need: Floats
) -> tuple[Indices, Indices, Indices]:
    """People (c,), sets (c,) and combinations of values (c,) to ask about, the cheapest of each."""
    total, price = (_joined(side[part], sets, np.add) for side in (few.gain, few.cost))
    dearest = _joined(few.cost[part], sets, np.maximum)
    found = []
    sure = total >= need[:, None, None]
    nearly = ~sure & (total >= NEAR * need[:, None, None])
    for mask, cost, most in (
        (sure, price, SURE[size]),
        (nearly, price, NEARLY[size]),
        (sure, dearest, EVEN[size]),
    ):
        priced = np.where(mask, cost, np.inf)
        cell = priced.argmin(axis=2)
        least = np.take_along_axis(priced, cell[:, :, None], axis=2)[:, :, 0]
        order = np.argsort(least, axis=1, kind="stable")[:, :most]
        person, rank = np.nonzero(np.isfinite(np.take_along_axis(least, order, axis=1)))
        which = order[person, rank]
        found.append((person, which, cell[person, which]))
    person, which, cells = (np.concatenate(sides) for sides in zip(*found, strict=True))
    return person, which, cells


def _joined(side: Floats, sets: Indices, join: np.ufunc) -> Floats:
    """(n, sets, combinations) what the features of each set come to together."""
    total = side[:, sets[:, 0]]
    for axis in range(1, sets.shape[1]):
        total = join(total[:, :, :, None], side[:, sets[:, axis]][:, :, None, :])
        total = total.reshape(*total.shape[:2], -1)
    return np.asarray(total)
