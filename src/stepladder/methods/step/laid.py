"""Ends as steps: small ones where that's possible, none of which undoes another.

All numbers advance together, in steps no longer than the step size unless there would be too many.
Where the score would fall on the way, things are done one after the other instead, in an order in
which it doesn't, if there is one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stepladder.methods.step.finish import straight
from stepladder.methods.steps import keeping
from stepladder.model.scorer import Scorer
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats

Counts = NDArray[np.int64]

FALL = 1e-9
"""By how much a score may fall without being noticed."""


def laid(
    own: Feasible, ends: Floats, scorer: Scorer, step_size: float, max_steps: int
) -> tuple[list[Floats], list[Floats]]:
    """For each of p ends (p, features) its rows (steps + 1, features), and scores (steps + 1,).

    A path whose levels can't hop there by steps that keep the rules has one row only.
    """
    space = own.space
    apart = np.linalg.norm(space.to_points(ends) - space.to_points(own.start), axis=1)
    steps = np.clip(np.ceil(apart / step_size), 1, max_steps).astype(np.int64)
    trails = [
        np.concatenate([rows[:-1], end[None]])
        for rows, end in zip(straight(own, ends, steps), ends, strict=True)
    ]
    trails = keeping(own, trails)
    scores = _scored(trails, scorer)
    falling = np.flatnonzero([len(s) > 2 and _fall(s) > FALL for s in scores])
    if len(falling):
        again = own.take(falling)
        turned = keeping(again, _in_turn(again, ends[falling], steps[falling], scorer))
        for path, rows, after in zip(falling, turned, _scored(turned, scorer), strict=True):
            if len(rows) > 1 and _fall(after) < _fall(scores[path]):
                trails[path], scores[path] = rows, after
    return trails, scores


def _scored(trails: list[Floats], scorer: Scorer) -> list[Floats]:
    scores = scorer.score(np.concatenate(trails))
    return np.split(scores, np.cumsum([len(rows) for rows in trails])[:-1])


def _fall(scores: Floats) -> float:
    """By how much scores fall on the way, at most."""
    return float(np.max(np.maximum.accumulate(scores) - scores))


def _in_turn(own: Feasible, ends: Floats, steps: Counts, scorer: Scorer) -> list[Floats]:
    """Rows that do one thing after the other, each time the one that earns the most by itself.

    A thing takes as many steps as its part of the way; with few steps in all, several are joined.
    """
    here, order = own.start.copy(), []
    left = own.changes(ends)
    while left.any():
        path, feature = np.nonzero(left)
        rows = here[path]
        rows[np.arange(len(path)), feature] = ends[path, feature]
        each = own.take(path)
        rows = each.complete(rows)
        gain = scorer.goal.margin(scorer.score(rows))
        gain = np.where(each.fulfils(rows), gain, -np.inf)
        table = np.full(left.shape, -np.inf)
        table[path, feature] = gain
        table[~left] = -np.inf
        best = np.where(left.any(axis=1), np.where(left, table, -np.inf).argmax(axis=1), -1)
        best = np.where((best >= 0) & ~left[np.arange(len(left)), best], left.argmax(axis=1), best)
        going = np.flatnonzero(best >= 0)
        here[going, best[going]] = ends[going, best[going]]
        here[going] = own.take(going).complete(here[going])
        left[going, best[going]] = False
        order.append((going, here[going].copy()))
    trails = [[start] for start in own.start]
    for going, rows in order:
        for path, row in zip(going, rows, strict=True):
            trails[path].append(row)
    return [np.array([*rows[:-1], end]) for rows, end in zip(trails, ends, strict=True)]
