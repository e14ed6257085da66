"""What single changes and pairs of changes would do, tried one by one.

Numbers take up to 200 values between the table's 2nd and 98th percentile (ten in a pair), levels
those seen. A try counts if the answer is still a yes with its numeric changes a tenth short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from advice_measures import Mask, chosen, completed, less
from advice_tasks import GOALS, Floats, Task
from numpy.typing import NDArray

VALUES, FEW = 200, 10
"""How many values of a feature are tried alone, and in a pair."""
LOWEST = min(GOALS)

Values = NDArray[Any]
Tries = dict[tuple[str, ...], tuple[Values, ...]]
"""For each set of features the values to try, one array for each of them."""


@dataclass(frozen=True)
class Found:
    """For each person the best score, a tenth short, of each single change and each pair."""

    alone: list[dict[str, float]]
    paired: list[dict[tuple[str, str], float]]
    """of pairs neither of which does alone at the highest goal"""

    def sets(self, person: int, goal: float) -> list[frozenset[str]]:
        """The sets of one or two features that do, without those in which one would do alone."""
        single = {name for name, score in self.alone[person].items() if score >= goal}
        pairs = [
            frozenset(pair)
            for pair, score in self.paired[person].items()
            if score >= goal and not single & set(pair)
        ]
        return [*(frozenset([name]) for name in single), *pairs]

    def facts(self, goal: float) -> dict[str, list[int]]:
        """For each person: has a single change, two sets that differ, two that share nothing."""
        people = [self.sets(person, goal) for person in range(len(self.alone))]
        return {
            "single": [int(any(len(names) == 1 for names in sets)) for sets in people],
            "two": [int(two_that_differ(sets)) for sets in people],
            "apart": [int(two_apart(sets)) for sets in people],
        }


def two_that_differ(sets: Sequence[frozenset[str]]) -> bool:
    """Whether of two sets neither contains the other."""
    return any(not a <= b and not b <= a for a, b in combinations(sets, 2))


def two_apart(sets: Sequence[frozenset[str]]) -> bool:
    """Whether two sets share nothing."""
    return any(not a & b for a, b in combinations(sets, 2))


def tried(task: Task) -> Found:
    """Every single change and pair for everybody."""
    alone, paired = [], []
    for person in range(len(task.people)):
        today = task.people.iloc[[person]]
        single = _singles(task, today)
        alone.append(single)
        weak = [name for name, score in single.items() if score < max(GOALS)]
        paired.append(_pairs(task, today, weak))
    return Found(alone, paired)


def _singles(task: Task, today: pd.DataFrame) -> dict[str, float]:
    tries: Tries = {(name,): (values,) for name, values in options(task, today, VALUES).items()}
    return {name: score for (name,), score in _best(task, today, tries).items()}


def _pairs(task: Task, today: pd.DataFrame, names: list[str]) -> dict[tuple[str, str], float]:
    values = options(task, today, FEW)
    tries: Tries = {}
    for one, other in combinations([name for name in names if name in values], 2):
        first, second = np.meshgrid(values[one], values[other], indexing="ij")
        tries[one, other] = (first.ravel(), second.ravel())
    best = _best(task, today, tries)
    return {(one, other): score for (one, other), score in best.items() if score >= LOWEST}


def _best(task: Task, today: pd.DataFrame, tries: Tries) -> dict[tuple[str, ...], float]:
    """The best score of each set of features over its tries, a tenth short."""
    if not tries:
        return {}
    sizes = [len(values[0]) for values in tries.values()]
    ends = np.cumsum(sizes)
    columns = {name: _column(today[name].iloc[0], ends[-1]) for name in today}
    for names, end, size in zip(tries, ends, sizes, strict=True):
        for name, values in zip(names, tries[names], strict=True):
            columns[name][end - size : end] = values
    rows = pd.DataFrame(columns)
    before = today.loc[today.index.repeat(len(rows))].reset_index(drop=True)
    scores = _short(task, before, completed(task, before, rows), len(next(iter(tries))))
    return {
        names: float(scores[end - size : end].max(initial=0.0))
        for names, end, size in zip(tries, ends, sizes, strict=True)
    }


def _column(value: Any, size: int) -> Values:
    return np.full(size, value, dtype=object if isinstance(value, str) else np.float64)


def _short(task: Task, before: pd.DataFrame, after: pd.DataFrame, most: int) -> Floats:
    """The least score of each row in full and a tenth short; all changes, then each of a pair."""
    scores = task.score(after)
    promising = np.flatnonzero(scores >= LOWEST)
    if not len(promising):
        return scores
    old, new = before.iloc[promising], after.iloc[promising]
    numeric = [f.name for f in chosen(task.schema) if f.kind == "numeric"]
    moved = np.stack([old[n].to_numpy() != new[n].to_numpy() for n in numeric], axis=1)
    ways = [moved]
    if most > 1:
        order = np.cumsum(moved, axis=1) * moved
        ways += [order == 1, order == 2]
    for way in ways:
        less_of = completed(task, old, _partly(task, old, new, numeric, way))
        scores[promising] = np.minimum(scores[promising], task.score(less_of))
    return scores


def _partly(
    task: Task, old: pd.DataFrame, new: pd.DataFrame, names: list[str], way: Mask
) -> pd.DataFrame:
    """Rows with those of their changes a tenth short that a mask (rows, names) says."""
    short = less(task, old, new, names)
    rows = new.copy()
    for column, name in enumerate(names):
        rows[name] = np.where(way[:, column], short[name], new[name])
    return rows


def options(task: Task, today: pd.DataFrame, most: int) -> dict[str, Values]:
    """For each feature that one person can change, the values to try."""
    found = {}
    for feature in chosen(task.schema):
        own = today[feature.name].iloc[0]
        if feature.kind == "numeric":
            values = _amounts(feature, float(own), _spread_out(task, feature.name, most))
        else:
            counts = task.train[feature.name].value_counts()
            seen = [level for level in counts.index[:most] if level != own]
            values = np.array([v for v in seen if _rises(feature, own, v)], dtype=object)
            if task.train[feature.name].dtype.kind in "iuf":
                values = values.astype(float)
        if len(values):
            found[feature.name] = values
    return found


def _spread_out(task: Task, name: str, most: int) -> Floats:
    """Values of a column between its 2nd and 98th percentile: all there are, or evenly by rank."""
    column = task.train[name].to_numpy(dtype=np.float64)
    low, high = np.percentile(column, [2, 98])
    inside = column[(column >= low) & (column <= high)]
    distinct = np.unique(inside)
    if len(distinct) <= most:
        return distinct
    # Half by rank and half by value, or a column full of zeros would be tried at little else.
    ranks = np.quantile(inside, np.linspace(0, 1, most // 2))
    return np.unique([*ranks, *np.quantile(distinct, np.linspace(0, 1, most - most // 2))])


def _amounts(feature: Any, own: float, values: Floats) -> Floats:
    """The values that one person's number may take, of those to try."""
    step = feature.multiple or (1.0 if feature.integer else None)
    if step is not None:
        values = np.rint(values / step) * step
    if feature.reach is not None:
        far = float(str(feature.reach).rstrip("%")) / 100 * abs(own)
        values = np.unique(np.clip(values, own - far, own + far))
        if step is not None:  # inwards from the ends of what is in reach
            values = np.where(values > own, np.floor(values / step), np.ceil(values / step)) * step
    low, high = feature.bounds
    values = np.clip(values, low, high) if (low, high) != (None, None) else values
    values = np.unique(values[values != own])
    if feature.change == "increase":
        values = values[values > own]
    if feature.change == "decrease":
        values = values[values < own]
    return np.asarray(values, dtype=np.float64)


def _rises(feature: Any, own: Any, level: Any) -> bool:
    """Whether a level may be had from the own one."""
    if feature.kind == "categorical" or feature.change == "any":
        return True
    up = feature.levels.index(level) > feature.levels.index(own)
    return bool(up) if feature.change == "increase" else not up
