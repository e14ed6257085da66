"""What a method's paths are worth: one row per person.

Beside the metrics of what the method claims stands what holds: a path is *valid* if each of its
rows, as the person would see it (whole numbers, levels that exist), breaks no rule of the schema,
and the model accepts the last one. An end *holds* if models that were retrained accept it too, and
does *a tenth short* if it's still accepted when its numbers change by a tenth less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.metrics import each
from stepladder.model.scorer import Scorer
from stepladder.result.path import Outcome
from stepladder.result.recourse import Recourse
from stepladder.table.feasible import Feasible
from stepladder.table.feature import Numeric
from stepladder.table.space import Floats, Mask

SHORT = 0.1
"""The share of a change that is missing when it falls short."""


def rows(
    result: Recourse, scorer: Scorer, least: Floats, successors: Sequence[Scorer] = ()
) -> pd.DataFrame:
    """Everyone's numbers.

    least       (n,) the closed form of the least distance, if there's one
    successors  retrained models; without any, nothing is said of what holds
    """
    sound = valid(result, scorer)
    found = {
        "person": result.people,
        **each(result.measured()),
        "valid_success": sound.any(axis=1).astype(np.float64),
        "avg_valid_success": sound.sum(axis=1) / max(sound.shape[1], 1),
        "least_distance": least,
    }
    if successors:
        found["holds"] = _of_people(result, lambda one, ends: _held(ends, successors))
        found["tenth_short"] = _of_people(result, lambda one, ends: _short(one, ends, scorer))
    return pd.DataFrame(found)


def _of_people(result: Recourse, share: Callable[[Feasible, Floats], Floats]) -> Floats:
    """(n,) the mean over a person's reached ends of what each is worth; NaN where there's none."""
    means = np.full(len(result.people), np.nan)
    for person, routes in enumerate(result.routes):
        reached = [path for path in routes if path.outcome is Outcome.REACHED]
        if reached:
            one = Feasible.around(result.space, reached[0].values[:1])
            ends = np.concatenate([_seen(one, path.values[-1:]) for path in reached])
            means[person] = share(one, ends).mean()
    return means


def _held(ends: Floats, successors: Sequence[Scorer]) -> Floats:
    """(r,) the share of successors that accept each end (r, features)."""
    return np.asarray(np.mean([scorer.met(scorer.score(ends)) for scorer in successors], axis=0))


def _short(one: Feasible, ends: Floats, scorer: Scorer) -> Floats:
    """(r,) which ends are accepted with each number alone, and with all of them, a tenth short."""
    space, kept = one.space, np.ones(len(ends))
    numeric = np.array([isinstance(f, Numeric) and f.chosen for f in space.schema.features])
    for r, end in enumerate(ends):
        moved = np.flatnonzero(numeric & one.changes(end[np.newaxis])[0] & ~np.isnan(one.start[0]))
        less = space.grid.held((end - SHORT * (end - one.start[0]))[np.newaxis], one.start)[0]
        tried = np.tile(end, (len(moved) + 1, 1))
        tried[np.arange(len(moved)), moved] = less[moved]
        tried[-1, moved] = less[moved]
        kept[r] = scorer.met(scorer.score(one.complete(tried))).all()
    return kept


def valid(result: Recourse, scorer: Scorer) -> Mask:
    """(n, k) which paths are valid."""
    space, k = result.space, len(result.routes[0]) if result.routes else 0
    flat = [path for routes in result.routes for path in routes]
    reached = [i for i, path in enumerate(flat) if path.outcome is Outcome.REACHED]
    start = np.array([flat[i].values[0] for i in reached]).reshape(-1, len(space.schema))
    feasible = Feasible.around(space, start)  # of the others some have no valid row to be around
    kept = np.zeros(len(flat), dtype=bool)
    ends = {}
    for number, i in enumerate(reached):
        one = feasible.take(slice(number, number + 1))
        seen = _seen(one, flat[i].values[1:])
        kept[i], ends[i] = not _breaks(one, seen), seen[-1]
    valid: NDArray[np.intp] = np.flatnonzero(kept)
    kept[valid] = scorer.met(scorer.score(np.array([ends[i] for i in valid]))) if len(valid) else 0
    return kept.reshape(len(result.routes), k)


def _seen(one: Feasible, values: Floats) -> Floats:
    """One person's rows as they'd see them: rounded, and with what follows from the rest."""
    space = one.space
    moved = np.abs(values - one.start) > space.dust
    return one.complete(np.where(moved, space.grid.nearest(values), one.start))


def _breaks(one: Feasible, values: Floats) -> bool:
    """Whether a row lies outside one person's feasible set, by more than rounding."""
    space = one.space
    lower, upper = one.limits
    beyond = (values < lower - space.dust) | (values > upper + space.dust)
    beyond &= ~space.links.linked
    beyond |= space.hops.broken(values, one.start)
    return bool(beyond.any() or not one.fulfils(values).all())
